import VaultStore

/// How the daemon last found the account's connection, as it is noted for commands.
package struct AccountConnection: Hashable, Sendable {
  /// What it is, or why there is none.
  package enum State: String, Hashable, Sendable, CaseIterable {
    case connected
    /// The server, or the network, isn't there.
    case unreachable
    /// The account doesn't exist, or has another password.
    case wrongPassword = "wrong-password"
    /// The server's certificate isn't trusted, or it doesn't encrypt.
    case untrusted
    /// The server doesn't want this connection, or speaks something else.
    case refused
  }

  package let account: [UInt8]
  package let state: State
  /// Since when, in milliseconds since 1970.
  package let since: Int64

  /// Facts to be noted.
  package init(account: [UInt8], state: State, since: Int64) {
    self.account = account
    self.state = state
    self.since = since
  }
}

/// As it is kept: the account's id, 16 bytes; the time, 8 bytes; the state's word.
extension AccountConnection {
  var encoded: [UInt8] {
    account + (0..<8).map { UInt8(truncatingIfNeeded: since >> (56 - 8 * Int64($0))) } + Array(state.rawValue.utf8)
  }

  init?(_ bytes: [UInt8]) {
    guard (25...64).contains(bytes.count), let state = State(rawValue: String(decoding: bytes[24...], as: UTF8.self))
    else { return nil }
    self.init(
      account: Array(bytes[..<16]), state: state, since: bytes[16..<24].reduce(0) { $0 << 8 | Int64($1) })
  }
}

extension Accounts {
  private static let connectionKey = "account-connection"

  /// How the account's connection stands, if a daemon has it; what a daemon has left that doesn't run any more counts for nothing.
  package func accountConnection() throws -> AccountConnection? {
    guard try !isWithoutDaemon() else { return nil }
    let bytes = try database.meta(Self.connectionKey)
    return bytes.flatMap { AccountConnection($0) }
  }

  /// Notes how a connection stands; nil: there is nothing to say of this account any more.
  package func noteAccountConnection(_ state: AccountConnection.State?, of account: [UInt8]) throws {
    let known = try database.meta(Self.connectionKey).flatMap { AccountConnection($0) }
    if let state {
      guard known?.account != account || known?.state != state else { return }
      let now = AccountConnection(account: account, state: state, since: environment.now())
      try database.setMeta(Self.connectionKey, to: now.encoded)
    } else if known?.account == account {
      try database.setMeta(Self.connectionKey, to: [])
    }
  }

  func isWithoutDaemon() throws -> Bool {
    try DaemonLock.running(folders) == nil
  }
}
