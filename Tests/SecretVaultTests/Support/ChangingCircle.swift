import PeerAuth
import ShamirKit
import Sodium
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

/// A secret of ada's, held by her, ben and cleo, and others who may come.
struct ChangingCircle {
  let world: TestWorld
  let content: [UInt8]
  let id: SecretID
  let header: SecretHeader

  init(
    _ count: Int = 4, threshold: Int = 2, holders: [Int] = [1, 2], keepsOwnShare: Bool = true, byteCount: Int = 200_000
  ) async throws {
    content = randomBytes(byteCount)
    world = try TestWorld(count)
    try await world.prove()
    let report = try await world.share(
      content, threshold: threshold, to: holders, description: "letter", keepsOwnShare: keepsOwnShare)
    id = try #require(SecretID(named: report.id))
    header = try world[0].header(report.id)
    for member in 1..<count { try await world.prove(by: member) }
  }

  /// Something that is shared already.
  init(_ id: String, in world: TestWorld) throws {
    content = []
    self.world = world
    self.id = try #require(SecretID(named: id))
    header = try world[0].header(id)
  }

  func vault(_ member: Int) -> Vault { world[member].vault }

  func identity(_ member: Int) -> Identity { vault(member).core.identity }

  func card(_ member: Int) -> Digest { identity(member).keys.digest }

  /// Everybody named does what there is to do, until nothing changes.
  func settle(_ members: [Int]) async throws {
    for _ in 0..<3 { for member in members { try await vault(member).changing.pursue(id) } }
  }

  /// Those named say where they stand, and hear it of one another.
  func meet(_ members: [Int] = [0, 1, 2]) async throws {
    for _ in 0..<2 { for member in members { try await vault(member).changing.pursue(id, asksAll: true) } }
  }

  @discardableResult
  func order(_ order: ChangeOrder, by member: Int = 0) async throws -> ChangeStatus? {
    try await vault(member).changing.order(order, of: [id.description], leavingOutAbsent: false).first
  }

  /// Orders a change, to which those named say yes in this order.
  func change(_ change: ChangeOrder, asks: [Int], among members: [Int]) async throws {
    try await order(change)
    for member in asks {
      try await settle(members)
      try await agree(member)
    }
    try await settle(members)
  }

  /// What a member is asked about this secret's holders.
  func waiting(_ member: Int) throws -> [VaultRequest] {
    try vault(member).consent.requests().filter { $0.kind == .change && $0.state == .waiting }
  }

  /// Says yes to what a member is asked about this secret.
  func agree(_ member: Int) async throws {
    let request = try #require(waiting(member).first)
    _ = try await vault(member).consent.approveRequest(request.id)
    try await vault(member).changing.pursue(id)
  }

  func epochs(_ member: Int) throws -> [UInt32] { try vault(member).circles.ownEpochs(id) }

  func recovered(by member: Int) async throws -> Bool {
    try await world.recover(by: member, id.description).bytes == content
  }

  /// Goes on with what a member has, without asking anybody.
  func advance(_ member: Int) async throws { try await vault(member).changing.advance(id) }

  // MARK: - What a member knows

  func known(_ member: Int) throws -> SecretVault.Circle { try #require(try vault(member).circles.circle(of: id)) }

  func rows(_ member: Int) throws -> [LifecycleRecord] { try vault(member).core.database.lifecycle(ofSecret: id) }

  func count(_ kind: LifecycleRecord.Kind, _ member: Int) throws -> Int {
    try rows(member).count { $0.name.kind == kind }
  }

  /// Keeps what others say, as if a peer had said it to this member.
  @discardableResult
  func take(_ objects: [LifecycleObject], by member: Int) throws -> Bool {
    try vault(member).circles.take(objects, of: id)
  }

  func decide(_ proposal: Proposal, _ isYes: Bool, by member: Int) throws {
    let row = LifecycleRecord(
      secretID: id, name: .init(.decision, try proposal.digest()), content: [isYes ? 1 : 0], addedAt: world.clock.now)
    try vault(member).core.database.changeLifecycle(ofSecret: id, adding: [row], removing: [row.name])
  }

  // MARK: - What their programs may forge

  /// The rows of holders who stay, as the first of them knows their joinings.
  func kept(_ members: [Int] = [0, 1, 2]) throws -> [Proposal.Row] {
    let cards = members.map(card)
    return try known(members[0]).ready(in: header.digest).filter { cards.contains($0.value.keys.digest) }
      .sorted { $0.key < $1.key }.map { .init(index: $0.key, joining: $0.value) }
  }

  func proposal(
    by asker: Int, number: UInt32 = 1, threshold: UInt8 = 2, rows: [Proposal.Row]? = nil, lasting: Int64 = 86_400_000
  ) throws -> Proposal {
    try Proposal.sign(
      parent: Epoch(header), number: number, threshold: threshold, rows: rows ?? kept(),
      expiresAt: world.clock.now + lasting, by: identity(asker))
  }

  /// Another dealing each time.
  func dealing(_ proposal: Proposal, by member: Int) throws -> (dealing: HolderDealing, boxes: [[UInt8]]) {
    let held = try world[member].held(header)
    return try HolderDealing.deal(
      held.share, salt: held.salt.withUnsafeBytes { Array($0) }, proposal, Epoch(header), by: identity(member))
  }

  /// The same dealing with other boxes, proved and signed by its dealer.
  func dealing(
    _ made: HolderDealing, boxes: [[UInt8]], _ proposal: Proposal, by member: Int
  ) throws -> LifecycleObject {
    let held = try world[member].held(header)
    let tail = Digest.byteCount + PossessionProof.byteCount + Ed25519.signatureByteCount
    let body = try Array(made.encoded().dropLast(tail)) + HolderDealing.digest(of: boxes).bytes
    var binding = try DomainHash("vault/dealing-body/v1")
    binding.append(body)
    let statement = PossessionStatement(
      purpose: .lifecycle, headerDigest: header.digest, secretID: id, epoch: 0, index: made.index,
      evaluation: try held.share.evaluation(),
      context: try ProofContext(
        kind: .dealing, binding: binding.digest().bytes, proverCard: card(member), verifierCard: proposal.asker.digest,
        role: .holder, verifierNonce: proposal.nonce))
    let proof = try PossessionProof.prove(held.share, statement).encoded()
    var signed = try DomainHash("vault/dealing/v1")
    signed.append(body)
    signed.append(proof)
    let bytes = body + proof + (try identity(member).sign(signed.digest()))
    return try LifecycleObject(.dealing, bytes + [UInt8(boxes.count)] + boxes.joined())
  }

  /// What these dealings come to, by the word of `asker`.
  func record(_ proposal: Proposal, _ dealings: [HolderDealing], by asker: Int) throws -> LifecycleObject {
    let digests = try dealings.sorted { $0.index < $1.index }.map { try $0.digest() }
    return .record(try RecordName.sign(digests, of: proposal.digest(), by: identity(asker)))
  }

  /// A proposal, dealings of `dealers`, and the record of them.
  func change(_ proposal: Proposal, dealers: [Int], asker: Int) throws -> [LifecycleObject] {
    let made = try dealers.map { try dealing(proposal, by: $0) }
    return [.proposal(proposal)] + made.map { .dealing($0.dealing, boxes: $0.boxes) }
      + [try record(proposal, made.map(\.dealing), by: asker)]
  }

  /// That a member holds a share of a record, true or not.
  func ready(_ member: Int, _ index: UInt8, in record: Digest) throws -> LifecycleObject {
    .joining(
      try Joining.sign(
        secret: id, record: record, index: index, salt: nil, receivingKey: AgreementKeyPair.generate().publicKey,
        by: identity(member)))
  }

  /// That somebody would take a share.
  func willing(_ identity: Identity) throws -> Joining {
    try Joining.sign(
      secret: id, record: header.digest, index: 0, salt: nil, receivingKey: AgreementKeyPair.generate().publicKey,
      by: identity)
  }

  // MARK: - What a member's own program says

  struct Heard {
    var objects: [LifecycleObject] = []
    var refusal: RefusalReason?
  }

  /// Says objects about a secret in one session, wanted or not, behind the proof of a share of this one.
  func say(
    _ objects: [LifecycleObject], about subject: SecretHeader? = nil, by member: Int, proving prover: Int? = nil,
    to other: Int
  ) async throws -> Heard {
    let requester = try await HostileRequester(world[member], dials: world[other], in: world)
    let session = requester.session
    let tag = try AskTag.of((subject ?? header).id)
    let nonce = try LifecycleRequest.challenge(binding: session.handshakeHash, tag: tag, request: 1)
    let proof = try requester.proof(header, nonce: nonce, share: world[prover ?? member], purpose: .lifecycle)
    let marks = Set(try objects.map { try $0.digest().mark })
    try await session.send(
      LifecycleRequest(
        request: 1, tag: tag,
        proof: LifecycleProof(
          record: header.digest, number: 0, index: proof.index, salt: proof.salt, proof: proof.proof),
        known: marks.sorted()))
    var heard = Heard()
    while true {
      let received = try await session.receive { MessageType.byteLimit($0, isPeer: true) }
      if received.type == LifecycleResult.type.rawValue {
        heard.refusal = try LifecycleResult.decode(received.body.bytes, limit: LifecycleResult.type.byteLimit).refusal
        await session.close()
        return heard
      }
      guard received.type == LifecycleItem.type.rawValue else { break }
      let item = try LifecycleItem.decode(received.body.bytes, limit: LifecycleItem.type.byteLimit)
      heard.objects.append(try LifecycleObject(item.kind, item.bytes))
    }
    for object in objects {
      try await session.send(LifecycleItem(request: 1, kind: object.kind, bytes: try object.encoded()))
    }
    try await session.send(LifecycleEnd(request: 1))
    heard.refusal = try await session.expect(LifecycleResult.self).refusal
    await session.close()
    return heard
  }

  /// From now on whoever asks `member` meets a program that wants all there is and says nothing. Returns what it gets.
  /// `meanwhile` happens between each question and its answer.
  func listen(
    as member: Int, meanwhile: @escaping @Sendable () throws -> Void = {}
  ) -> Collected<LifecycleObject.Kind> {
    let heard = Collected<LifecycleObject.Kind>()
    let vault = vault(member)
    world.network.serve(world[member].address) { transport in
      try? await Self.listen(transport, as: vault, heard, meanwhile)
      await transport.close()
    }
    return heard
  }

  /// From now on whoever asks `member` meets a program that says the same six times, with pauses, and wants nothing.
  func drip(as member: Int, _ object: LifecycleObject, every pause: Duration) {
    let (vault, clock) = (vault(member), world.clock)
    world.network.serve(world[member].address) { transport in
      do {
        let (session, question) = try await Self.asked(transport, vault)
        let item = LifecycleItem(request: question.request, kind: object.kind, bytes: try object.encoded())
        for _ in 0..<6 {
          try await session.send(item)
          clock.advance(by: pause)
        }
        try await session.send(LifecycleEnd(request: question.request))
        _ = try await session.expect(LifecycleEnd.self)
        try await session.send(LifecycleResult(request: question.request, refusal: nil))
        await session.close()
      } catch {}
      await transport.close()
    }
  }

  private static func asked(
    _ transport: any PeerTransport, _ vault: Vault
  ) async throws -> (PeerSession, LifecycleRequest) {
    let session = try await PeerSession.answer(
      transport, identity: vault.core.identity, ownCard: try vault.core.ownCard()
    ) { key in
      (try? vault.core.database.peer(noiseKey: key)).flatMap { $0 }.flatMap { try? vault.directory.storedCard($0).keys }
    }
    _ = try await session.expect(Hello.self)
    try await session.send(Hello(services: PeerServiceKind.allCases))
    return (session, try await session.expect(LifecycleRequest.self))
  }

  private static func listen(
    _ transport: any PeerTransport, as vault: Vault, _ heard: Collected<LifecycleObject.Kind>,
    _ meanwhile: () throws -> Void
  ) async throws {
    let (session, question) = try await asked(transport, vault)
    try meanwhile()
    try await session.send(LifecycleEnd(request: question.request, wanted: question.known))
    while true {
      let received = try await session.receive { MessageType.byteLimit($0, isPeer: true) }
      guard received.type == LifecycleItem.type.rawValue else { break }
      heard.add(try LifecycleItem.decode(received.body.bytes, limit: LifecycleItem.type.byteLimit).kind)
    }
    try await session.send(LifecycleResult(request: question.request, refusal: nil))
    await session.close()
  }
}
