package import Sodium

/// An X25519 key pair whose secret leaves it only to be kept, sealed.
package final class AgreementKeyPair: Sendable {
  /// 32 bytes.
  package let publicKey: [UInt8]
  private let secret: SecretBytes

  /// Takes over 32 secret bytes.
  package init(secret: consuming SecretBytes) throws(SodiumError) {
    publicKey = try X25519.publicKey(of: secret)
    self.secret = secret
  }

  package static func generate() throws(SodiumError) -> AgreementKeyPair {
    try AgreementKeyPair(secret: SecretBytes(random: X25519.keyByteCount))
  }

  /// The shared secret, 32 bytes. Throws ``SodiumError/smallOrderKey`` where it would be all zeros.
  package func sharedSecret(with other: [UInt8]) throws(SodiumError) -> SecretBytes {
    try X25519.sharedSecret(secret, with: other)
  }

  /// Opens a sealed box made for this pair.
  package func openBox(_ sealed: RawSpan) throws(SodiumError) -> SecretBytes {
    try X25519.open(sealed, publicKey: publicKey, secret: secret)
  }

  /// A copy of the secret, 32 bytes, for somebody who keeps it for later.
  package func secretCopy() throws(SodiumError) -> SecretBytes { try secret.duplicate() }

  /// Writes a copy of the secret into `target`, 32 bytes of secret memory.
  func copySecret(into target: inout OutputRawSpan) {
    secret.withUnsafeBytes { for byte in $0 { target.append(byte) } }
  }
}
