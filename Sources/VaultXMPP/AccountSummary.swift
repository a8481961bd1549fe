package import SecretVault
package import VaultStore

/// An account of this device.
package struct AccountSummary: Hashable, Sendable {
  /// Whether it is used.
  package enum State: String, Hashable, Sendable {
    /// It is the one in use.
    case current
    /// It is logged in, and another one is in use.
    case other
    /// Its password isn't kept.
    case loggedOut = "logged-out"
  }

  /// `local@domain`.
  package let address: String
  /// Whether it is used.
  package let state: State
  /// Where its server is, if that was said.
  package let host: String?
  /// The server's port, if that was said.
  package let port: Int?
  /// The file of certificates that are trusted for it, beside the system's.
  package let certificates: String?
  /// How its connection stands, as the daemon last noted it; nil where no daemon runs, or for an account that isn't in use.
  package let connection: AccountConnection?
  /// What has gone and come by it from this device; nil if nothing has.
  package let traffic: AccountTraffic?
}

/// A contact of the account in use.
package struct FriendSummary: Hashable, Sendable {
  /// `local@domain`.
  package let address: String
  /// The account's name for it.
  package let name: String?
  /// The peer whose account it is, if that is known: what is sent to it is sealed.
  package let peer: String?
  /// Who sees whether the other is there: `none`, `to`, `from` or `both`; `blocked`: it was removed.
  package let subscription: String
  /// It waits to be accepted here.
  package let asks: Bool
  /// Whether it is there, as the daemon last noted it: `available`, `chat`, `away`, `xa`, `dnd`; nil if it isn't, or nobody knows.
  package let presence: String?
}
