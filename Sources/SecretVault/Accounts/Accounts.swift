package import VaultProtocol
package import VaultStore

/// The account at a chat server, and peers' account addresses. Callers normalise addresses.
package final class Accounts: Room {
  package let core: VaultCore
  let directory: Directory

  init(_ core: VaultCore, _ directory: Directory) {
    self.core = core
    self.directory = directory
  }

  /// All accounts that were ever used here.
  package func accountRecords() throws -> [AccountRecord] {
    try database.accounts()
  }

  package func currentAccount() throws -> AccountRecord? {
    try accountRecords().first { $0.isCurrent }
  }

  /// Messages carry it, so that they can be answered the same way.
  func currentAccountAddress() throws -> String? { try currentAccount()?.address }

  package func accountRecord(_ address: String) throws -> AccountRecord? {
    try accountRecords().first { $0.address == address }
  }

  /// Nil keeps the password. What is noted of a known account stays.
  package func useAccount(_ account: AccountRecord, password: HeldSecret?) throws {
    try database.useAccount(account, password: password)
  }

  /// Replaces an account's password, if the account is still here.
  package func keepAccountPassword(_ id: [UInt8], _ password: HeldSecret) throws {
    try database.setAccountPassword(id, password.bytes)
  }

  /// Changes this device's resource at the account's server.
  package func renameDevice(of account: [UInt8], to resource: String) throws {
    _ = try database.updateAccount(account) { $0.resource = resource }
  }

  /// Nil if the account is logged out.
  package func accountPassword(_ id: [UInt8]) throws -> HeldSecret? {
    try database.accountPassword(id)
  }

  /// Logs an account out and forgets its password. Its friends and messages stay.
  package func endAccount(_ account: AccountRecord) throws {
    try database.endAccount(account.id)
    try noteAccountConnection(nil, of: account.id)
  }

  /// Removes an account and all that came by it except sealed messages.
  package func forgetAccount(_ account: AccountRecord) throws {
    try noteAccountConnection(nil, of: account.id)
    _ = try database.removeAccount(account.id)
  }

  /// Accounts whose rows are damaged.
  package func damagedAccountCount() throws -> Int {
    try database.damagedAccountCount()
  }

  /// Removes damaged accounts with all that is left of them. Returns how many there were.
  package func forgetDamagedAccounts() throws -> Int {
    try database.removeDamagedAccounts()
  }

  /// Unsent plain messages of an account, at most 1000.
  package func unsentPlainCount(_ account: [UInt8]) throws -> Int {
    try database.messages(MessageFilter(account: account, direction: .sent, states: [.waiting], limit: 1000)).count
  }

  package func noteArchive(of account: [UInt8], to place: String) throws {
    _ = try database.updateAccount(account) { $0.archivedTo = place }
  }

  /// Changes whenever a program changes an account, its password or its contacts.
  package func accountMark() throws -> UInt64 {
    try database.accountMark()
  }

  /// Whether a command has to serve the account itself: one is in use, no daemon runs, and servers are allowed.
  package func needsAccountRound() throws -> Bool {
    guard !leavesServersOut(), try currentAccount() != nil else { return false }
    return try isWithoutDaemon()
  }

  /// Whether the setting `pigeons-only` is on, or can't be read.
  package func leavesServersOut() -> Bool { core.verifiedSetting(.pigeonsOnly) != SettingKey.off }

  /// Nil if nothing has gone or come by this account.
  package func accountTraffic(_ id: [UInt8]) throws -> AccountTraffic? {
    try database.accountTraffic(id)
  }

  /// `passed` are the new marks of counted texts that weren't kept; nil leaves the old ones.
  package func addAccountTraffic(_ id: [UInt8], _ more: AccountTraffic, passed: [UInt64]? = nil) throws {
    guard !more.isNothing || passed != nil else { return }
    try database.addAccountTraffic(id, more, passed: passed)
  }

  /// Marks of counted texts that weren't kept, the latest last.
  package func passedTexts(_ id: [UInt8]) throws -> [UInt64] {
    try database.passedTexts(id)
  }
}
