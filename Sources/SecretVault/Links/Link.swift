/// A link: how bytes reach a peer. What it takes to find one by it is in the ``Recipient``, and who opens byte streams is handed in
/// by the ``VaultEnvironment``.
protocol Link: Sendable {
  /// Whether the peer may be reached by it.
  func leads(to recipient: Recipient) -> Bool
  /// Why so many bytes of a secret's part aren't sent to the peer by it; nil if they may be.
  func refusal(of byteCount: UInt64, to recipient: Recipient) -> LinkFailure?
  /// A session with the peer.
  func open(_ opening: Opening) async throws(LinkFailure) -> Conversation
}

extension [any Link] {
  /// All links, in the order in which they are begun, each a little later than the one before: a peer that answers on the network
  /// costs no radio.
  static let all: [any Link] = [NetworkLink(), BluetoothLink()]
}
