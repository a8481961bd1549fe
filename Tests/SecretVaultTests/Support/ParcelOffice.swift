import PeerAuth
import ShamirKit
import Sodium
import Synchronization
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultStore

/// A group in which everybody has a mailbox, and whose parcels a test carries by hand.
final class ParcelOffice: Sendable {
  static let group = [UInt8](repeating: 7, count: 16)

  let world: TestWorld
  /// Each member's folder of the group.
  let folders: [[UInt8]]
  private let board = Mutex<[ParcelID: ParcelPost]>([:])

  init(_ world: TestWorld) throws {
    self.world = world
    folders = try world.members.map { member in
      try #require(bytes(hexadecimal: try member.vault.core.groupFolders.create()))
    }
    for member in folders.indices { try open(to: member) }
  }

  /// A member's program comes to know its folder and everybody's mailbox: at first, and whenever it has started anew.
  func open(to member: Int) throws {
    let post = world[member].vault.post
    post.knowGroup(Self.group, folder: folders[member])
    for other in world.members {
      try post.noteMailbox(other.vault.post.ownMailboxTag(group: Self.group), folder: folders[member])
    }
  }

  /// What lies in the group, oldest expiry first.
  var posts: [ParcelPost] {
    board.withLock { $0.values.sorted { ($0.expiresAt, $0.id.description) < ($1.expiresAt, $1.id.description) } }
  }

  func remove(_ id: ParcelID) { board.withLock { $0[id] = nil } }

  func put(_ post: ParcelPost) { board.withLock { $0[post.id] = post } }

  /// A member posts what waits, and takes back what is to be withdrawn. Returns what was posted.
  @discardableResult
  func post(by member: Int) throws -> [ParcelPost] {
    let vault = world[member].vault
    var all: [ParcelPost] = []
    for _ in 0..<100 {
      let posts = try vault.post.parcelsToPost(group: Self.group, folder: folders[member])
      guard !posts.isEmpty else { break }
      for post in posts {
        put(post)
        try vault.post.posted(post.id)
      }
      all += posts
    }
    for id in try vault.post.parcelsToWithdraw(folder: folders[member]) {
      remove(id)
      try vault.post.withdrew(id)
    }
    return all
  }

  /// A member takes what is for it.
  @discardableResult
  func take(by member: Int) throws -> [ParcelTaking] {
    let vault = world[member].vault
    return try posts.filter { vault.post.isOwnParcel($0.tag, $0.id) }.map { post in
      let taking = try vault.takeParcel(post.bytes, folder: folders[member])
      if taking != .full { remove(post.id) }
      return taking
    }
  }

  /// Everybody posts, takes, answers, and gets the answers; or only these.
  func round(_ members: [Int]? = nil) async throws {
    let members = members ?? Array(folders.indices)
    for member in members { try post(by: member) }
    for member in members { try take(by: member) }
    for member in members { _ = try await world[member].vault.answering.answerParcels() }
    for member in members { try post(by: member) }
    for member in members { try take(by: member) }
  }

  /// Recovers on a member's device, as with `--wait`, while the office is open.
  func recover(
    by member: Int, _ reference: String? = nil, for time: Int64 = 600_000,
    events: @escaping @Sendable (RecoveryEvent) -> Void = { _ in }, meanwhile: @escaping @Sendable () async -> Void = {}
  ) async throws -> [UInt8] {
    let vault = world[member].vault
    vault.post.fetchParcels { [self] in
      try? await round()
      await meanwhile()
    }
    // Else it would wait for ever before it has another look.
    world.clock.pass(.seconds(5))
    // Once nobody's answer is missing it doesn't look before the first pause is over.
    world.clock.pass(.seconds(2))
    let path = world[member].desk + "/recovered"
    _ = try await vault.recovering.patiently(for: time, waits: { _, _ in }) { () async throws in
      try await vault.recovering.recover(
        reference, to: .file(path: path, overwrites: true), passwords: Recovering.noPassword, events: events)
    }
    return try #require(contents(path))
  }
}

extension TestWorld {
  /// From now on nobody reaches anybody.
  func cutOff() { for member in members { set(.refuses, for: member) } }
}

extension Vault {
  /// Takes a parcel that came through the group in this folder.
  func takeParcel(_ bytes: [UInt8], folder: [UInt8]) throws -> ParcelTaking {
    try intake.takeParcel(bytes, by: ParcelArrival(way: .group(folder: folder)))
  }

  /// What is kept of parcels.
  func parcelRecords(_ direction: ParcelRecord.Direction) throws -> [ParcelRecord] {
    try core.database.parcels(direction)
  }

  /// Sends a delivery that waits, as the daemon does.
  func tryDeliveries() async throws { _ = try await sharing.retry(nil, events: { _ in }) }
}

/// A request for a share by parcel, with every part at choice.
struct ForgedParcel {
  let sender: Member
  let target: Member
  let envelope: ParcelEnvelope
  let request: UInt64 = 5

  init(
    _ sender: Member, to target: Member, lifetime: Int64 = Post.parcelLifetime, at time: Int64? = nil
  ) throws {
    self.sender = sender
    self.target = target
    envelope = try ParcelEnvelope(lifetime: lifetime, at: time ?? sender.environment.now())
  }

  var binding: Digest {
    get throws { try envelope.binding(from: sender.vault.core.identity, to: target.vault.core.identity.keys) }
  }

  /// The proof and what comes with it.
  func frames(
    _ header: SecretHeader, kind: ProofContext.Kind = .parcel, binding: Digest? = nil, nonce: [UInt8]? = nil,
    share: Member? = nil, pieces: UInt32? = nil
  ) throws -> [ParcelFrame] {
    let held = try (share ?? sender).held(header)
    let bound = try binding ?? self.binding
    let exchange = PossessionExchange(
      Epoch(header), purpose: .release, prover: sender.vault.core.identity.keys.digest,
      verifier: target.vault.core.identity.keys.digest, kind: kind, binding: bound,
      nonce: try nonce ?? OpeningChallenge.of(bound))
    let possession = try exchange.prove(
      request: request, share: held.share, salt: held.salt, evaluation: held.share.evaluation())
    return [
      try ParcelFrame(Hello(services: PeerServiceKind.allCases)),
      try ParcelFrame(
        ReleaseRequest(request: request, tag: AskTag.of(header.id), headerDigest: header.digest, epoch: 0)),
      try ParcelFrame(possession),
      try ParcelFrame(
        PieceRequest(request: request, first: 0, count: pieces ?? UInt32(header.dispersal.stripeCount))),
    ]
  }

  /// The parcel, encoded.
  func sealed(_ frames: [ParcelFrame], to other: Member? = nil) throws -> [UInt8] {
    try envelope.seal(frames, from: sender.vault.core.identity, to: (other ?? target).vault.core.identity.keys)
  }

  /// What the target answers to a request, with its frames; nil if it answers nothing.
  func answer(_ frames: [ParcelFrame], by office: ParcelOffice, _ member: Int) async throws -> [ParcelFrame]? {
    #expect(try target.vault.takeParcel(sealed(frames), folder: office.folders[member]).isTaken)
    _ = try await target.vault.answering.answerParcels()
    let posts = try office.post(by: member).filter { sender.vault.post.isOwnParcel($0.tag, $0.id) }
    guard let post = posts.last else { return nil }
    let keys = target.vault.core.identity.keys
    let letter = try ParcelLetter.open(
      Parcel.decode(post.bytes, limit: Parcel.byteLimit), with: sender.vault.core.identity
    ) { _ in keys }
    #expect(letter.inReplyTo == envelope.id)
    return letter.frames
  }
}

extension [ParcelFrame] {
  /// The reason of the refusal among these messages.
  var refusal: RefusalReason? {
    compactMap { try? $0.type == Refusal.type.rawValue ? Refusal.decode($0.bytes, limit: 512).reason : nil }.first
  }

  /// Whether a share is among them.
  var hasRelease: Bool { contains { $0.type == SealedRelease.type.rawValue } }
}

extension [ParcelFrame] {
  /// Why an offer was refused, if it was.
  var offerRefusal: RefusalReason? {
    for frame in self where frame.type == OfferAnswer.type.rawValue {
      if case .refused(let reason)? = try? OfferAnswer.decode(frame.bytes, limit: 512).verdict { return reason }
    }
    return nil
  }

  /// What came of a deposit whose pieces were taken; nil if none came to its end.
  var depositRefusal: RefusalReason?? {
    for frame in self where frame.type == DepositResult.type.rawValue {
      if let result = try? DepositResult.decode(frame.bytes, limit: 512) { return .some(result.refusal) }
    }
    return nil
  }
}

extension ForgedSecret {
  /// What a dealer's program would say to the holder of share `index`.
  func frames(_ index: Int, request: UInt64 = 5, sealed: [UInt8]? = nil, pieces: [UInt64]? = nil) throws
    -> [ParcelFrame]
  {
    var frames = [
      try ParcelFrame(Hello(services: PeerServiceKind.allCases)),
      try ParcelFrame(
        Offer(
          request: request, index: UInt8(index), sealedShare: sealed ?? self.sealed(index), header: header.bytes)),
    ]
    for number in pieces ?? Array(0..<header.dispersal.stripeCount) {
      frames.append(try ParcelFrame(Piece(request: request, number: number, bytes: piece(index, number))))
    }
    frames.append(try ParcelFrame(DepositEnd(request: request)))
    return frames
  }
}
