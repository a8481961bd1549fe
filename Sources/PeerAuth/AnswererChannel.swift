package import Sodium
package import WireCodec

/// What an answerer hears and speaks through: a session, or the messages of a parcel and the answers that go into another.
package protocol AnswererChannel: Sendable {
  /// What proofs are bound to: a session's handshake hash, or a parcel's binding.
  var handshakeHash: Digest { get }
  /// Sends a message of `count` bytes, which `body` writes.
  nonisolated(nonsending) func send(
    type: UInt16, count: Int, body: (inout Writer) throws(WireError) -> Void
  ) async throws(SessionError)
  /// The next message, or the goodbye behind the last. `limit` gives the most bytes that a message of a type may have.
  func receive(limit: @Sendable (UInt16) -> Int?) async throws(SessionError) -> ReceivedMessage
  func close() async
  /// Ends the conversation behind the other side's goodbye, when the last answers have arrived.
  func closeBehindPeer() async
}

extension PeerSession: AnswererChannel {}
