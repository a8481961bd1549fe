import VaultProtocol

/// Asking another holder for newer cards of those who hold the same secret.
struct CardExchange: Sendable {
  /// What this device has, to be asked under this number.
  let request: @Sendable (UInt64) -> CardRequest?
  let take: @Sendable ([HolderCard]) -> Void
}
