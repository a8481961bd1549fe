public import SecretVault
public import VaultStore

/// An account of this device.
public struct AccountSummary: Hashable, Sendable {
  /// Whether it is used.
  public enum State: String, Hashable, Sendable {
    /// It is the one in use.
    case current
    /// It is logged in, and another one is in use.
    case other
    /// Its password isn't kept.
    case loggedOut = "logged-out"
  }

  /// `local@domain`.
  public let address: String
  /// Whether it is used.
  public let state: State
  /// Where its server is, if that was said.
  public let host: String?
  /// The server's port, if that was said.
  public let port: Int?
  /// The file of certificates that are trusted for it, beside the system's.
  public let certificates: String?
  /// How its connection stands, as the daemon last noted it; nil where no daemon runs, or for an account that isn't in use.
  public let connection: AccountConnection?
  /// What has gone and come by it from this device; nil if nothing has.
  public let traffic: AccountTraffic?
}

/// A contact of the account in use.
public struct FriendSummary: Hashable, Sendable {
  /// `local@domain`.
  public let address: String
  /// The account's name for it.
  public let name: String?
  /// The peer whose account it is, if that is known: what is sent to it is sealed.
  public let peer: String?
  /// Who sees whether the other is there: `none`, `to`, `from` or `both`; `blocked`: it was removed.
  public let subscription: String
  /// It waits to be accepted here.
  public let asks: Bool
  /// Whether it is there, as the daemon last noted it: `available`, `chat`, `away`, `xa`, `dnd`; nil if it isn't, or nobody knows.
  public let presence: String?
}
