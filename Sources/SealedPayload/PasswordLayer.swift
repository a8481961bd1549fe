import Sodium

/// The optional second encryption under a password.
///
/// The password must be UTF-8 in Unicode normalisation form C, so that the same letters typed on another system give
/// the same key. Swift's standard library has no public normalisation, and a `String` can't hold a secret, so the caller
/// normalises (in the user interface, where the bytes come from).
public struct PasswordLayer: ~Copyable, Sendable {
  /// scrypt's cost when the user doesn't choose: N = 2^16, 64 MiB and about a fifth of a second.
  public static let defaultLogarithm = 16
  /// Bytes that the layer adds in front, besides the tags of its chunks.
  static let overhead = 1 + 1 + Scrypt.saltByteCount + Digest.byteCount

  let password: SecretBytes
  let logarithm: Int
  let salt: [UInt8]

  /// With a given salt, for walked examples only.
  init(password: consuming SecretBytes, logarithm: Int, salt: [UInt8]) throws(PayloadError) {
    guard Scrypt.acceptedLogarithms.contains(logarithm) else { throw .parametersRefused }
    guard password.count > 0 else { throw .emptyPassword }
    self.password = password
    self.logarithm = logarithm
    self.salt = salt
  }

  /// The key of the inner stream.
  func key() throws(PayloadError) -> SecretBytes {
    try Self.key(of: password, salt: salt, logarithm: logarithm)
  }

  static func key(
    of password: borrowing SecretBytes, salt: [UInt8], logarithm: Int
  ) throws(PayloadError) -> SecretBytes {
    guard Scrypt.acceptedLogarithms.contains(logarithm) else { throw .parametersRefused }
    return try sodium(Scrypt.deriveKey(password: password.bytes, salt: salt, logarithm: logarithm))
  }

  /// What binds the layer to one key: nobody can find two keys, hence two passwords, with the same commitment. Secret,
  /// because it lets whoever sees it try passwords.
  static func commitment(to key: borrowing SecretBytes) throws(PayloadError) -> SecretBytes {
    do throws(SodiumError) {
      var hash = try DomainHash("vault/commit/v1")
      hash.append(key.bytes)
      return try hash.secret()
    } catch {
      throw .sodium(error)
    }
  }
}
