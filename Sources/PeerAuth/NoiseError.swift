package import Sodium

/// Why a Noise handshake or cipher refused.
package enum NoiseError: Error, Hashable, Sendable {
  /// A message was written or read out of turn, or after a failure.
  case outOfTurn
  /// The message is longer than 65535 bytes or shorter than its keys and tags.
  case invalidLength
  /// A tag is wrong: another key, another handshake, or a changed byte.
  case verificationFailed
  /// A Diffie–Hellman result is all zeros.
  case smallOrderKey
  /// A cipher has used its last nonce.
  case nonceExhausted
  /// The library or the memory failed.
  case sodium(SodiumError)

  init(_ error: SodiumError) {
    switch error {
    case .verificationFailed: self = .verificationFailed
    case .smallOrderKey: self = .smallOrderKey
    default: self = .sodium(error)
    }
  }
}

/// What the library's errors are called in Noise.
func noise<Result: ~Copyable>(_ body: @autoclosure () throws(SodiumError) -> Result) throws(NoiseError) -> Result {
  do throws(SodiumError) { return try body() } catch { throw NoiseError(error) }
}
