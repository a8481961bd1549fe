import Concurrency
import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore
import WireCodec

extension Answerer {
  static let openFragmentLimit = 4

  mutating func carryOut(_ step: ReleaseAnswerer.Step) async throws {
    switch step {
    case .challenge(let request): try await challenge(request)
    case .judge(let possession, let request, let nonce): try await judge(possession, request, nonce)
    case .sendPieces(let request): try await sendPieces(request)
    case .withholdPieces(let request):
      try await reply(PiecesEnd(request: request.request, refusal: .unavailable))
    case .awaitProof, .drop: break
    }
  }

  /// Sends a nonce whether or not there is such a share: until a proof holds, nobody learns what lies here. A session's first request needs none.
  private mutating func challenge(_ request: ReleaseRequest) async throws {
    let nonce = try Randomness.bytes(32)
    exchanges.release.challenged(request, nonce: nonce)
    try await reply(Challenge(request: request.request, nonce: nonce))
  }

  /// Releases the share if and only if the proof holds (C27), and the user of this device hasn't decided otherwise.
  private mutating func judge(_ possession: Possession, _ request: ReleaseRequest, _ nonce: [UInt8]) async throws {
    guard let found = releasable(request),
      holds(possession, request, .release, nonce, found.epoch, found.held.share.index)
    else {
      try await reply(Refusal(request: request.request, reason: .unavailable))
      noteRefusal(request)
      return
    }
    let (header, held) = (found.epoch.header, found.held)
    if let refusal = limitRefusal(header.dispersal.fragmentByteCount) {
      room.recordUnlessTooMany(
        .refused, peer: peer, secret: header, detail: "asked over Bluetooth for more than ble-limit allows")
      return try await reply(Refusal(request: request.request, reason: refusal))
    }
    // Only now, behind the proof, may an answer tell that there is a share here and how its user guards it.
    let asker = asker(about: header.id) ?? peer
    if case .refusal(let reason, let wait) = room.consent.consent(to: asker, header, isOld: found.isOld) {
      // A program that doesn't know of waiting can't read how long; that somebody is asked comes closest.
      let told = reason == .releaseDelayed && !greeting.offers(.consent) ? .userAsked : reason
      return try await reply(Refusal(request: request.request, reason: told, wait: wait))
    }
    try exchanges.release.released(request: request.request)
    releases.secrets[request.request] = (header.id, held.share.index)
    // Noted before it happens, because sending may fail half-way: a release that nobody knows of would be worse than a
    // line too many. The log is committed in groups, so only a crash within the next second can lose the line.
    if room.consent.releases.isFirst(header.id, to: peer.digest, at: room.environment.monotonic()) {
      room.record(.shareReleased, peer: asker, secret: header)
    } else {
      room.recordUnlessTooMany(.shareReleased, peer: asker, secret: header)
    }
    let channel = channel
    let number = request.request
    try await withDeadline(room.environment.deadlines.reply, sleeper: room.environment.sleep) {
      () async throws(SessionError) in
      try await channel.send(type: Release.type.rawValue, count: Release.byteCount) {
        (writer) throws(WireError) in
        try Release.encode(request: number, share: held.share, salt: held.salt, into: &writer)
      }
    }
  }

  /// Whoever recovers asks all its peers, so a secret that is not here is everyday; a wrong proof for one that is here isn't.
  private func noteRefusal(_ request: ReleaseRequest) {
    guard let record = try? room.database.secret(askTag: request.tag) else {
      room.recordUnlessTooMany(.notHeld, peer: peer, detail: "asked for a share that is not here")
      return
    }
    room.recordUnlessTooMany(
      .refused, peer: peer, secret: try? room.directory.header(of: record),
      detail: "asked for a share without a right to it")
  }

  /// The secret and own share that a request names exactly, or nil. A share that can't be read is one that isn't here: the
  /// log says why, and whoever asks is told what everybody is told.
  private func releasable(_ request: ReleaseRequest) -> Releasable? {
    do { return try stored(request) } catch {
      room.core.logFault("a share that was asked for can't be read: this device \(VaultCore.words(error))")
      return nil
    }
  }

  private func stored(_ request: ReleaseRequest) throws -> Releasable? {
    guard let record = try room.database.secret(askTag: request.tag), asker(about: record.id) != nil,
      let (epoch, isOld) = try room.circles.epoch(request.headerDigest, request.epoch, of: record),
      let stored = try room.database.share(ofSecret: record.id, epoch: Int64(epoch.number))
    else { return nil }
    let held = try HeldShare(index: stored.index, record: stored.bytes, of: record.id.description)
    return Releasable(epoch: epoch, held: held, isOld: isOld)
  }

  /// A share that a request names; there may be later ones.
  private struct Releasable {
    let epoch: Epoch
    let held: HeldShare
    let isOld: Bool
  }

  func holds<Kind>(
    _ possession: Possession, _ request: AskMessage<Kind>, _ purpose: ProofPurpose, _ nonce: [UInt8],
    _ epoch: Epoch, _ index: UInt8
  ) -> Bool {
    let exchange = PossessionExchange(
      epoch, purpose: purpose, prover: peer.digest,
      verifier: room.identity.keys.digest, kind: bindingKind, binding: channel.handshakeHash, nonce: nonce)
    do {
      try exchange.verify(possession, ownIndex: index) { (index) throws(ProtocolError) in
        try room.core.evaluations.evaluation(epoch, index)
      }
      return true
    } catch {
      return false
    }
  }

  /// The fragment's file, opened when its first piece is asked for. One a secret and session: descriptors are few.
  mutating func fragment(of id: SecretID, index: UInt8) -> LocalPieces? {
    if let open = releases.fragments[id] { return open }
    guard let record = try? room.database.secret(id), let header = try? room.directory.header(of: record),
      let reader = try? room.database.openFragment(of: id, index: Int(index))
    else { return nil }
    let pieces = LocalPieces(reader: reader, header: header, index: index)
    if releases.fragments.count >= Self.openFragmentLimit { releases.fragments.removeAll() }
    releases.fragments[id] = pieces
    return pieces
  }

  /// A piece with its path, checked against the root; nil if the fragment is damaged.
  func proven(_ number: UInt64, _ pieces: LocalPieces) -> (bytes: [UInt8], leaf: Digest, path: MerklePath)? {
    do { return try pieces.provenPiece(number) } catch {
      room.core.logFault("the fragment of secret \(pieces.header.id) is damaged: \(error.reason)")
      return nil
    }
  }

  /// Sends pieces of the fragment of a released share, each checked against the root before it leaves.
  private mutating func sendPieces(_ request: PieceRequest) async throws {
    guard let (id, index) = releases.secrets[request.request], let pieces = fragment(of: id, index: index) else {
      return try await reply(PiecesEnd(request: request.request, refusal: .fragmentDamaged))
    }
    let available = pieces.header.dispersal.stripeCount
    let (end, overflow) = request.first.addingReportingOverflow(UInt64(request.count))
    guard !overflow, end <= available else { throw ProtocolError.unexpectedPiece(number: request.first) }
    for number in request.first..<end {
      guard let proven = proven(number, pieces) else {
        return try await reply(PiecesEnd(request: request.request, refusal: .fragmentDamaged))
      }
      try await reply(ProvenPiece(request: request.request, number: number, path: proven.path, bytes: proven.bytes))
    }
    try await reply(PiecesEnd(request: request.request, refusal: nil))
  }
}
