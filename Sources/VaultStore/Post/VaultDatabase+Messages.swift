import GRDB
package import Sodium
package import VaultProtocol

/// Messages that were sent and received, and what is in them. A row that doesn't verify takes none of the others along: lists leave
/// it out.
extension VaultDatabase {
  /// Keeps a message, what is in it by parts, and the parcels in which it goes or came, in one transaction. Part 0 of a text is the
  /// text; part -1 of a file what is said about it. Returns its number.
  ///
  /// Nil, and nothing is changed, if the message or one of the parcels is known, the message is a plain one that was removed, or there
  /// is no `room` for it. Throws ``StoreError/unknownRecipient(_:)`` if the other side is no peer, and ``StoreError/notFound(_:)`` if there is no such account.
  package func addMessage(
    _ record: MessageRecord, parts: [Int: HeldSecret], parcels: [(record: ParcelRecord, content: [UInt8]?)] = [],
    within room: MessageRoom? = nil
  ) throws(StoreError) -> Int64? {
    try record.check()
    guard record.number == 0 else { throw .invalid("a message that has a number") }
    var sealed: [(part: Int, bytes: [UInt8])] = []
    for (part, content) in parts { sealed.append((part, try sealPart(part, content, of: record))) }
    let new = try newParcels(parcels, of: record)
    return try write { db in
      try self.checkCorrespondent(record, db)
      guard try !Self.isMessage(record, db), try !self.isRemoved(record, db), try !Self.isKnown(new, db) else {
        return nil
      }
      if let room, try !Self.hasRoom(room, for: record, db) { return nil }
      let number = try self.insertMessage(record, db).number
      for one in sealed { _ = try Self.insertPart(one.part, one.bytes, of: number, db) }
      for one in new { try self.insertParcel(one.parcel, content: one.content, secret: nil, db) }
      return number
    }
  }

  /// Keeps another part of a message, what is said about the file if it came with it, and the parcel in which it came, and lets
  /// `change` say how far the message is then; ``MessageRecord/partsDone`` counts the part already. Returns the message.
  /// Nil, and nothing is changed, if the part or the parcel is known, or the message isn't.
  package func addMessagePart(
    direction: MessageRecord.Direction, peer: Digest, id: [UInt8], number: Int, content: HeldSecret,
    caption: HeldSecret? = nil, parcels: [(record: ParcelRecord, content: [UInt8]?)] = [],
    change: (inout MessageRecord) -> Void = { _ in }
  ) throws(StoreError) -> MessageRecord? {
    guard let known = try message(direction: direction, peer: peer, id: id) else { return nil }
    guard number >= 0 else { throw .invalid("a part of a message") }
    let sealed = try sealPart(number, content, of: known)
    var sealedCaption: [UInt8]?
    if let caption { sealedCaption = try sealPart(-1, caption, of: known) }
    let new = try newParcels(parcels, of: known)
    return try write { db in
      guard try self.isPeer(peer, db) else { throw StoreError.unknownRecipient(peer) }
      // Another one since, if it was removed and came again.
      guard let before = try self.storedMessage(direction, peer, id, db), before.number == known.number,
        try !Self.isKnown(new, db), try Self.insertPart(number, sealed, of: before.number, db)
      else { return nil }
      if let sealedCaption { _ = try Self.insertPart(-1, sealedCaption, of: before.number, db) }
      for one in new { try self.insertParcel(one.parcel, content: one.content, secret: nil, db) }
      return try self.advance(before, change, db)
    }
  }

  /// The message with this number, or nil. Throws ``StoreError/damaged(_:)`` if its row doesn't verify.
  package func message(number: Int64) throws(StoreError) -> MessageRecord? {
    try readOne { db in try self.storedMessage(number, db) }
  }

  /// The message with this id from or to a peer, or nil. Throws ``StoreError/damaged(_:)`` if its row doesn't verify.
  package func message(
    direction: MessageRecord.Direction, peer: Digest, id: [UInt8]
  ) throws(StoreError) -> MessageRecord? {
    try readOne { db in try self.storedMessage(direction, peer, id, db) }
  }

  /// Messages that pass the filter, newest first unless it says otherwise. Damaged ones are left out.
  package func messages(_ filter: MessageFilter = MessageFilter()) throws(StoreError) -> [MessageRecord] {
    try read { db in
      try self.soundMessages(
        Self.condition(filter), isOldestFirst: filter.isOldestFirst, limit: filter.limit, db)
    }
  }

  /// Whether there are messages that pass the filter. Cheap, and a hint only: no row is verified.
  package func hasMessages(_ filter: MessageFilter) throws(StoreError) -> Bool {
    let condition = Self.condition(filter)
    return try readOne { db in
      try db.row("SELECT 1 AS found FROM messages WHERE \(condition.sql) LIMIT 1", condition.arguments)
        != nil
    }
  }

  /// A part of what is in a message, or nil if that isn't here. Throws ``StoreError/damaged(_:)`` if it is not what was kept, and
  /// for a text that is gone: that is kept with its message, and never without it.
  package func messagePart(_ number: Int64, part: Int) throws(StoreError) -> HeldSecret? {
    let found = try read { db -> (record: MessageRecord, sealed: [UInt8])? in
      guard let record = try self.storedMessage(number, db) else { return nil }
      let row = try db.row("SELECT sealed FROM message_parts WHERE number = ? AND part = ?", [number, part])
      guard let row else {
        if record.kind == .text, part == 0 { throw StoreError.damaged(Self.messageName(number)) }
        return nil
      }
      return (record, try StoredRow(row: row, what: Self.messageName(number)).bytes("sealed"))
    }
    guard let found else { return nil }
    return try openPart(found.sealed, of: found.record, part: part)
  }

  /// Changes how far a message is, if it is as it was read: `before` is that record. What a message is can't change.
  /// False, and nothing is changed, if it is another one meanwhile, or gone.
  @discardableResult
  package func updateMessage(_ record: MessageRecord, from before: MessageRecord) throws(StoreError) -> Bool {
    try record.check()
    guard before.isSame(as: record) else { throw .invalid("another message") }
    return try write { db in
      guard try self.storedMessage(before.number, db) == before else { return false }
      try self.putMessage(record, db)
      return true
    }
  }

  /// Destroys a message, what is in it, and the parcels in which it was to go. A damaged one, too. False if there is none. A plain
  /// one that is sound doesn't come back. `last` sees it as it was just before, if it isn't damaged.
  @discardableResult
  package func removeMessage(
    _ number: Int64, last: (MessageRecord) -> Void = { _ in }
  ) throws(StoreError) -> Bool {
    let isGone = try write { db in
      if let record = try unlessDamaged({ try self.storedMessage(number, db) }) {
        last(record)
        if record.direction == .sent, let peer = record.peer {
          try self.endParcels(ofMessage: record.id, toPeer: peer, db)
        }
        try self.noteRemoved(record, db)
      }
      return try self.deleteMessage(number, db)
    }
    if isGone { emptyLog() }
    return isGone
  }

  /// How many messages of a peer are here, and what room they take: for limits.
  package func messageCounts(peer: Digest) throws(StoreError) -> MessageCounts {
    try readOne { db in try Self.messageCounts(peer, db) }
  }

  private static func messageCounts(_ peer: Digest, _ db: Database) throws -> MessageCounts {
    guard
      let columns = try db.stored(
        "the table of messages",
        """
        SELECT count(*) AS messages, coalesce(sum(byte_count), 0) AS bytes FROM messages
        WHERE peer = ? AND direction = 'received'
        """, [peer.blob])
    else { throw StoreError.damaged("the table of messages") }
    return MessageCounts(
      count: try columns.count("messages"), bytes: try columns.integer("bytes"))
  }

  /// Whether a message fits in what its peer may leave here, with all else that is kept for it.
  private static func hasRoom(_ room: MessageRoom, for record: MessageRecord, _ db: Database) throws -> Bool {
    guard let peer = record.peer else { return true }
    let counts = try messageCounts(peer, db)
    var total: UInt64 = 0
    for bytes in [try usage(ofDealer: peer, db).byteCount, counts.bytes, record.byteCount] {
      let (sum, overflow) = total.addingReportingOverflow(UInt64(max(0, bytes)))
      guard !overflow else { return false }
      total = sum
    }
    return counts.count < room.count && total <= room.byteCount
  }

  /// Whether something of a peer's message has come that isn't here any more: it was deleted, or its parts didn't make up what they should.
  package func wasRemoved(peer: Digest, id: [UInt8]) throws(StoreError) -> Bool {
    try readOne { db in
      try db.has(
        """
        parcels WHERE message_id = ? AND peer = ? AND direction = 'received' AND NOT EXISTS
          (SELECT 1 FROM messages WHERE messages.peer = parcels.peer AND messages.direction = 'received'
            AND messages.id = parcels.message_id)
        """, [id.blob, peer.blob])
    }
  }

  // MARK: - Arrival

  /// Notes that a parcel of this device's own has arrived, and lets `change` say how far its message is then, in one transaction. What
  /// was in the parcel is erased; its row stays as answered until it expires, so that its id is known. The caller has checked the proof.
  /// Returns the parcel as it was, and its message if it has one that is here and sound. Nil, and nothing is changed, if it is not known,
  /// or answered or withdrawn already. ``MessageRecord/partsDone`` counts the parcel already.
  package func confirmParcel(
    _ id: ParcelID, change: (inout MessageRecord) -> Void = { _ in }
  ) throws(StoreError) -> (parcel: ParcelRecord, message: MessageRecord?)? {
    let (confirmed, hasForgotten) = try write { db -> ((parcel: ParcelRecord, message: MessageRecord?)?, Bool) in
      guard let (place, stored) = try self.placedParcel(id, db), stored.record.direction != .received,
        stored.record.state == .waiting || stored.record.state == .posted
      else { return (nil, false) }
      var after = StoredParcel(record: stored.record, hasSecret: false)
      after.record.state = .answered
      try self.putParcel(after, .clear, at: place, db)
      let message = try self.changeMessage(of: stored.record, change, db)
      return ((stored.record, message), stored.hasSecret)
    }
    if hasForgotten { emptyLog() }
    return confirmed
  }

  private func changeMessage(
    of parcel: ParcelRecord, _ change: (inout MessageRecord) -> Void, _ db: Database
  ) throws -> MessageRecord? {
    guard parcel.direction == .message, let id = parcel.message else { return nil }
    // That the parcel has arrived is true whatever became of the row.
    return try unlessDamaged { try storedMessage(.sent, parcel.peer, id, db) }.map { try advance($0, change, db) }
  }

  /// One part more of a message has come, or arrived.
  private func advance(
    _ before: MessageRecord, _ change: (inout MessageRecord) -> Void, _ db: Database
  ) throws -> MessageRecord {
    var after = before
    after.partsDone = min(before.partsDone + 1, before.partCount)
    change(&after)
    try replaceMessage(after, before, db)
    return after
  }
}
