import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// The holder's side of a drill: it proves that it still has its share, to whoever has just proved the same, and lets go of
/// nothing but pieces of ciphertext.
extension Answerer {
  mutating func carryOut(_ step: DrillAnswerer.Step) async throws {
    switch step {
    case .challenge(let request): try await challenge(request)
    case .judge(let proof, let request, let nonce): try await judge(proof, request, nonce)
    case .showPieces(let request): try await showPieces(request)
    }
  }

  /// Sends a nonce whether or not there is such a share: until a proof holds, nobody learns what lies here.
  private mutating func challenge(_ request: DrillRequest) async throws {
    let nonce = try Randomness.bytes(32)
    exchanges.drill.challenged(request, nonce: nonce)
    try await reply(DrillChallenge(request: request.request, nonce: nonce))
  }

  /// Proves possession of the own share, if the requester's proof holds.
  private mutating func judge(_ proof: DrillProof, _ request: DrillRequest, _ nonce: [UInt8]) async throws {
    guard let (epoch, index) = drillable(request), holds(proof.possession, request, .drill, nonce, epoch, index) else {
      try await reply(DrillRefusal(request: request.request, reason: .unavailable))
      noteDrillRefusal(request)
      return
    }
    let header = epoch.header
    let answer: Possession
    do { answer = try ownProof(request, nonce: proof.nonce, epoch, index) } catch {
      room.core.logFault("the share of secret \(header.id) is damaged: this device \(VaultCore.words(error))")
      return try await reply(DrillRefusal(request: request.request, reason: .invalidShare))
    }
    exchanges.drill.drilled(request: request.request)
    drill = AnsweredDrill(id: header.id, index: index)
    room.recordUnlessTooMany(.shareDrilled, peer: asker(about: header.id) ?? peer, secret: header)
    let reach = greeting.offers(.introductions) && room.introductions.usesIntroductions ? reach(header.id) : nil
    try await reply(DrillAnswer(possession: answer, reach: reach))
  }

  /// Whom this device could reach if it had to recover the secret. What can't be read isn't told.
  private func reach(_ id: SecretID) -> HolderReach? {
    guard let record = try? room.database.secret(id) else { return nil }
    return try? room.introductions.reach(of: record, beside: peer)
  }

  /// Shows pieces of the fragment, each checked against the root before it leaves.
  private mutating func showPieces(_ request: DrillPieceRequest) async throws {
    guard var shown = drill, let pieces = fragment(of: shown.id, index: shown.index) else {
      return try await reply(DrillPiecesEnd(request: request.request, refusal: .fragmentDamaged))
    }
    // In ascending order, so the last is the largest.
    guard let last = request.numbers.last, last < pieces.header.dispersal.stripeCount else {
      throw ProtocolError.unexpectedPiece(number: request.numbers.last ?? 0)
    }
    for number in request.numbers {
      guard let proven = proven(number, pieces) else {
        return try await reply(DrillPiecesEnd(request: request.request, refusal: .fragmentDamaged))
      }
      shown.byteCount += UInt64(proven.bytes.count)
      drill = shown
      if let refusal = limitRefusal(shown.byteCount) {
        return try await reply(DrillPiecesEnd(request: request.request, refusal: refusal))
      }
      try await reply(DrillPiece(request: request.request, number: number, path: proven.path, bytes: proven.bytes))
    }
    try await reply(DrillPiecesEnd(request: request.request, refusal: nil))
  }

  /// The secret that a drill names exactly, with the number of the own share. The share itself is opened only for whoever has
  /// proved that it may know of it.
  private func drillable(_ request: DrillRequest) -> (Epoch, UInt8)? {
    guard let record = try? room.database.secret(askTag: request.tag), asker(about: record.id) != nil,
      let index = record.ownIndex.flatMap({ UInt8(exactly: $0) }),
      let epoch = try? room.circles.epoch(request.headerDigest, request.epoch, of: record)?.epoch,
      (try? room.circles.ownEpochs(record.id).contains(epoch.number)) == true
    else { return nil }
    return (epoch, index)
  }

  private func ownProof(
    _ request: DrillRequest, nonce: [UInt8], _ epoch: Epoch, _ index: UInt8
  ) throws -> Possession {
    // A proof by a share that is not the committed one would fail at the requester, who could not say why.
    guard let held = try room.circles.share(of: epoch) else {
      throw StoreError.notFound("the share of secret \(epoch.secret)")
    }
    guard held.share.index == index else { throw ProtocolError.foreignShare("index") }
    let exchange = PossessionExchange(
      epoch, purpose: .drill, role: .holder, prover: room.identity.keys.digest,
      verifier: peer.digest, kind: bindingKind, binding: channel.handshakeHash, nonce: nonce)
    return try exchange.prove(
      request: request.request, share: held.share, salt: held.salt,
      evaluation: try room.core.evaluations.evaluation(epoch, index))
  }

  /// Whoever checks a secret of others' asks all its peers, so a secret that is not here is everyday.
  private func noteDrillRefusal(_ request: DrillRequest) {
    guard let record = try? room.database.secret(askTag: request.tag) else { return }
    room.recordUnlessTooMany(
      .refused, peer: peer, secret: try? room.directory.header(of: record), detail: "asked for a drill without a share")
  }
}
