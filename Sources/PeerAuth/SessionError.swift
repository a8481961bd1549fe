import Concurrency
public import Sodium
public import WireCodec

/// Why a session did not come about, or ended. After any of them the transport is closed.
public enum SessionError: Error, Sendable, Hashable {
  /// The stream failed. A cancelled task sees `.transport(.closed)`.
  case transport(TransportError)
  /// A Noise message is wrong: other keys than expected, or changed bytes.
  case handshakeFailed
  /// The answerer has not imported the dialler's card, and says so.
  case refusedUnknownKey
  /// The answerer's user has put another card in the place of the dialler's, and it says so.
  case refusedReplaced
  /// The dialler's key is nobody's whom the answerer trusts.
  case unknownPeer
  /// The peer could not show that it holds all three keys of its card.
  case cardProofFailed
  /// The peer's card has other keys, no valid signature, or this side's own keys.
  case wrongCard
  /// A frame or message is not in its one form.
  case malformed(WireError)
  /// A message is over its type's limit; its body was not taken.
  case messageTooLarge(type: UInt16, limit: Int)
  /// The stream ended without a goodbye.
  case cutOff
  /// A cipher has used its last nonce.
  case nonceExhausted
  /// A deadline passed.
  case timedOut
  /// The library or the memory failed.
  case sodium(SodiumError)

  init(_ error: NoiseError) {
    switch error {
    case .nonceExhausted: self = .nonceExhausted
    case .sodium(let error): self = .sodium(error)
    case .outOfTurn, .invalidLength, .verificationFailed, .smallOrderKey: self = .handshakeFailed
    }
  }

  init(_ error: TransportError) { self = error == .timedOut ? .timedOut : .transport(error) }
}

/// A step of the handshake: whatever goes wrong in it ends the session.
func step<Result: ~Copyable>(_ body: @autoclosure () throws(NoiseError) -> Result) throws(SessionError) -> Result {
  do throws(NoiseError) { return try body() } catch { throw SessionError(error) }
}

extension SessionError: DeadlineError {
  package static var deadlinePassed: SessionError { .timedOut }
}
