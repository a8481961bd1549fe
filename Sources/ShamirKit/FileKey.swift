import Sodium

/// The key that encrypts a secret's payload: BLAKE2b-256("vault/file-key/v1", s, secret id).
enum FileKey {
  /// Derives 32 bytes from the shared scalar at `secret`.
  static func derive(from secret: UnsafePointer<UInt8>, id: SecretID) throws(SodiumError) -> SecretBytes {
    var hash = try DomainHash("vault/file-key/v1")
    hash.append(UnsafeRawBufferPointer(start: secret, count: RistrettoScalar.byteCount))
    hash.append(id.bytes)
    return try hash.secret()
  }
}
