import NetLink
package import SecretVault
import Sodium
package import VaultProtocol
import VaultStore
import XMPPRequests

/// The accounts of a vault at XMPP servers: what is sealed goes by them, and so do plain texts.
package struct VaultAccounts: Sendable {
  /// How long a command waits for a server.
  static let patience = Duration.seconds(20)

  let core: VaultCore
  let accounts: Accounts
  let messages: Messages

  package init(_ vault: Vault) {
    core = vault.core
    accounts = vault.accounts
    messages = vault.messages
  }

  /// Where an account's server is, if its address doesn't say so.
  package struct Place: Sendable {
    let host: String?
    let port: UInt16?
    let certificates: String?

    var isGiven: Bool { host != nil || port != nil || certificates != nil }

    /// `certificates` is a file of PEM certificates that are trusted beside the system's.
    package init(host: String? = nil, port: UInt16? = nil, certificates: String? = nil) {
      self.host = host
      self.port = port
      self.certificates = certificates
    }
  }

  // MARK: - Looking

  /// All accounts, by address. Asks nobody.
  package func list() throws -> [AccountSummary] {
    let connection = try accounts.accountConnection()
    return try accounts.accountRecords().map { record in try summary(record, connection) }
  }

  private func summary(_ record: AccountRecord, _ connection: AccountConnection?) throws -> AccountSummary {
    let state: AccountSummary.State =
      record.isCurrent ? .current : try accounts.accountPassword(record.id) == nil ? .loggedOut : .other
    return AccountSummary(
      address: record.address, state: state, host: record.host, port: record.port.map { Int($0) },
      certificates: record.certificates,
      connection: record.isCurrent ? connection.flatMap { $0.account == record.id ? $0 : nil } : nil,
      traffic: try accounts.accountTraffic(record.id))
  }

  /// The address of the account in use; that there is none is an error.
  package func current() throws -> String { try find(nil).address }

  func summary(_ address: String) throws -> AccountSummary {
    try summary(try find(address), try accounts.accountConnection())
  }

  /// The account of this address, or the one in use.
  func find(_ reference: String?) throws -> AccountRecord {
    guard let reference else {
      guard let current = try accounts.currentAccount() else {
        throw VaultError(.notFound, "no account is in use", hint: "log in with `vault account login ADDRESS`")
      }
      return current
    }
    let wanted = try address(reference).description
    guard let record = try accounts.accountRecord(wanted) else {
      throw VaultError(.notFound, "there is no account \(wanted) here", hint: "see `vault account list`")
    }
    return record
  }

  // MARK: - Logging in and out

  /// Makes an account at its server, and uses it.
  package func register(_ text: String, at place: Place, password: HeldSecret) async throws -> AccountSummary {
    let record = try record(text, at: place)
    try await said(record.address) { () throws(XMPPError) in
      let account = try record.place
      try await within(Self.patience, core.surroundings.sleep) { () throws(XMPPError) in
        try await NetHelper.shared.register(account, password: password.bytes)
      }
    }
    try accounts.useAccount(record, password: password)
    return try summary(record.address)
  }

  /// Uses an account from now on, once its server has taken the password.
  package func login(_ text: String, at place: Place, password: HeldSecret) async throws -> AccountSummary {
    let record = try record(text, at: place)
    try await connected(record, password) { (_) throws(XMPPError) in }
    try accounts.useAccount(record, password: password)
    return try summary(record.address)
  }

  /// What is known of an account already stays: its contacts, its messages, this device's name.
  private func record(_ text: String, at place: Place) throws -> AccountRecord {
    let wanted = try address(text).description
    if let certificates = place.certificates, !certificates.hasPrefix("/") {
      throw VaultError(.usage, "the file of certificates needs its whole path: \(certificates)")
    }
    if var known = try accounts.accountRecord(wanted) {
      // Where nothing is said, the server is where it was.
      if place.isGiven { (known.host, known.port, known.certificates) = (place.host, place.port, place.certificates) }
      known.isCurrent = true
      return known
    }
    let id: [UInt8]
    do { id = try Randomness.bytes(AccountRecord.idByteCount) } catch {
      throw VaultError(.other, "no random bytes: \(error)")
    }
    return AccountRecord(
      id: id, address: wanted, host: place.host, port: place.port, certificates: place.certificates,
      resource: AccountRecord.freshResource(), isCurrent: true)
  }

  /// Uses another account that is logged in.
  package func use(_ reference: String) throws -> AccountSummary {
    let record = try find(reference)
    guard try accounts.accountPassword(record.id) != nil else { throw Self.isLoggedOut(record) }
    try accounts.useAccount(record, password: nil)
    return try summary(record.address)
  }

  /// How many accounts can't be read any more, because what is stored of them is damaged.
  package func damagedCount() throws -> Int { try accounts.damagedAccountCount() }

  /// How many plain messages of an account haven't been sent yet; none of one that isn't found.
  package func unsentCount(_ reference: String?) throws -> Int {
    let record: AccountRecord
    do { record = try find(reference) } catch {
      guard VaultError(error).code == .notFound else { throw error }
      return 0
    }
    return try accounts.unsentPlainCount(record.id)
  }

  /// Ends the use of an account on this device; `forgets` also what came by it. Returns its address.
  package func logout(_ reference: String?, forgets: Bool) throws -> String {
    let record: AccountRecord
    do { record = try find(reference) } catch {
      // Whose a damaged one is nobody can read: it is the one that isn't found.
      guard forgets, let reference, VaultError(error).code == .notFound else { throw error }
      let count = try accounts.forgetDamagedAccounts()
      guard count > 0 else { throw error }
      return try address(reference).description
    }
    if forgets { try accounts.forgetAccount(record) } else { try accounts.endAccount(record) }
    return record.address
  }

  /// Throws unless an account's password can be changed, before somebody is asked for a new one.
  package func checkPasswordChange(_ reference: String?) throws {
    let record = try find(reference)
    guard try accounts.accountPassword(record.id) != nil else { throw Self.isLoggedOut(record) }
  }

  private static func isLoggedOut(_ record: AccountRecord) -> VaultError {
    VaultError(
      .refused, "\(record.address) is logged out",
      hint: "log in with `vault account login \(shellQuoted(record.address))`")
  }

  /// Gives an account another password, at its server and here.
  package func changePassword(_ reference: String?, to password: HeldSecret) async throws -> AccountSummary {
    let record = try find(reference)
    do {
      try await connected(record) { (connection) throws(XMPPError) in
        try await connection.changePassword(to: password.bytes)
      }
    } catch {
      guard VaultError(error).code == .unreachable else { throw error }
      throw VaultError(
        .unreachable, VaultError(error).reason,
        hint:
          "it may have taken the new password before: then log in with it, `vault account login \(shellQuoted(record.address))`"
      )
    }
    do { try accounts.keepAccountPassword(record.id, password) } catch {
      throw VaultError(
        VaultError(error).code,
        "the server has the new password, but it can't be kept here: \(VaultError(error).reason)",
        hint: "log in with it: `vault account login \(shellQuoted(record.address))`")
    }
    return try summary(record.address)
  }

  // MARK: - Connecting

  /// Connects beside a daemon that may be connected, too, without being seen by anybody.
  func connected<Value: Sendable>(
    _ record: AccountRecord, _ given: HeldSecret? = nil,
    _ body: @escaping @Sendable (XMPPConnection) async throws(XMPPError) -> Value
  ) async throws -> Value {
    let kept = given == nil ? try accounts.accountPassword(record.id) : nil
    guard let password = given ?? kept else { throw Self.isLoggedOut(record) }
    return try await said(record.address) { () throws(XMPPError) in
      let account = try record.place
      return try await within(Self.patience, core.surroundings.sleep) { () throws(XMPPError) in
        let connection = try await NetHelper.shared.connect(account, password: password.bytes)
        defer { connection.logout() }
        let value = try await body(connection)
        return value
      }
    }
  }
}
