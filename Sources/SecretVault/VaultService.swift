package import PeerAuth

/// Everything that a command can ask of a vault, in process today and through an agent later.
///
/// Implementations make all decisions; callers only parse arguments and render results. Names of peers and
/// references to secrets are what the user typed: a secret is named by its id, a unique prefix of it, or its description.
package protocol VaultService: Sendable {
  /// This device's card, fingerprint and texts.
  func ownIdentity() throws(VaultError) -> OwnIdentity
  /// Publishes other addresses in this device's card; takes effect for peers at their next session.
  func setOwnAddresses(_ addresses: [PeerAddress]) throws(VaultError) -> OwnIdentity

  /// Trusts a scanned card, or updates label and addresses of one with the same keys. `name` overrides the card's label; `deviceOf` names
  /// the peer whose user has this device too.
  func addPeer(_ card: PeerCard, name: String?, deviceOf: String?) throws(VaultError) -> PeerAddition
  /// All peers by name.
  func peers() throws(VaultError) -> [PeerSummary]
  /// One peer by name, fingerprint prefix or card digest prefix.
  func peer(_ reference: String) throws(VaultError) -> PeerSummary
  /// Gives a peer another local name.
  func renamePeer(_ reference: String, to name: String) throws(VaultError) -> PeerSummary
  /// Says where a peer listens.
  func setPeerAddresses(_ reference: String, to addresses: [PeerAddress]) throws(VaultError) -> PeerSummary
  /// Ends the trust in a peer and destroys what waits for it.
  func removePeer(_ reference: String) throws(VaultError) -> PeerRemoval
  /// Opens a session and says how it went.
  func pingPeer(_ reference: String) async throws(VaultError) -> PingReport

  /// All secrets that this device holds a share of or has dealt, newest first.
  func secrets() throws(VaultError) -> [SecretSummary]
  /// The same, packed: for lists of very many.
  func secretList() throws(VaultError) -> SecretList
  /// One secret with everything known about it.
  func secret(_ reference: String) throws(VaultError) -> SecretDetails
  /// Splits and hands out a file.
  func share(
    _ request: ShareRequest, events: @escaping @Sendable (ShareEvent) -> Void
  ) async throws(VaultError) -> ShareReport
  /// Delivers what still waits, of one secret or of all.
  func retry(
    _ reference: String?, events: @escaping @Sendable (ShareEvent) -> Void
  ) async throws(VaultError) -> [ShareReport]
  /// Collects shares, rebuilds the file and writes it. `reference` nil takes the only secret there is. A secret that has a
  /// password too asks `passwords` for it, once all shares are in.
  func recover(
    _ reference: String?, to destination: RecoveryDestination, passwords: @escaping PasswordSource,
    events: @escaping @Sendable (RecoveryEvent) -> Void
  ) async throws(VaultError) -> RecoveryReport
  /// The same into secret memory, for what is to be shown or used and not written; at most `limit` bytes of body.
  func recoverContent(
    _ reference: String?, limit: Int, passwords: @escaping PasswordSource,
    events: @escaping @Sendable (RecoveryEvent) -> Void
  ) async throws(VaultError) -> RecoveredContent
  /// What deleting this device's share would mean, without doing it.
  func consequenceOfDeleting(_ reference: String) throws(VaultError) -> DeletionConsequence
  /// Deletes this device's share for good and leaves a tombstone.
  func delete(_ reference: String) throws(VaultError) -> DeletionConsequence
  /// Asks the holders of one secret, or of all, whether they could help to recover it now; releases nothing.
  func check(
    _ reference: String?, pieces: Int, events: @escaping @Sendable (CheckEvent) -> Void
  ) async throws(VaultError) -> [CheckReport]
  /// Where this device stands: itself, its daemon, peers, secrets and what waits. Asks nobody.
  func status() throws(VaultError) -> VaultStatus
  /// What happened here, newest first.
  func log(limit: Int) throws(VaultError) -> [LogEntry]

  /// What peers want and the user decides about, and what was decided, oldest first.
  func requests() throws(VaultError) -> [VaultRequest]
  /// Says yes to a request; to a release for so many milliseconds.
  func approveRequest(_ id: Int64, for time: Int64?) async throws(VaultError) -> VaultRequest
  /// Says no to a request; to a release for so many milliseconds.
  func refuseRequest(_ id: Int64, for time: Int64?) throws(VaultError) -> VaultRequest
  /// How a secret's share is released.
  func releasePolicy(of reference: String) throws(VaultError) -> SecretPolicy
  /// Gives a secret a policy of its own, or with nil that of the setting.
  func setReleasePolicy(_ policy: ReleasePolicy?, of reference: String) throws(VaultError) -> SecretPolicy

  /// All settings with their values and explanations, in a fixed order.
  func settings() throws(VaultError) -> [Setting]
  /// Changes a setting; an empty value restores the default.
  func set(_ key: String, to value: String) throws(VaultError) -> Setting
}
