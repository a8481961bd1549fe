import Sodium
import VaultProtocol
import VaultStore

/// Messages from peers: each is shown once, however often it comes.
extension Messages {
  /// The letter's sender and times were checked.
  func takeMessage(_ letter: MessageLetter, from peer: PeerRecord, by arrival: ParcelArrival) throws -> ParcelTaking {
    let receipt = post.receipt(for: letter.id, letter.seed, expiresAt: letter.expiresAt, arrival)
    if case .receipts(let receipts) = letter.content {
      // Taking them again changes nothing; and receipts aren't confirmed by parcel.
      try post.take(receipts, from: peer, by: arrival.way)
      return .known(receipt: receipt)
    }
    if case .probe = letter.content {
      post.owe(receipt, to: peer.digest, arrival)
      return .known(receipt: receipt)
    }
    let message: [UInt8]? =
      switch letter.content {
      case .text(let text): text.message
      case .part(let part): part.message
      case .receipts, .probe: nil
      }
    let row = ParcelRecord(
      id: try ParcelRecord.receivedID(of: letter.id, from: peer.digest), direction: .received, state: .answered,
      peer: peer.digest, createdAt: letter.createdAt, expiresAt: letter.expiresAt, message: message)
    var isKnown = try database.parcel(row.id) != nil
    if !isKnown {
      let taking: ParcelTaking
      switch letter.content {
      case .text(let text): taking = try take(text, letter, row, peer, arrival)
      case .part(let part): taking = try take(part, letter, row, peer, arrival)
      case .receipts, .probe: taking = .full
      }
      guard taking.isTaken else { return taking }
      isKnown = !taking.isNew
    } else if case .part(let part) = letter.content {
      // The program may have ended between the last part and the check of the whole.
      if let file = try database.message(direction: .received, peer: peer.digest, id: part.message) {
        try post.settle(file, from: peer)
      }
    }
    post.owe(receipt, to: peer.digest, arrival)
    return isKnown ? .known(receipt: receipt) : .taken(receipt: receipt)
  }

  private func take(
    _ text: MessageText, _ letter: MessageLetter, _ row: ParcelRecord, _ peer: PeerRecord, _ arrival: ParcelArrival
  ) throws -> ParcelTaking {
    guard let room = try room(for: text.text.count, of: peer) else { return .full }
    let record = MessageRecord(
      id: text.message, peer: peer.digest, direction: .received, kind: .text, isSealed: true,
      byteCount: Int64(text.text.count), partsDone: 1, sentAt: letter.createdAt, storedAt: max(1, environment.now()),
      route: arrival.way.name, hops: arrival.hops, carriers: arrival.carriers, state: .new)
    let number = try database.addMessage(record, parts: [0: text.text], parcels: [(row, nil)], within: room)
    if number != nil {
      post.noteArrival(of: record, from: peer, text.address)
      return .taken(receipt: nil)
    }
    // It came in another parcel before, or the room was taken in the same moment.
    let isHere =
      try database.parcel(row.id) != nil
      || database.message(direction: .received, peer: peer.digest, id: text.message) != nil
    return isHere ? .known(receipt: nil) : .full
  }

  private func take(
    _ part: MessagePart, _ letter: MessageLetter, _ row: ParcelRecord, _ peer: PeerRecord, _ arrival: ParcelArrival
  ) throws -> ParcelTaking {
    let known = try database.message(direction: .received, peer: peer.digest, id: part.message)
    guard let known else { return try takeFirst(part, letter, row, peer, arrival) }
    guard known.isOf(part.file) else { return ignoreMessage(letter.id, "parts of two files have one id", peer) }
    let after = try database.addMessagePart(
      direction: .received, peer: peer.digest, id: part.message, number: Int(part.number), content: part.bytes,
      caption: part.caption, parcels: [(row, nil)]
    ) { message in
      message.hops = max(message.hops, arrival.hops)
      message.add(carriers: arrival.carriers)
    }
    if let after { try post.settle(after, from: peer, part.address) }
    return .taken(receipt: nil)
  }

  /// The first part of a file that comes, whichever it is. Room is made for the whole file.
  private func takeFirst(
    _ part: MessagePart, _ letter: MessageLetter, _ row: ParcelRecord, _ peer: PeerRecord, _ arrival: ParcelArrival
  ) throws -> ParcelTaking {
    if try database.wasRemoved(peer: peer.digest, id: part.message) { return try takeRest(row) }
    guard let room = try room(for: Int(clamping: part.file.byteCount), of: peer) else { return .full }
    let file = part.file
    let record = MessageRecord(
      id: part.message, peer: peer.digest, direction: .received, kind: file.kind == .photo ? .photo : .file,
      isSealed: true, name: file.name, mediaType: file.mediaType.isEmpty ? nil : file.mediaType,
      byteCount: Int64(clamping: file.byteCount), partCount: file.partCount, partsDone: 1, digest: file.digest,
      sentAt: letter.createdAt, storedAt: max(1, environment.now()), route: arrival.way.name, hops: arrival.hops,
      carriers: arrival.carriers, expiresAt: letter.expiresAt, state: .partial)
    var parts = [Int(part.number): part.bytes]
    if let caption = part.caption { parts[-1] = caption }
    let number = try database.addMessage(record, parts: parts, parcels: [(row, nil)], within: room)
    guard let number else {
      // Another program has taken a part in the same moment.
      let isThere = try database.message(direction: .received, peer: peer.digest, id: part.message)
      return isThere == nil ? .full : try take(part, letter, row, peer, arrival)
    }
    if let stored = try database.message(number: number) { try post.settle(stored, from: peer, part.address) }
    return .taken(receipt: nil)
  }

  /// A part of a file that was deleted before it was whole: it is confirmed, so that nobody sends it again.
  private func takeRest(_ row: ParcelRecord) throws -> ParcelTaking {
    guard try database.parcelCounts(ofPeer: row.peer).known < Post.knownParcelsOfPeer else { return .full }
    _ = try database.addParcel(row, content: nil, replySecret: nil)
    return .taken(receipt: nil)
  }

  /// Nil if so much more is beyond the peer's quota, which it shares with its deposits. The limits are checked again when it is stored.
  private func room(for byteCount: Int, of peer: PeerRecord) throws -> MessageRoom? {
    guard let quota = core.quota else { return nil }
    let usage = try usage(of: peer.digest)
    let counts = try database.messageCounts(peer: peer.digest)
    let known = try database.parcelCounts(ofPeer: peer.digest).known
    let total = UInt64(max(0, usage.byteCount)).addingReportingOverflow(UInt64(max(0, byteCount)))
    guard counts.count < ParcelTimes.messagesOfPeer, known < Post.knownParcelsOfPeer, !total.overflow,
      total.partialValue <= quota.bytes
    else {
      if core.strangers.isNew("messages of \(peer.name)", at: environment.monotonic()) {
        environment.log.warning("\(peer.name) has left as much here as it may: its messages aren't taken")
      }
      return nil
    }
    return MessageRoom(count: ParcelTimes.messagesOfPeer, byteCount: quota.bytes)
  }

  /// What a peer has left here: shares and items, and the bytes of its messages.
  func usage(of peer: Digest) throws(StoreError) -> (count: Int, byteCount: Int64) {
    let usage = try database.usage(ofDealer: peer)
    let messages = try database.messageCounts(peer: peer).bytes
    let (sum, overflow) = usage.byteCount.addingReportingOverflow(max(0, messages))
    return (usage.count, overflow ? .max : sum)
  }

  private func ignoreMessage(_ id: ParcelID, _ reason: String, _ peer: PeerRecord) -> ParcelTaking {
    if post.parcelMemory.isNews(id) {
      recordUnlessTooMany(.refused, peer: peer, detail: "sent a message that was dropped: \(reason)")
    }
    return .ignored(reason)
  }
}

extension MessageRecord {
  /// Whether this is the message with this file.
  fileprivate func isOf(_ file: MessagePart.File) -> Bool {
    kind == (file.kind == .photo ? .photo : .file) && name == file.name
      && mediaType == (file.mediaType.isEmpty ? nil : file.mediaType) && byteCount == Int64(clamping: file.byteCount)
      && partCount == file.partCount && digest == file.digest
  }
}
