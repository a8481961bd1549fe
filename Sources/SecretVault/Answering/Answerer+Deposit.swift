import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

extension Answerer {
  /// Milliseconds for which a partial deposit is kept.
  private static let partialLifetime: Int64 = 7 * 24 * 3600 * 1000
  /// Pieces after which a partial deposit is made durable, so that a cut does not lose much.
  private static let checkpointInterval: UInt64 = 256

  mutating func carryOut(_ step: DepositAnswerer.Step) async throws {
    switch step {
    case .considerProbe(let probe):
      try await reply(ProbeAnswer(request: probe.request, refusal: refusal(adding: probe.fragmentByteCount)))
    case .considerOffer(let offer): try await consider(offer)
    case .store(let piece): store(piece)
    case .complete(let end): try await complete(end)
    case .drop: break
    }
  }

  /// Decides about an offer, cheap checks first, and answers with the first piece that is missing.
  private mutating func consider(_ offer: Offer) async throws {
    // Taking a large deposit up again means reading and hashing all that is there.
    let answerer = self
    var decision = try await offPool { try answerer.examine(offer) }
    if case .willing(let header, let held) = decision {
      if let refusal = try await confirm(offer, header) {
        decision = .refuse(refusal, header)
      } else {
        decision = try await offPool { answerer.take(offer, header, held) }
      }
    }
    switch decision {
    case .willing: break
    case .refuse(let reason, let header):
      room.recordUnlessTooMany(.refused, peer: peer, secret: header, detail: "offered a share: \(reason)")
      try await reply(OfferAnswer(request: offer.request, verdict: .refused(reason)))
    case .complete: try await reply(OfferAnswer(request: offer.request, verdict: .complete))
    case .take(let deposit):
      exchanges.deposit.began(offer, from: deposit.receiver.nextPiece)
      self.deposit = deposit
      try await reply(OfferAnswer(request: offer.request, verdict: .wants(from: deposit.receiver.nextPiece)))
    }
  }

  private enum Decision: Sendable {
    case refuse(RefusalReason, SecretHeader?)
    case complete
    /// All is in order; nothing of it is stored yet.
    case willing(SecretHeader, HeldShare)
    case take(DepositInProgress)
  }

  private func examine(_ offer: Offer) throws -> Decision {
    let header: SecretHeader
    do { header = try SecretHeader(bytes: offer.header) } catch { return .refuse(.invalidHeader, nil) }
    guard header.dealerKey == peer.signingKey else { return .refuse(.notTheDealer, header) }
    guard try room.database.tombstone(header.id) == nil else { return .refuse(.deleted, header) }
    if let known = try room.database.secret(header.id) {
      guard known.headerDigest == header.digest else { return try conflict(header) }
      // A share that is complete here is durable: the dealer missed the answer.
      guard known.ownIndex != Int(offer.index) else {
        try room.database.ensureCompanion(of: .secret(header.id))
        return .complete
      }
      return .refuse(.invalidShare, header)
    }
    if let refusal = limitRefusal(header.dispersal.fragmentByteCount) { return .refuse(refusal, header) }
    if let refusal = quotaRefusal(adding: header.dispersal.fragmentByteCount) {
      // What lies here of the same deposit already is counted, but must not stand in its own way.
      guard refusal != .internalFailure, try fragmentUnderWay(header, offer.index) != nil else {
        return .refuse(refusal, header)
      }
    }
    guard room.core.diskReserve.allows(try missingBytes(header, offer.index)) else { return .refuse(.diskFull, header) }
    let held: HeldShare
    do { held = try open(offer, header) } catch is ProtocolError {
      return .refuse(.invalidShare, header)
    } catch {
      // This device's own trouble must not look like the dealer's fault: it may try again.
      room.core.logFault("an offered share could not be opened: this device \(VaultCore.words(error))")
      return .refuse(.internalFailure, header)
    }
    return .willing(header, held)
  }

  private func take(_ offer: Offer, _ header: SecretHeader, _ held: HeldShare) -> Decision {
    do {
      let deposit = try begin(offer, header, held)
      // Other sessions of the same peer may have passed the same check a moment ago.
      if isOverQuota() {
        try discard(deposit)
        return .refuse(.quotaBytes, header)
      }
      return .take(deposit)
    } catch .busy {
      return .refuse(.busy, header)
    } catch .diskFull {
      return .refuse(.diskFull, header)
    } catch {
      room.core.logFault("an offered share can't be taken: this device \(VaultCore.words(error))")
      return .refuse(.internalFailure, header)
    }
  }

  func isOverQuota() -> Bool {
    guard let quota = room.core.quota, let usage = try? room.messages.usage(of: peer.digest) else { return true }
    return usage.count > quota.shares || UInt64(max(0, usage.byteCount)) > quota.bytes
  }

  /// What has arrived of the same deposit.
  private func fragmentUnderWay(_ header: SecretHeader, _ index: UInt8) throws -> FragmentRecord? {
    guard let fragment = try room.database.fragment(of: header.id, index: Int(index)),
      fragment.headerDigest == header.digest, fragment.source == peer.digest
    else { return nil }
    return fragment
  }

  /// Bytes of a fragment that are still to be written, as far as was noted.
  private func missingBytes(_ header: SecretHeader, _ index: UInt8) throws -> UInt64 {
    let plan = header.dispersal
    guard let fragment = try fragmentUnderWay(header, index) else { return plan.fragmentByteCount }
    let (present, overflow) = UInt64(fragment.pieces).multipliedReportingOverflow(by: UInt64(plan.pieceByteCount(0)))
    return overflow ? 0 : plan.fragmentByteCount - min(plan.fragmentByteCount, present)
  }

  private func conflict(_ header: SecretHeader) throws -> Decision {
    try room.database.addEvidence(
      EvidenceRecord(
        secretID: header.id, headerDigest: header.digest, header: header.bytes, peer: peer.digest,
        seenAt: room.environment.now()))
    room.recordUnlessTooMany(.conflict, peer: peer, secret: header, detail: "showed another header for a known secret")
    return .refuse(.conflictingHeader, header)
  }

  private func open(_ offer: Offer, _ header: SecretHeader) throws -> HeldShare {
    let dealer = try room.directory.storedCard(peer).keys
    let sealed = try SealedShare.open(
      offer.sealedShare.span.bytes, with: room.identity, header: header, index: offer.index, dealer: dealer)
    return HeldShare(
      share: try KeyShare(index: sealed.share.index, bytes: try sealed.share.bytes.duplicate()),
      salt: try sealed.salt.duplicate())
  }

  private func begin(
    _ offer: Offer, _ header: SecretHeader, _ held: HeldShare
  ) throws(StoreError) -> DepositInProgress {
    let plan = header.dispersal
    guard let byteCount = Int64(exactly: plan.fragmentByteCount),
      let trailer = try? MerkleLayout(leafCount: plan.stripeCount).totalByteCount,
      let trailerByteCount = Int64(exactly: trailer)
    else { throw .invalid("a fragment of this size") }
    let record = FragmentRecord(
      partialOf: header.id, index: Int(offer.index), byteCount: byteCount, trailerByteCount: trailerByteCount,
      expiresAt: room.environment.now() + Self.partialLifetime, headerDigest: header.digest, source: peer.digest)
    let partial: PartialFragment
    do {
      partial = try room.database.openPartial(record, pieceByteCount: plan.pieceByteCount(0))
    } catch StoreError.alreadyExists {
      // Left over from another attempt of the same dealer under another header: nothing was acknowledged, so it goes.
      try room.database.discardPartial(of: header.id, index: Int(offer.index))
      partial = try room.database.openPartial(record, pieceByteCount: plan.pieceByteCount(0))
    } catch { throw error }
    var deposit = DepositInProgress(
      header: header, held: held, partial: partial,
      receiver: DepositReceiver(header: header, index: offer.index), leaves: LeafList(), reserve: room.core.diskReserve)
    let present = partial.piecesPresent
    // Pieces of an earlier attempt count after they have been hashed again, if nobody remembers their hashes.
    if present > 0 {
      if case .fragment(let receiver, let leaves)? = room.arrivals.take(deposit.name(from: peer), partial.found),
        receiver.nextPiece == UInt64(present)
      {
        (deposit.receiver, deposit.leaves) = (receiver, leaves)
      } else if !mayReread(UInt64(present) * UInt64(partial.pieceByteCount)) {
        throw .busy(path: room.folders.data)
      }
    }
    for number in Int(clamping: deposit.receiver.nextPiece)..<present {
      let bytes = try partial.read(piece: number)
      guard let leaf = try? deposit.receiver.take(number: UInt64(number), bytes: bytes.span.bytes) else {
        throw .damaged("a partial fragment")
      }
      deposit.leaves.append(leaf)
    }
    if deposit.receiver.isComplete, (try? deposit.receiver.verify()) == nil {
      // Rubbish after a power cut: from the beginning.
      try partial.truncate(toPieces: 0)
      deposit.receiver = DepositReceiver(header: header, index: offer.index)
      deposit.leaves = LeafList()
    }
    return deposit
  }

  /// Takes a piece. What goes wrong is remembered and told at the end.
  private mutating func store(_ piece: Piece) {
    guard var running = deposit, running.failure == nil else { return }
    deposit = nil
    do {
      guard running.reserve.allows(UInt64(piece.bytes.count)) else {
        throw StoreError.diskFull(path: room.folders.data)
      }
      let leaf = try running.receiver.take(number: piece.number, bytes: piece.bytes.span.bytes)
      try running.partial.append(piece.bytes.span.bytes)
      running.leaves.append(leaf)
      if running.receiver.nextPiece.isMultiple(of: Self.checkpointInterval) {
        try room.database.checkpoint(running.partial, expiresAt: room.environment.now() + Self.partialLifetime)
      }
    } catch StoreError.diskFull {
      running.failure = .diskFull
    } catch is ProtocolError {
      running.failure = .invalidFragment
    } catch {
      room.core.logFault("a piece could not be stored: this device \(VaultCore.words(error))")
      running.failure = .internalFailure
    }
    deposit = running
  }

  /// Verifies the whole, makes it durable, and only then says so.
  private mutating func complete(_ end: DepositEnd) async throws {
    guard let running = deposit else { throw ProtocolError.unexpectedMessage(MessageType.depositEnd.rawValue) }
    deposit = nil
    let answerer = self
    let isPremature = !running.receiver.isComplete && (running.failure ?? .invalidFragment) == .invalidFragment
    let refusal = isPremature ? .invalidFragment : try await offPool { answerer.finish(running) }
    if isPremature { answerer.keep(running) }
    if let refusal {
      room.recordUnlessTooMany(.refused, peer: peer, secret: running.header, detail: "the deposit failed: \(refusal)")
    } else {
      room.record(.shareReceived, peer: peer, secret: running.header)
      forgetApproval(of: running.header)
    }
    try await reply(DepositResult(request: end.request, refusal: refusal))
    // No program of ours says that this was all before it was. A parcel ends by itself.
    if isPremature, parcelEnd == nil { throw ProtocolError.unexpectedMessage(MessageType.depositEnd.rawValue) }
  }

  private func finish(_ running: DepositInProgress) -> RefusalReason? {
    if let failure = running.failure {
      if failure == .diskFull { try? discard(running) }
      return failure
    }
    let header = running.header
    do {
      try running.receiver.verify()
      try running.writeTree()
      try running.partial.finish()
      let fragment = FragmentRecord(
        completeOf: header.id, index: running.partial.index, byteCount: running.partial.byteCount,
        trailerByteCount: Int64(clamping: try MerkleLayout(leafCount: header.dispersal.stripeCount).totalByteCount),
        pieces: running.partial.pieceCount, headerDigest: header.digest, source: peer.digest)
      let secret = SecretRecord(
        id: header.id, askTag: try AskTag.of(header.id), headerDigest: header.digest, header: header.bytes,
        origin: .held, dealer: peer.digest, description: header.description.isEmpty ? nil : header.description,
        kind: header.kind, threshold: header.scheme.threshold, shareCount: header.scheme.shareCount,
        ownIndex: running.partial.index, createdAt: header.createdAt, receivedAt: room.environment.now())
      let record = try HeldShare.record(share: running.held.share, salt: running.held.salt)
      switch try room.database.deposit(secret, share: record, index: running.partial.index, fragment: fragment) {
      case .stored, .alreadyStored: return nil
      case .conflictsWith: return .conflictingHeader
      case .deleted: return .deleted
      }
    } catch ProtocolError.fragmentMismatch {
      try? discard(running)
      return .invalidFragment
    } catch is ProtocolError {
      return .invalidFragment
    } catch StoreError.diskFull {
      try? discard(running)
      return .diskFull
    } catch {
      room.core.logFault("a deposit could not be kept: this device \(VaultCore.words(error))")
      return .internalFailure
    }
  }

  private func discard(_ running: DepositInProgress) throws(StoreError) {
    try room.database.discardPartial(of: running.header.id, index: running.partial.index)
  }

  /// The session has ended in the middle: what has arrived stays for the next attempt.
  mutating func abandonDeposit() {
    guard let running = deposit else { return }
    deposit = nil
    keep(running)
  }

  private func keep(_ running: DepositInProgress) {
    try? room.database.checkpoint(running.partial, expiresAt: room.environment.now() + Self.partialLifetime)
    // Unless this device itself was at fault, what was hashed is what is in the file.
    guard (running.failure ?? .invalidFragment) == .invalidFragment,
      running.receiver.nextPiece == UInt64(running.partial.piecesPresent), let mark = try? running.partial.mark()
    else { return }
    room.arrivals.keep(.fragment(running.receiver, running.leaves.remembered), running.name(from: peer), mark)
  }
}

extension DepositInProgress {
  func name(from peer: PeerRecord) -> ArrivalMemory.Name {
    ArrivalMemory.Name(peer: peer.digest, id: header.id.bytes, index: partial.index, header: header.digest.bytes)
  }

  func writeTree() throws {
    try FragmentTree(header: header, index: receiver.index, partial: partial, leaves: leaves).write()
  }
}
