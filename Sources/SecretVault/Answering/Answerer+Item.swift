import ShamirKit
import Sodium
import VaultProtocol
import VaultStore
import WireCodec

/// Items that peers send: they wait here for the user's acceptance, under their key, and count against the peer's quota.
extension Answerer {
  mutating func carryOut(_ request: ItemAnswerer.Request) async throws {
    switch request {
    case .offer(let offer): try await consider(offer)
    case .piece(let piece): store(piece)
    case .end(let end): try await complete(end)
    }
  }

  /// Decides about an item, cheap checks first, and answers with the first piece that is missing.
  private mutating func consider(_ offer: ItemOffer) async throws {
    let answerer = self
    // Taking a large item up again means reading and hashing all that is there.
    switch try await offPool({ try answerer.accept(offer) }) {
    case .refuse(let reason, let keyID):
      room.recordUnlessTooMany(
        .refused, peer: peer, secret: keyID.flatMap { room.items.storedHeader($0) }, detail: "sent an item: \(reason)")
      try await reply(ItemAnswer(request: offer.request, verdict: .refused(reason)))
    case .complete: try await reply(ItemAnswer(request: offer.request, verdict: .complete))
    case .take(let box, let first):
      exchanges.item.began(offer)
      item = box
      try await reply(ItemAnswer(request: offer.request, verdict: .wants(from: first)))
    }
  }

  private enum Decision: Sendable {
    case refuse(RefusalReason, SecretID?)
    case complete
    case take(ItemBox, UInt64)
  }

  private func accept(_ offer: ItemOffer) throws -> Decision {
    let header: ItemHeader
    do { header = try ItemHeader.decode(offer.header, limit: ItemHeader.byteLimit) } catch {
      return .refuse(.invalidHeader, nil)
    }
    let keyID = header.keyID
    guard let byteCount = Int64(exactly: header.ciphertextByteCount),
      !byteCount.addingReportingOverflow(Int64(offer.header.count)).overflow
    else { return .refuse(.quotaBytes, keyID) }
    guard let key = try room.database.secret(keyID), key.kind == SecretHeader.encryptionKeyKind, key.ownIndex != nil
    else { return .refuse(.keyNotHeld, nil) }
    // What the user has accepted or made is durable: the sender missed the answer, or somebody else sent the same. Under another key it is
    // another item, whose maker may have taken the id from this one.
    if let settled = try room.database.item(header.id), settled.keyID == keyID, settled.origin != .group,
      !settled.isUnopened
    {
      return settled.header == offer.header ? .complete : .refuse(.conflictingHeader, keyID)
    }
    // All else only its bytes say: somebody without the key may have sent others under this header. So what each peer has sent lies by
    // itself.
    let id = try room.database.arrivalID(of: header.id, from: peer.digest)
    let known = try room.database.item(id)
    if let known, known.state != .arriving {
      guard known.header == offer.header else { return .refuse(.conflictingHeader, keyID) }
      guard let digest = try digest(of: known) else { return .refuse(.busy, keyID) }
      return digest == offer.digest ? .complete : .refuse(.conflictingHeader, keyID)
    }
    if let refusal = limitRefusal(header.ciphertextByteCount) { return .refuse(refusal, keyID) }
    // What has arrived of it makes room for it, but whose header is another one may be larger.
    if let refusal = quotaRefusal(adding: header.ciphertextByteCount, replacing: known?.byteCount) {
      return .refuse(refusal, keyID)
    }
    let record = ItemRecord(
      id: id, keyID: keyID, header: offer.header, byteCount: byteCount, state: .arriving, origin: .sent,
      sender: peer.digest, label: nil, receivedAt: room.environment.now())
    do { return try begin(record, offer.digest) } catch {
      switch error {
      case .busy: return .refuse(.busy, keyID)
      case .alreadyExists: return .refuse(.conflictingHeader, keyID)
      case .diskFull: return .refuse(.diskFull, keyID)
      default: throw error
      }
    }
  }

  /// The digest of an item's ciphertext as it lies here; nil if the peer has had too much read for it.
  private func digest(of known: ItemRecord) throws -> Digest? {
    if let digest = room.arrivals.digest(ofItem: known.id, receivedAt: known.receivedAt) { return digest }
    let file = try room.database.openItem(known)
    let total = UInt64(known.byteCount)
    guard mayReread(total) else { return nil }
    var digest = try ItemDigest(byteCount: total)
    var offset = Int64(known.header.count)
    while !digest.isComplete {
      let count = ItemDigest.pieceByteCount(digest.nextPiece, of: total)
      let bytes = try file.read(at: offset, count: count)
      let number = digest.nextPiece
      try digest.take(number: number, bytes: bytes.span.bytes)
      offset += Int64(count)
    }
    let result = try digest.digest()
    room.arrivals.note(result, ofItem: known.id, receivedAt: known.receivedAt)
    return result
  }

  /// Whether so much may be read and hashed for this peer once more.
  func mayReread(_ byteCount: UInt64) -> Bool {
    room.arrivals.mayReread(byteCount, for: peer.digest, at: room.environment.monotonic())
  }

  /// Notes what arrives, if there is room for it.
  private func begin(_ record: ItemRecord, _ expected: Digest) throws(StoreError) -> Decision {
    guard let file = try room.database.beginArrival(record) else { return .refuse(.keyNotHeld, nil) }
    // Other sessions of the same peer may have passed the same check a moment ago.
    if isOverQuota() {
      try room.database.discardArrival(record.id)
      return .refuse(.quotaBytes, record.keyID)
    }
    return try begin(record, expected, file)
  }

  /// Takes pieces of an earlier attempt into account, after hashing them again if nobody remembers their hash.
  private func begin(_ record: ItemRecord, _ expected: Digest, _ file: ItemFile) throws(StoreError) -> Decision {
    let total = UInt64(record.byteCount)
    let front = Int64(record.header.count)
    var digest: ItemDigest
    do { digest = try ItemDigest(byteCount: total) } catch { throw .sodium(error) }
    let reserve = room.core.diskReserve
    let size = try file.byteCount()
    let begun = size < front ? [] : try file.read(count: record.header.count, at: 0)
    if begun != record.header {
      guard reserve.allows(total) else { throw .diskFull(path: room.folders.data) }
      try file.truncate(to: 0)
      try file.write(record.header, at: 0)
    } else {
      let present = UInt64(min(size - front, record.byteCount))
      guard reserve.allows(total - present) else { throw .diskFull(path: room.folders.data) }
      if case .item(let box)? = room.arrivals.take(arrivalName(record), try file.mark()), let known = box.take() {
        digest = known
      } else if present > 0, !mayReread(present) {
        return .refuse(.busy, record.keyID)
      }
      while !digest.isComplete {
        let count = ItemDigest.pieceByteCount(digest.nextPiece, of: total)
        let start = digest.nextPiece * UInt64(ItemPiece.byteCount)
        guard start + UInt64(count) <= present else { break }
        let bytes = try file.read(count: count, at: front + Int64(start))
        do { try digest.take(number: digest.nextPiece, bytes: bytes.span.bytes) } catch {
          throw .damaged("an arriving item")
        }
      }
      let whole = min(total, digest.nextPiece * UInt64(ItemPiece.byteCount))
      try file.truncate(to: front + Int64(whole))
    }
    let first = digest.nextPiece
    let running = ItemInProgress(record: record, expected: expected, file: file, digest: digest, reserve: reserve)
    return .take(ItemBox(running), first)
  }

  /// Takes a piece. What goes wrong is remembered and told at the end.
  private mutating func store(_ piece: ItemPiece) {
    guard let item, var running = item.take() else { return }
    if running.failure == nil {
      do {
        guard running.reserve.allows(UInt64(piece.bytes.count)) else {
          throw StoreError.diskFull(path: room.folders.data)
        }
        try running.digest.take(number: piece.number, bytes: piece.bytes.span.bytes)
        try running.file.write(
          piece.bytes, at: Int64(running.record.header.count) + Int64(piece.number) * Int64(ItemPiece.byteCount))
      } catch StoreError.diskFull {
        running.failure = .diskFull
      } catch is ProtocolError {
        running.failure = .invalidFragment
      } catch {
        room.core.logFault("a piece of an item could not be stored: this device \(VaultCore.words(error))")
        running.failure = .internalFailure
      }
    }
    item.put(running)
  }

  /// Verifies the whole, makes it durable, and only then says so.
  private mutating func complete(_ end: ItemEnd) async throws {
    guard let box = item else { throw ProtocolError.unexpectedMessage(MessageType.itemEnd.rawValue) }
    item = nil
    let answerer = self
    let isPremature = box.isPremature
    let (refusal, keyID) = try await offPool { answerer.finish(box) }
    let header = keyID.flatMap { room.items.storedHeader($0) }
    if let refusal {
      room.recordUnlessTooMany(.refused, peer: peer, secret: header, detail: "sent an item: \(refusal)")
    } else {
      room.recordUnlessTooMany(.itemReceived, peer: peer, secret: header, detail: "it waits for 'vault item accept'")
    }
    try await reply(ItemResult(request: end.request, refusal: refusal))
    // No program of ours says that this was all before it was. A parcel ends by itself.
    if isPremature, parcelEnd == nil { throw ProtocolError.unexpectedMessage(MessageType.itemEnd.rawValue) }
  }

  private func arrivalName(_ record: ItemRecord) -> ArrivalMemory.Name {
    ArrivalMemory.Name(peer: peer.digest, id: record.id, index: 0, header: record.header)
  }

  /// The session ended in the middle: what has arrived stays for the next attempt, and its hash.
  mutating func abandonItem() {
    guard let running = item?.take() else { return }
    item = nil
    keepHashed(running)
  }

  private func keepHashed(_ running: consuming ItemInProgress) {
    guard (running.failure ?? .invalidFragment) == .invalidFragment, let mark = try? running.file.mark() else { return }
    let name = arrivalName(running.record)
    room.arrivals.keep(.item(ArrivalMemory.DigestBox(running.intoHash())), name, mark)
  }

  private func finish(_ box: ItemBox) -> (RefusalReason?, SecretID?) {
    guard let running = box.take() else { return (.internalFailure, nil) }
    var record = running.record
    let (failure, expected, file) = (running.failure, running.expected, running.file)
    if let failure, failure != .invalidFragment {
      if failure == .diskFull { try? room.database.discardArrival(record.id) }
      return (failure, record.keyID)
    }
    // Pieces that are missing may come another time; wrong ones go.
    guard failure == nil, running.digest.isComplete else {
      keepHashed(running)
      return (.invalidFragment, record.keyID)
    }
    let digest = try? running.intoDigest()
    guard digest == expected else {
      try? room.database.discardArrival(record.id)
      return (.invalidFragment, record.keyID)
    }
    record.state = .waiting
    record.receivedAt = room.environment.now()
    do {
      switch try room.database.addItem(record, file: file) {
      case .stored:
        room.arrivals.note(expected, ofItem: record.id, receivedAt: record.receivedAt)
        return (nil, record.keyID)
      case .alreadyStored: return (nil, record.keyID)
      case .keyNotHeld: return (.keyNotHeld, nil)
      }
    } catch .diskFull {
      try? room.database.discardArrival(record.id)
      return (.diskFull, record.keyID)
    } catch {
      room.core.logFault("an item could not be kept: this device \(VaultCore.words(error))")
      return (.internalFailure, record.keyID)
    }
  }
}

extension ItemInProgress {
  /// Gives up all but the digest.
  consuming func intoDigest() throws(ProtocolError) -> Digest { try digest.digest() }

  /// Gives up all but what was hashed so far.
  consuming func intoHash() -> ItemDigest { digest }
}
