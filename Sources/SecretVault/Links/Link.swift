/// How bytes reach a peer. The ``Recipient`` has what it takes to find one, the ``VaultEnvironment`` what opens byte streams.
protocol Link: Sendable {
  func leads(to recipient: Recipient) -> Bool
  /// Why so many bytes of a fragment aren't sent by it; nil if they may be.
  func refusal(of byteCount: UInt64, to recipient: Recipient) -> LinkFailure?
  func open(_ opening: Opening) async throws(LinkFailure) -> Conversation
}

extension [any Link] {
  /// In the order in which they are begun, each a little later: a peer that answers at its address need not be looked for, and one on the same
  /// network costs no radio.
  static let all: [any Link] = [NetworkLink(), LocalLink(), BluetoothLink()]
}
