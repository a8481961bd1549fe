package import SecretVault
package import VaultStore

package struct AccountSummary: Hashable, Sendable {
  package enum State: String, Hashable, Sendable {
    case current
    /// It is logged in, and another one is in use.
    case other
    /// Its password isn't kept.
    case loggedOut = "logged-out"
  }

  /// `local@domain`.
  package let address: String
  package let state: State
  /// Where its server is, if that was said.
  package let host: String?
  package let port: Int?
  /// The file of certificates that are trusted for it, beside the system's.
  package let certificates: String?
  /// As the daemon last noted it; nil where no daemon runs, or for an account that isn't in use.
  package let connection: AccountConnection?
  /// What has gone and come by it from this device; nil if nothing has.
  package let traffic: AccountTraffic?
}

/// A contact of the account in use.
package struct FriendSummary: Hashable, Sendable {
  /// `local@domain`.
  package let address: String
  package let name: String?
  /// The peer whose account it is, if that is known: what is sent to it is sealed.
  package let peer: String?
  /// Who sees whether the other is there: `none`, `to`, `from` or `both`; `blocked`: it was removed.
  package let subscription: String
  /// It waits to be accepted here.
  package let asks: Bool
  /// As the daemon last noted it: `available`, `chat`, `away`, `xa`, `dnd`; nil if it isn't there, or nobody knows.
  package let presence: String?
}
