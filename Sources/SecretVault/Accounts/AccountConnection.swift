import VaultStore

/// How the daemon last found the account's connection, noted for commands.
package struct AccountConnection: Hashable, Sendable {
  package enum State: String, Hashable, Sendable, CaseIterable {
    case connected
    /// The server, or the network, isn't there.
    case unreachable
    /// The account doesn't exist, or has another password.
    case wrongPassword = "wrong-password"
    /// The server's certificate isn't trusted, or it doesn't encrypt.
    case untrusted
    /// The server refuses this connection, or speaks another protocol.
    case refused
  }

  package let account: [UInt8]
  package let state: State
  /// Since when, in milliseconds since 1970.
  package let since: Int64
}

/// Stored as the account's id (16 bytes), the time (8 bytes) and the state's word.
extension AccountConnection {
  var encoded: [UInt8] {
    account + since.bigEndianBytes + Array(state.rawValue.utf8)
  }

  init?(_ bytes: [UInt8]) {
    guard (25...64).contains(bytes.count), let state = State(rawValue: String(decoding: bytes[24...], as: UTF8.self))
    else { return nil }
    self.init(account: Array(bytes[..<16]), state: state, since: Int64(bigEndianBytes: bytes[16..<24]))
  }
}

extension Int64 {
  var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }

  init(bigEndianBytes bytes: some Sequence<UInt8>) { self = bytes.reduce(0) { $0 << 8 | Int64($1) } }
}

extension Accounts {
  private static let connectionKey = "account-connection"

  /// Nil unless a daemon runs: what an earlier one noted counts for nothing.
  package func accountConnection() throws -> AccountConnection? {
    guard try !isWithoutDaemon() else { return nil }
    return try database.meta(Self.connectionKey).flatMap { AccountConnection($0) }
  }

  /// Nil removes what was noted of this account.
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

  /// Whether no daemon is at work.
  package func isWithoutDaemon() throws -> Bool {
    // One that waits for the passphrase sees to nothing.
    try DaemonLock.running(folders).map { $0.facts?.locked == true } ?? true
  }
}
