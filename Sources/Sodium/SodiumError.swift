/// What can go wrong below the domain: a refused argument, a failed check, or a machine that has no memory left.
public enum SodiumError: Error, Hashable, Sendable {
  /// libsodium could not be initialised (no source of randomness, for example).
  case unavailable
  /// Guarded memory for a secret could not be allocated.
  case outOfSecretMemory
  /// A key, nonce, point or signature has the wrong number of bytes.
  case invalidLength(expected: Int, actual: Int)
  /// A point is not a canonical encoding, or is the identity where that is not allowed.
  case invalidPoint
  /// A scalar is not smaller than the group order.
  case nonCanonicalScalar
  /// An X25519 public key is of small order: the shared secret would be the same for everybody.
  case smallOrderKey
  /// A signature, tag or sealed box does not open under the given key.
  case verificationFailed
  /// Password hashing parameters outside what this program accepts; refused before any memory was taken.
  case parametersRefused
}
