import GRDB
package import Sodium

/// What a message may be kept with, and what becomes of messages when others go.
extension VaultDatabase {
  private static let formerTable = "former_peers"

  /// What a peer was called that was removed, as long as there are messages with it; or nil.
  package func formerName(ofPeer peer: Digest) throws(StoreError) -> String? {
    try readOne { db in
      guard
        let columns = try db.stored(
          "the name of a former peer", "SELECT sealed FROM former_peers WHERE peer = ?", [peer.blob])
      else { return nil }
      let name = RecordName(table: Self.formerTable, row: peer.bytes)
      return try self.openText(try columns.bytes("sealed"), name, 1024, columns.what)
    }
  }

  /// A removed peer's messages stay, under the name that it had. What was still to go to it is lost, and what hasn't come of a
  /// message never will: it goes.
  func endMessages(ofPeer peer: Digest, name: String, _ db: Database) throws {
    try loseMessages(peer, db)
    let partial = Self.condition(MessageFilter(peer: peer, states: [.partial]))
    for message in try soundMessages(partial, limit: .max, db) { _ = try deleteMessage(message.number, db) }
    guard try db.has("messages WHERE peer = ?", [peer.blob]) else { return }
    // The row of the peer may be damaged, and must go all the same.
    guard name.utf8.count <= 1024, !name.utf8.contains(0) else { return }
    let sealed = try sealedText(name, RecordName(table: Self.formerTable, row: peer.bytes))
    try db.put(into: "former_peers", key: "peer", ["sealed"], [peer.blob, sealed.blob])
  }

  /// Nothing comes any more of what is still to go to a peer, or to anybody.
  func loseMessages(_ peer: Digest?, _ db: Database) throws {
    let waiting = Self.condition(MessageFilter(peer: peer, plain: .none, states: [.waiting, .underway]))
    for before in try soundMessages(waiting, limit: .max, db) {
      var after = before
      after.state = .lost
      try putMessage(after, db)
    }
  }

  /// Whoever is a peer has its name there.
  static func forgetFormerName(ofPeer peer: Digest, _ db: Database) throws {
    try db.run("DELETE FROM former_peers WHERE peer = ?", [peer.blob])
  }

  /// What is in it goes with it. False if there is none.
  func deleteMessage(_ number: Int64, _ db: Database) throws -> Bool {
    try db.run("DELETE FROM message_parts WHERE number = ?", [number])
    guard try db.changes("DELETE FROM messages WHERE number = ?", [number]) else { return false }
    try db.run(
      "DELETE FROM former_peers WHERE NOT EXISTS (SELECT 1 FROM messages WHERE messages.peer = former_peers.peer)")
    return true
  }

  /// Stores a changed message, which must still be the same.
  func replaceMessage(_ after: MessageRecord, _ before: MessageRecord, _ db: Database) throws {
    try after.check()
    guard before.isSame(as: after) else { throw StoreError.invalid("another message") }
    if after != before { try putMessage(after, db) }
  }

  // MARK: - What doesn't come back

  /// Plain messages of which it is known that they were removed, beyond which the oldest are forgotten.
  static let removedLimit: Int64 = 65536

  /// Notes that a plain message was removed: its server keeps it in an archive that is read again. A sealed one is known by its parcels.
  func noteRemoved(_ record: MessageRecord, _ db: Database) throws {
    guard let account = record.account else { return }
    try db.run(
      "INSERT INTO removed_messages (account, mac) VALUES (?, ?) ON CONFLICT DO NOTHING",
      [account.blob, try removedMAC(record).blob])
    try db.run(
      "DELETE FROM removed_messages WHERE number <= (SELECT max(number) FROM removed_messages) - ?", [Self.removedLimit]
    )
  }

  /// Whether it is a plain message that was removed.
  func isRemoved(_ record: MessageRecord, _ db: Database) throws -> Bool {
    guard let account = record.account else { return false }
    return try db.has("removed_messages WHERE mac = ? AND account = ?", [try removedMAC(record).blob, account.blob])
  }

  /// The id of a plain message is made from what it said, which nobody is to try out on what stays of it.
  private func removedMAC(_ record: MessageRecord) throws(StoreError) -> [UInt8] {
    let row = try Self.messageRow(record)
    return try keys.mac("vault/removed-message/v1", row)
  }

  // MARK: - What a message is kept with

  /// Parcels that come with a message are its own, or those in which it came.
  func newParcels(
    _ parcels: [(record: ParcelRecord, content: [UInt8]?)], of message: MessageRecord
  ) throws(StoreError) -> [(parcel: StoredParcel, content: [UInt8]?)] {
    var new: [(parcel: StoredParcel, content: [UInt8]?)] = []
    for one in parcels {
      try one.record.check()
      let isOwn = one.record.direction == (message.direction == .sent ? .message : .received)
      guard isOwn, one.record.peer == message.peer, one.record.message == message.id else {
        throw .invalid("a parcel of another message")
      }
      new.append((try Self.stored(one.record, content: one.content, hasSecret: false), one.content))
    }
    return new
  }

  static func isKnown(_ parcels: [(parcel: StoredParcel, content: [UInt8]?)], _ db: Database) throws -> Bool {
    for one in parcels where try isParcel(one.parcel.record.id, db) { return true }
    return false
  }

  static func isMessage(_ record: MessageRecord, _ db: Database) throws -> Bool {
    if let peer = record.peer {
      return try db.has(
        "messages WHERE peer = ? AND direction = ? AND id = ?", [peer.blob, record.direction.rawValue, record.id.blob])
    }
    return try db.has(
      "messages WHERE account = ? AND contact = ? AND direction = ? AND id = ?",
      [record.account?.blob, record.contact, record.direction.rawValue, record.id.blob])
  }

  func checkCorrespondent(_ record: MessageRecord, _ db: Database) throws {
    if let peer = record.peer, try !isPeer(peer, db) { throw StoreError.unknownRecipient(peer) }
    if let account = record.account, try storedAccount(account, db) == nil { throw StoreError.notFound("the account") }
  }

  static func condition(_ filter: MessageFilter) -> Condition {
    var condition = Condition()
    if let peer = filter.peer { condition.and("peer = ?", [peer.blob]) }
    if let account = filter.account { condition.and("account = ?", [account.blob]) }
    if let contact = filter.contact { condition.and("contact = ?", [contact]) }
    if let id = filter.id { condition.and("id = ?", [id.blob]) }
    switch filter.plain {
    case .all: break
    case .none: condition.and("account IS NULL")
    case .of(let account): condition.and("(account IS NULL OR account = ?)", [account.blob])
    }
    if let direction = filter.direction { condition.and("direction = ?", [direction.rawValue]) }
    if let states = filter.states {
      // States are this program's own words.
      condition.and("state IN (\(states.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")))")
    }
    if let since = filter.since { condition.and("stored_at >= ?", [since]) }
    if let time = filter.expiredAt { condition.and("expires_at <> 0 AND expires_at <= ?", [time]) }
    return condition
  }
}
