package import VaultProtocol
package import VaultStore

/// The account at a chat server, and at which addresses peers have theirs.
///
/// What the part that talks to XMPP servers needs of a vault. Addresses are in their one normal form here: whoever calls sees to that.
package final class Accounts: Room {
  package let core: VaultCore
  let directory: Directory

  init(_ core: VaultCore, _ directory: Directory) {
    self.core = core
    self.directory = directory
  }

  /// All accounts that have been used here, the one in use or not.
  package func accountRecords() throws -> [AccountRecord] {
    try database.accounts()
  }

  /// The account in use; nil if none is.
  package func currentAccount() throws -> AccountRecord? {
    try accountRecords().first { $0.isCurrent }
  }

  /// The address of the account in use, which messages carry so that they can be answered the same way.
  package func currentAccountAddress() throws -> String? { try currentAccount()?.address }

  package func accountRecord(_ address: String) throws -> AccountRecord? {
    try accountRecords().first { $0.address == address }
  }

  /// Puts an account in use, with its password if there is a new one. What others have noted of one that is known stays.
  package func useAccount(_ account: AccountRecord, password: HeldSecret?) throws {
    try database.useAccount(account, password: password)
  }

  /// Keeps another password of an account, if that is still here.
  package func keepAccountPassword(_ id: [UInt8], _ password: HeldSecret) throws {
    try database.setAccountPassword(id, password.bytes)
  }

  /// Calls this device something else at the server of an account.
  package func renameDevice(of account: [UInt8], to resource: String) throws {
    _ = try database.updateAccount(account) { $0.resource = resource }
  }

  /// The password of an account; nil if it is logged out.
  package func accountPassword(_ id: [UInt8]) throws -> HeldSecret? {
    try database.accountPassword(id)
  }

  /// Logs an account out: it isn't used any more, and its password is forgotten. Its friends and messages stay.
  package func endAccount(_ account: AccountRecord) throws {
    try database.endAccount(account.id)
    try noteAccountConnection(nil, of: account.id)
  }

  /// Removes an account with all that came by it but what was sealed.
  package func forgetAccount(_ account: AccountRecord) throws {
    try noteAccountConnection(nil, of: account.id)
    _ = try database.removeAccount(account.id)
  }

  /// How many accounts can't be read any more, because their rows are damaged.
  package func damagedAccountCount() throws -> Int {
    try database.damagedAccountCount()
  }

  /// Removes the accounts that can't be read any more, with whatever is left of them. Returns how many there were.
  package func forgetDamagedAccounts() throws -> Int {
    try database.removeDamagedAccounts()
  }

  /// How many plain messages of an account haven't been sent yet; nobody counts more than a thousand.
  package func unsentPlainCount(_ account: [UInt8]) throws -> Int {
    try database.messages(MessageFilter(account: account, direction: .sent, states: [.waiting], limit: 1000)).count
  }

  /// Notes up to where an account's archive was read.
  package func noteArchive(of account: [UInt8], to place: String) throws {
    _ = try database.updateAccount(account) { $0.archivedTo = place }
  }

  /// A number that is another one whenever an account, its password or its contacts have changed, by whichever program.
  package func accountMark() throws -> UInt64 {
    try database.accountMark()
  }

  /// Whether a command should see to the account by itself: one is in use, no daemon runs, and servers aren't left out.
  package func needsAccountRound() throws -> Bool {
    guard !leavesServersOut(), try currentAccount() != nil else { return false }
    return try isWithoutDaemon()
  }

  /// Whether the setting `pigeons-only` is on. Settings that can't be read make nothing public.
  package func leavesServersOut() -> Bool { core.verifiedSetting(.pigeonsOnly) != SettingKey.off }

  /// What has gone and come by an account from this device; nil if nothing has.
  package func accountTraffic(_ id: [UInt8]) throws -> AccountTraffic? {
    try database.accountTraffic(id)
  }

  /// Counts what has gone and come by an account, and with it keeps the marks of texts that weren't kept, if there are new ones.
  package func addAccountTraffic(
    _ id: [UInt8], _ more: AccountTraffic, passed: [UInt64]? = nil
  ) throws {
    guard !more.isNothing || passed != nil else { return }
    try database.addAccountTraffic(id, more, passed: passed)
  }

  /// Marks of an account's texts that weren't kept and are counted, the latest last.
  package func passedTexts(_ id: [UInt8]) throws -> [UInt64] {
    try database.passedTexts(id)
  }
}
