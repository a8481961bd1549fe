import GRDB
package import Sodium
package import VaultProtocol

/// Accounts on servers that pass messages on: few, and sealed whole.
extension VaultDatabase {
  private static let accountTable = "accounts"
  private static let markKey = "accounts"

  /// All accounts, by address. Damaged ones are left out: they take neither the others along nor what goes by other ways.
  package func accounts() throws(StoreError) -> [AccountRecord] {
    try read { db in try self.storedAccounts(db) }
  }

  package func damagedAccountCount() throws(StoreError) -> Int {
    try readOne { db in try self.damagedAccounts(db).count }
  }

  /// Forgets all accounts that don't verify, with whatever belongs to them. Returns how many there were.
  @discardableResult
  package func removeDamagedAccounts() throws(StoreError) -> Int {
    let count = try write { db in
      let damaged = try self.damagedAccounts(db)
      if !damaged.isEmpty { try self.expectOwnVersion(db) }
      for id in damaged { _ = try self.deleteAccount(id, db) }
      if !damaged.isEmpty { try Self.markAccounts(db) }
      return damaged.count
    }
    if count > 0 { emptyLog() }
    return count
  }

  package func currentAccount() throws(StoreError) -> AccountRecord? {
    try accounts().first(where: \.isCurrent)
  }

  /// Stores an account, a new one or a changed one. If it is the one in use, no other is, from the same moment. The address of an
  /// account can't change. Throws ``StoreError/alreadyExists(_:)`` if there is another one with its address.
  package func setAccount(_ record: AccountRecord) throws(StoreError) {
    try record.check()
    try write { db in try self.storeAccount(record, db) }
  }

  private func storeAccount(_ record: AccountRecord, _ db: Database) throws {
    var others = try storedAccounts(db)
    if let place = others.firstIndex(where: { $0.id == record.id }) {
      guard others[place].address == record.address else { throw StoreError.invalid("another account") }
      others.remove(at: place)
    }
    guard !others.contains(where: { $0.address == record.address }) else {
      throw StoreError.alreadyExists("the account \(record.address)")
    }
    guard others.count < AccountRecord.limit else { throw StoreError.invalid("one more account") }
    if record.isCurrent {
      for var other in others where other.isCurrent {
        other.isCurrent = false
        try putAccount(other, db)
      }
    }
    try putAccount(record, db)
    try Self.markAccounts(db)
  }

  /// Puts an account in use, with its password if there is a new one, in one transaction: whoever finds it in use finds its
  /// password. Of one that is known, its place may be new with a new password; all else that others have noted of it meanwhile stays. Throws
  /// ``StoreError/notFound(_:)`` if it has gone, and comes without a password.
  package func useAccount(_ account: AccountRecord, password: HeldSecret?) throws(StoreError) {
    try account.check()
    var sealed: [UInt8]?
    if let password { sealed = try sealedPassword(password.bytes, of: account.id) }
    let secret = sealed
    try write { db in
      var record = account
      record.isCurrent = true
      if let known = try self.storedAccount(account.id, db) {
        if secret == nil { record = known }
        record.isCurrent = true
        (record.resource, record.archivedTo) = (known.resource, known.archivedTo)
      } else if secret == nil {
        throw StoreError.notFound("the account")
      }
      try self.storeAccount(record, db)
      if let secret { try Self.putPassword(secret, of: account.id, db) }
    }
    if secret != nil { emptyLog() }
  }

  /// Ends the use of an account and forgets its password, in one transaction. Throws ``StoreError/notFound(_:)`` if there is no such account.
  package func endAccount(_ id: [UInt8]) throws(StoreError) {
    try write { db in
      guard var record = try self.storedAccount(id, db) else { throw StoreError.notFound("the account") }
      record.isCurrent = false
      try self.putAccount(record, db)
      try db.run("UPDATE accounts SET secret = NULL WHERE id = ?", [id.blob])
      try Self.markAccounts(db)
    }
    emptyLog()
  }

  /// Changes an account in one transaction: `change` sees what is stored. False if there is none.
  @discardableResult
  package func updateAccount(_ id: [UInt8], _ change: (inout AccountRecord) -> Void) throws(StoreError) -> Bool {
    try write { db in
      guard let before = try self.storedAccount(id, db) else { return false }
      var after = before
      change(&after)
      guard after.id == before.id, after.address == before.address, after.isCurrent == before.isCurrent else {
        throw StoreError.invalid("another account")
      }
      guard after != before else { return true }
      try after.check()
      try self.putAccount(after, db)
      // How far the archive was read changes with each message, and matters to nobody else.
      var same = before
      same.archivedTo = after.archivedTo
      if same != after { try Self.markAccounts(db) }
      return true
    }
  }

  /// Forgets an account, its password, its friends, the addresses of those friends who are peers, and its plain messages. A damaged
  /// one, too. False if there is none.
  @discardableResult
  package func removeAccount(_ id: [UInt8]) throws(StoreError) -> Bool {
    let isGone = try write { db in
      let isGone = try self.deleteAccount(id, db)
      try Self.markAccounts(db)
      return isGone
    }
    emptyLog()
    return isGone
  }

  private func deleteAccount(_ id: [UInt8], _ db: Database) throws -> Bool {
    try forgetAddresses(ofFriends: id, db)
    for table in ["friends", "message_parts", "messages", "removed_messages"] {
      let condition =
        table == "message_parts" ? "number IN (SELECT number FROM messages WHERE account = ?)" : "account = ?"
      try db.run("DELETE FROM \(table) WHERE \(condition)", [id.blob])
    }
    try Self.forgetTraffic(id, db)
    return try db.changes("DELETE FROM accounts WHERE id = ?", [id.blob])
  }

  // MARK: - Passwords

  package func accountPassword(_ id: [UInt8]) throws(StoreError) -> HeldSecret? {
    let sealed = try readOne { db -> [UInt8]? in
      guard let row = try db.row("SELECT secret FROM accounts WHERE id = ?", [id.blob]) else { return nil }
      return try StoredRow(row: row, what: "an account").optionalBytes("secret")
    }
    guard let sealed else { return nil }
    return HeldSecret(try keys.open(sealed, Self.passwordName(id), what: "the password of an account"))
  }

  /// Stores the password of an account. Throws ``StoreError/notFound(_:)`` if there is no such account.
  package func setAccountPassword(_ id: [UInt8], _ password: borrowing SecretBytes) throws(StoreError) {
    let sealed = try sealedPassword(password, of: id)
    try write { db in
      try Self.putPassword(sealed, of: id, db)
      try Self.markAccounts(db)
    }
    emptyLog()
  }

  private func sealedPassword(_ password: borrowing SecretBytes, of id: [UInt8]) throws(StoreError) -> [UInt8] {
    guard password.count <= 1024 else { throw .invalid("a password") }
    return try keys.seal(password, Self.passwordName(id))
  }

  private static func putPassword(_ sealed: [UInt8], of id: [UInt8], _ db: Database) throws {
    guard try db.changes("UPDATE accounts SET secret = ? WHERE id = ?", [sealed.blob, id.blob]) else {
      throw StoreError.notFound("the account")
    }
  }

  private static func passwordName(_ id: [UInt8]) -> RecordName { RecordName(table: "accounts.secret", row: id) }

  // MARK: - Marks

  /// A number that is another one whenever accounts, passwords, friends or addresses of peers have changed, in this process or another. A hint.
  package func accountMark() throws(StoreError) -> UInt64 { try readOne { db in try Self.accountMark(db) } }

  private static func accountMark(_ db: Database) throws -> UInt64 {
    number(of: try (Meta.value(markKey, db) ?? []).prefix(8))
  }

  static func markAccounts(_ db: Database) throws {
    try Meta.set(markKey, to: bytes(of: accountMark(db) &+ 1), db)
  }

  // MARK: - Rows

  func storedAccount(_ id: [UInt8], _ db: Database) throws -> AccountRecord? {
    guard let row = try db.row("SELECT id, sealed FROM accounts WHERE id = ?", [id.blob]) else { return nil }
    let account = try decodeAccount(row)
    guard account.id == id else { throw StoreError.damaged("the table of accounts") }
    return account
  }

  private func storedAccounts(_ db: Database) throws -> [AccountRecord] {
    try db.rows("SELECT id, sealed FROM accounts").compactMap { try unlessDamaged(try decodeAccount($0)) }
      .sorted { ($0.address, hexadecimal($0.id)) < ($1.address, hexadecimal($1.id)) }
  }

  private func damagedAccounts(_ db: Database) throws -> [[UInt8]] {
    try db.rows("SELECT id, sealed FROM accounts").filter { try unlessDamaged(try decodeAccount($0)) == nil }
      .map { try StoredRow(row: $0, what: "an account").bytes("id") }
  }

  private func decodeAccount(_ row: Row) throws(StoreError) -> AccountRecord {
    let columns = StoredRow(row: row, what: "an account")
    let id = try columns.bytes("id", count: AccountRecord.idByteCount)
    let name = RecordName(table: Self.accountTable, row: id)
    let account: AccountRecord = try keys.open(columns, name, limit: AccountRecord.byteLimit)
    guard account.id == id else { throw .damaged(columns.what) }
    return account
  }

  private func putAccount(_ account: AccountRecord, _ db: Database) throws {
    let sealed = try keys.seal(account, RecordName(table: Self.accountTable, row: account.id), what: "an account")
    try db.put(into: "accounts", key: "id", ["sealed"], [account.id.blob, sealed.blob])
  }
}
