import Sodium
import VaultProtocol
import VaultStore
import WireCodec

/// An item whose pieces are arriving.
struct ItemInProgress: ~Copyable {
  let record: ItemRecord
  let expected: Digest
  let file: ItemFile
  var digest: ItemDigest
  /// Why it can't succeed any more: the rest is read and dropped, and the sender hears of it at the end.
  var failure: RefusalReason?
}

/// Hands an ``ItemInProgress`` from one thread to another.
final class ItemBox: @unchecked Sendable {
  private var item: ItemInProgress?

  init(_ item: consuming ItemInProgress?) { self.item = consume item }

  func take() -> ItemInProgress? { item.take() }
  func put(_ item: consuming ItemInProgress) { self.item = consume item }
}

/// Items that peers send: they wait here for the user's acceptance, under their key, and count against the peer's quota.
extension Answerer {
  /// Decides about an item, cheap checks first, and answers with the first piece that is missing.
  mutating func consider(_ offer: ItemOffer) async throws {
    let answerer = self
    // Taking a large item up again means reading and hashing all that is there.
    switch try await offPool({ try answerer.accept(offer) }) {
    case .refuse(let reason, let keyID):
      vault.recordUnlessTooMany(
        .refused, peer: peer, secret: keyID.flatMap { vault.storedHeader($0) }, detail: "sent an item: \(reason)")
      try await reply(ItemAnswer(request: offer.request, verdict: .refused(reason)))
    case .complete:
      try await reply(ItemAnswer(request: offer.request, verdict: .complete))
    case .take(let box, let first):
      dialogue.began(offer)
      item = box
      try await reply(ItemAnswer(request: offer.request, verdict: .wants(from: first)))
    }
  }

  private enum Decision: Sendable {
    case refuse(RefusalReason, [UInt8]?)
    case complete
    case take(ItemBox, UInt64)
  }

  private func accept(_ offer: ItemOffer) throws -> Decision {
    let header: ItemHeader
    do {
      header = try ItemHeader.decode(offer.header, limit: ItemHeader.byteLimit)
    } catch {
      return .refuse(.invalidHeader, nil)
    }
    let keyID = header.keyID.bytes
    guard let byteCount = Int64(exactly: header.ciphertextByteCount),
      !byteCount.addingReportingOverflow(Int64(offer.header.count)).overflow
    else { return .refuse(.quotaBytes, keyID) }
    guard let key = try vault.database.secret(keyID), key.kind == SecretHeader.encryptionKeyKind, key.ownIndex != nil
    else { return .refuse(.keyNotHeld, nil) }
    let known = try vault.database.item(header.id)
    if let known, known.state != .arriving {
      // What is whole here is durable: the sender missed the answer, or somebody else sent the same. Before the user has accepted
      // it only its bytes say so: somebody without the key may have sent others under this header.
      return try isSame(known, offer) ? .complete : .refuse(.conflictingHeader, keyID)
    }
    if let refusal = limitRefusal(header.ciphertextByteCount) { return .refuse(refusal, keyID) }
    let isNew = known == nil || known?.sender != peer.digest
    if isNew, let refusal = quotaRefusal(adding: header.ciphertextByteCount) { return .refuse(refusal, keyID) }
    let record = ItemRecord(
      id: header.id, keyID: keyID, header: offer.header, byteCount: byteCount, state: .arriving, origin: .sent,
      sender: peer.digest, label: nil, receivedAt: vault.environment.now())
    do throws(StoreError) {
      return try begin(record, offer.digest, isNew: isNew)
    } catch {
      switch error {
      case .busy: return .refuse(.busy, keyID)
      case .alreadyExists: return .refuse(.conflictingHeader, keyID)
      case .diskFull: return .refuse(.diskFull, keyID)
      default: throw error
      }
    }
  }

  /// Whether what is here is what is offered.
  private func isSame(_ known: ItemRecord, _ offer: ItemOffer) throws -> Bool {
    guard known.header == offer.header else { return false }
    guard known.state == .waiting else { return true }
    return try digest(of: known) == offer.digest
  }

  /// The digest of an item's ciphertext as it lies here.
  private func digest(of known: ItemRecord) throws -> Digest {
    let file = try vault.database.openItem(known)
    let total = UInt64(known.byteCount)
    var digest = try ItemDigest(byteCount: total)
    var offset = Int64(known.header.count)
    while !digest.isComplete {
      let count = ItemDigest.pieceByteCount(digest.nextPiece, of: total)
      let bytes = try file.read(at: offset, count: count)
      let number = digest.nextPiece
      try digest.take(number: number, bytes: bytes.span.bytes)
      offset += Int64(count)
    }
    return try digest.digest()
  }

  /// Notes what arrives, if there is room for it.
  private func begin(_ record: ItemRecord, _ expected: Digest, isNew: Bool) throws(StoreError) -> Decision {
    guard let file = try vault.database.beginArrival(record) else { return .refuse(.keyNotHeld, nil) }
    // Other sessions of the same peer may have passed the same check a moment ago.
    if isNew, isOverQuota() {
      try vault.database.discardArrival(record.id)
      return .refuse(.quotaBytes, record.keyID)
    }
    return try begin(record, expected, file)
  }

  /// Takes pieces of an earlier attempt into account, after hashing them again.
  private func begin(_ record: ItemRecord, _ expected: Digest, _ file: ItemFile) throws(StoreError) -> Decision {
    let total = UInt64(record.byteCount)
    let front = Int64(record.header.count)
    var digest: ItemDigest
    do throws(SodiumError) { digest = try ItemDigest(byteCount: total) } catch { throw .sodium(error) }
    let size = try file.byteCount()
    let begun = size < front ? [] : try file.read(count: record.header.count, at: 0)
    if begun != record.header {
      try file.truncate(to: 0)
      try file.write(record.header, at: 0)
    } else {
      let present = UInt64(min(size - front, record.byteCount))
      while !digest.isComplete {
        let count = ItemDigest.pieceByteCount(digest.nextPiece, of: total)
        let start = digest.nextPiece * UInt64(ItemPiece.byteCount)
        guard start + UInt64(count) <= present else { break }
        let bytes = try file.read(count: count, at: front + Int64(start))
        do throws(ProtocolError) { try digest.take(number: digest.nextPiece, bytes: bytes.span.bytes) } catch {
          throw .damaged("an arriving item")
        }
      }
      let whole = min(total, digest.nextPiece * UInt64(ItemPiece.byteCount))
      try file.truncate(to: front + Int64(whole))
    }
    let first = digest.nextPiece
    let running = ItemInProgress(record: record, expected: expected, file: file, digest: digest)
    return .take(ItemBox(running), first)
  }

  /// Takes a piece. What goes wrong is remembered and told at the end.
  mutating func store(_ piece: ItemPiece) {
    guard let item, var running = item.take() else { return }
    if running.failure == nil {
      do {
        try running.digest.take(number: piece.number, bytes: piece.bytes.span.bytes)
        try running.file.write(
          piece.bytes, at: Int64(running.record.header.count) + Int64(piece.number) * Int64(ItemPiece.byteCount))
      } catch StoreError.diskFull {
        running.failure = .diskFull
      } catch is ProtocolError {
        running.failure = .invalidFragment
      } catch {
        vault.environment.log.error("a piece of an item could not be stored: this device \(Vault.words(error))")
        running.failure = .internalFailure
      }
    }
    item.put(running)
  }

  /// Verifies the whole, makes it durable, and only then says so.
  mutating func complete(_ end: ItemEnd) async throws {
    guard let box = item else { throw ProtocolError.unexpectedMessage(MessageType.itemEnd.rawValue) }
    item = nil
    let answerer = self
    let (refusal, keyID) = try await offPool { answerer.finish(box) }
    let header = keyID.flatMap { vault.storedHeader($0) }
    if let refusal {
      vault.recordUnlessTooMany(.refused, peer: peer, secret: header, detail: "sent an item: \(refusal)")
    } else {
      vault.recordUnlessTooMany(.itemReceived, peer: peer, secret: header, detail: "it waits for 'vault item accept'")
    }
    try await reply(ItemResult(request: end.request, refusal: refusal))
  }

  private func finish(_ box: ItemBox) -> (RefusalReason?, [UInt8]?) {
    guard let running = box.take() else { return (.internalFailure, nil) }
    var record = running.record
    let (failure, expected, file) = (running.failure, running.expected, running.file)
    let isWhole = running.digest.isComplete
    let digest = try? running.intoDigest()
    if let failure {
      if failure == .diskFull { try? vault.database.discardArrival(record.id) }
      return (failure, record.keyID)
    }
    // Pieces that are missing may come another time; wrong ones go.
    guard isWhole else { return (.invalidFragment, record.keyID) }
    guard digest == expected else {
      try? vault.database.discardArrival(record.id)
      return (.invalidFragment, record.keyID)
    }
    record.state = .waiting
    record.receivedAt = vault.environment.now()
    do throws(StoreError) {
      switch try vault.database.addItem(record, file: file) {
      case .stored, .alreadyStored: return (nil, record.keyID)
      case .keyNotHeld: return (.keyNotHeld, nil)
      }
    } catch .diskFull {
      try? vault.database.discardArrival(record.id)
      return (.diskFull, record.keyID)
    } catch {
      vault.environment.log.error("an item could not be kept: this device \(Vault.words(error))")
      return (.internalFailure, record.keyID)
    }
  }
}

extension ItemInProgress {
  /// Gives up all but the digest.
  consuming func intoDigest() throws(ProtocolError) -> Digest { try digest.digest() }
}

extension Vault {
  /// The header of a secret that is known here, for the log.
  func storedHeader(_ id: [UInt8]) -> SecretHeader? {
    guard let record = try? database.secret(id) else { return nil }
    return try? header(of: record)
  }
}
