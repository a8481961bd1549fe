import GRDB
package import Sodium

/// Whom accounts know, and at which addresses peers can be had.
extension VaultDatabase {
  private static let friendTable = "friends"
  private static let friendColumns = "account, address, sealed"
  private static let addressTable = "peer_addresses"

  /// The friends of an account, by address. Damaged ones are left out: the server knows them, too.
  package func friends(_ account: [UInt8]) throws(StoreError) -> [FriendRecord] {
    try read { db in
      try self.soundFriends(db, where: "account = ? ORDER BY address", [account.blob]).filter { $0.account == account }
    }
  }

  /// The friend of an account with this address, or nil. Throws ``StoreError/damaged(_:)`` if the row doesn't verify.
  package func friend(_ account: [UInt8], _ address: String) throws(StoreError) -> FriendRecord? {
    try readOne { db in
      guard let row = try Self.friendRow(account, address, db) else { return nil }
      let friend = try self.decodeFriend(row)
      guard friend.isOf(account, address) else { throw StoreError.damaged("the table of friends") }
      return friend
    }
  }

  private static func friendRow(_ account: [UInt8], _ address: String, _ db: Database) throws -> Row? {
    try db.row("SELECT \(friendColumns) FROM friends WHERE account = ? AND address = ?", [account.blob, address])
  }

  private func soundFriends(
    _ db: Database, where condition: String = "TRUE", _ arguments: StatementArguments = []
  ) throws -> [FriendRecord] {
    try db.rows("SELECT \(Self.friendColumns) FROM friends WHERE \(condition)", arguments).compactMap {
      try unlessDamaged(try decodeFriend($0))
    }
  }

  /// Nil for a damaged one, too: it is about to be replaced.
  private func storedFriend(_ account: [UInt8], _ address: String, _ db: Database) throws -> FriendRecord? {
    try Self.friendRow(account, address, db).flatMap { try unlessDamaged(try decodeFriend($0)) }
  }

  /// Stores a friend, a new one or a changed one. False, and nothing is changed, if there are too many. Throws
  /// ``StoreError/notFound(_:)`` if there is no such account, and ``StoreError/unknownRecipient(_:)`` if the peer that it is said to
  /// be is none.
  @discardableResult
  package func setFriend(_ friend: FriendRecord) throws(StoreError) -> Bool {
    try friend.check()
    return try write { db in
      try self.storeFriend(friend, for: self.storedFriend(friend.account, friend.address, db), db)
    }
  }

  /// Changes a friend in one transaction, a new one if there is none: `change` sees what is stored. Otherwise as ``setFriend(_:)``.
  @discardableResult
  package func updateFriend(
    _ account: [UInt8], _ address: String, _ change: (inout FriendRecord) -> Void
  ) throws(StoreError) -> Bool {
    try write { db in
      let before = try self.storedFriend(account, address, db)
      var after = before ?? FriendRecord(account: account, address: address)
      change(&after)
      return try self.replaceFriend(before, account, address, by: after, db)
    }
  }

  /// Changes or removes a friend in one transaction: `change` sees what is stored, and leaves nil of whom is to go. Nothing happens if there is none.
  package func changeFriend(
    _ account: [UInt8], _ address: String, _ change: (inout FriendRecord?) -> Void
  ) throws(StoreError) {
    try write { db in
      guard let before = try self.storedFriend(account, address, db) else { return }
      var after: FriendRecord? = before
      change(&after)
      if let after {
        _ = try self.replaceFriend(before, account, address, by: after, db)
      } else {
        try db.run("DELETE FROM friends WHERE account = ? AND address = ?", [account.blob, address])
        if db.changesCount > 0 { try Self.markAccounts(db) }
      }
    }
  }

  private func replaceFriend(
    _ before: FriendRecord?, _ account: [UInt8], _ address: String, by after: FriendRecord, _ db: Database
  ) throws -> Bool {
    guard after.isOf(account, address) else { throw StoreError.invalid("another friend") }
    guard after != before else { return true }
    try after.check()
    return try storeFriend(after, for: before, db)
  }

  private func storeFriend(_ friend: FriendRecord, for known: FriendRecord?, _ db: Database) throws -> Bool {
    guard try storedAccount(friend.account, db) != nil else { throw StoreError.notFound("the account") }
    if let peer = friend.peer, try !isPeer(peer, db) { throw StoreError.unknownRecipient(peer) }
    let others = try Int.fetchOne(
      db, sql: "SELECT count(*) FROM friends WHERE account = ? AND address <> ?",
      arguments: [friend.account.blob, friend.address])
    guard others ?? 0 < FriendRecord.limit else { return false }
    try putFriend(friend, db)
    // That friends come and go matters to nobody who looks at marks.
    var before = known
    before?.presence = friend.presence
    before?.presenceAt = friend.presenceAt
    if before != friend { try Self.markAccounts(db) }
    return true
  }

  // MARK: - Addresses of peers

  /// The address at which a peer can be had by an account, or nil.
  package func peerAddress(_ peer: Digest) throws(StoreError) -> String? {
    try readOne { db in
      let row = try db.row("SELECT peer, sealed FROM peer_addresses WHERE peer = ?", [peer.blob])
      guard let row else { return nil }
      let found = try self.decodeAddress(row)
      guard found.peer == peer else { throw StoreError.damaged("the table of addresses") }
      return found.address
    }
  }

  /// The addresses of all peers that have one. Damaged ones are left out.
  package func peerAddresses() throws(StoreError) -> [Digest: String] {
    try read { db in
      let found = try db.rows("SELECT peer, sealed FROM peer_addresses").compactMap {
        try unlessDamaged(try self.decodeAddress($0))
      }
      return Dictionary(found.map { ($0.peer, $0.address) }) { $1 }
    }
  }

  /// Notes at which address a peer can be had, or that there is none. Throws ``StoreError/unknownRecipient(_:)`` if it is no peer.
  package func setPeerAddress(_ peer: Digest, _ address: String?) throws(StoreError) {
    var sealed: [UInt8]?
    if let address {
      let text = try checkedText(address, "an address", limit: AccountRecord.addressByteLimit)
      guard !text.isEmpty else { throw .invalid("an address") }
      sealed = try sealedText(text, RecordName(table: Self.addressTable, row: peer.bytes))
    }
    try write { db in
      guard let sealed else { return try self.forgetAddress(ofPeer: peer, db) }
      guard try self.isPeer(peer, db) else { throw StoreError.unknownRecipient(peer) }
      try db.put(into: "peer_addresses", key: "peer", ["sealed"], [peer.blob, sealed.blob])
      try Self.markAccounts(db)
    }
  }

  /// Friends of a removed peer stay friends, but are nobody here any more.
  func forgetAddress(ofPeer peer: Digest, _ db: Database) throws {
    try db.run("DELETE FROM peer_addresses WHERE peer = ?", [peer.blob])
    var hasChanged = db.changesCount > 0
    for var friend in try soundFriends(db) where friend.peer == peer {
      friend.peer = nil
      try putFriend(friend, db)
      hasChanged = true
    }
    if hasChanged { try Self.markAccounts(db) }
  }

  /// Forgets at which addresses those peers can be had who are friends of an account under them, unless another account knows them so, too.
  func forgetAddresses(ofFriends account: [UInt8], _ db: Database) throws {
    var (mine, others): (Set<PeerPlace>, Set<PeerPlace>) = ([], [])
    for friend in try soundFriends(db) {
      guard let peer = friend.peer else { continue }
      let place = PeerPlace(peer: peer, address: friend.address)
      if friend.account == account { mine.insert(place) } else { others.insert(place) }
    }
    for place in mine.subtracting(others) {
      guard let row = try db.row("SELECT peer, sealed FROM peer_addresses WHERE peer = ?", [place.peer.blob])
      else { continue }
      // What is damaged may as well go.
      if let known = try unlessDamaged(try decodeAddress(row)), known.address != place.address { continue }
      try db.run("DELETE FROM peer_addresses WHERE peer = ?", [place.peer.blob])
    }
  }

  private struct PeerPlace: Hashable {
    let peer: Digest
    let address: String
  }

  // MARK: - Rows

  private func decodeAddress(_ row: Row) throws(StoreError) -> (peer: Digest, address: String) {
    let columns = StoredRow(row: row, what: "the address of a peer")
    let peer = try columns.digest("peer")
    let name = RecordName(table: Self.addressTable, row: peer.bytes)
    return (peer, try openText(try columns.bytes("sealed"), name, AccountRecord.addressByteLimit, columns.what))
  }

  private func decodeFriend(_ row: Row) throws(StoreError) -> FriendRecord {
    let columns = StoredRow(row: row, what: "a friend")
    let account = try columns.bytes("account", count: AccountRecord.idByteCount)
    let address = try columns.text("address")
    let friend: FriendRecord = try keys.open(
      columns, Self.friendName(account, address), limit: FriendRecord.byteLimit)
    guard friend.isOf(account, address) else { throw .damaged(columns.what) }
    return friend
  }

  private func putFriend(_ friend: FriendRecord, _ db: Database) throws {
    let sealed = try keys.seal(friend, Self.friendName(friend.account, friend.address), what: "a friend")
    try db.put(
      into: "friends", key: "account, address", ["sealed"], [friend.account.blob, friend.address, sealed.blob])
  }

  /// Accounts have ids of one length.
  private static func friendName(_ account: [UInt8], _ address: String) -> RecordName {
    RecordName(table: friendTable, row: account + Array(address.utf8))
  }
}

/// Single texts that are sealed.
extension VaultDatabase {
  func sealedText(_ text: String, _ name: RecordName) throws(StoreError) -> [UInt8] {
    try keys.seal(
      try withSodium(try SecretBytes(copying: Array(text.utf8).span.bytes)), name)
  }

  func openText(_ sealed: [UInt8], _ name: RecordName, _ limit: Int, _ what: String) throws(StoreError) -> String {
    let opened = try keys.open(sealed, name, what: what)
    guard opened.count <= limit, let text = opened.withUnsafeBytes({ String(validating: $0, as: UTF8.self) }),
      !text.utf8.contains(0)
    else { throw .damaged(what) }
    return text
  }
}
