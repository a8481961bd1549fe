package import Sodium

/// A file key, wrapped for an ordinary `age1…` recipient (C2SP age.md, "The X25519 recipient type"). It doesn't say for which
/// one: whoever has the secret finds out by trying.
package struct X25519Stanza: Hashable, Sendable {
  package static let tag = "X25519"
  static let fileKeyByteCount = 16
  private static let label = Array("age-encryption.org/v1/X25519".utf8)

  let share: [UInt8]
  let body: [UInt8]

  /// `arguments` are those behind the tag.
  package init(_ arguments: some Collection<String>, body: [UInt8]) throws(AgeError) {
    guard arguments.count == 1, let text = arguments.first, text.utf8.count == 43,
      let share = AgeStanza.bytes(base64: Array(text.utf8)), share.count == X25519.keyByteCount
    else { throw .malformed("the share of an X25519 stanza") }
    // Before anything is decrypted: other lengths would let one stanza fit several keys.
    guard body.count == Self.fileKeyByteCount + ChaChaPoly.overhead else {
      throw .malformed("the body of an X25519 stanza")
    }
    // A share of small order is for nobody: that is told before anybody is asked for a key.
    do throws(SodiumError) {
      _ = try X25519.sharedSecret(SecretBytes(zeros: X25519.keyByteCount), with: share)
    } catch .smallOrderKey {
      throw .malformed("the share of an X25519 stanza")
    } catch {}
    self.share = share
    self.body = body
  }

  /// Nil if it is for another recipient.
  package func fileKey(
    _ secret: borrowing SecretBytes, recipient: [UInt8]
  ) throws(SodiumError) -> SecretBytes? {
    let shared = try X25519.sharedSecret(secret, with: share)
    let salt = share + recipient
    let key = try PlainHashes.hkdfSHA256(shared.bytes, salt: salt.span.bytes, info: Self.label.span.bytes)
    var fileKey = try SecretBytes(zeros: Self.fileKeyByteCount)
    do throws(SodiumError) {
      try fileKey.withUnsafeMutableBytes { (output) throws(SodiumError) in
        try body.span.bytes.withUnsafeBytes { (body) throws(SodiumError) in
          try ChaChaPoly.open(
            body, key: key, nonce: [UInt8](repeating: 0, count: 12),
            additionalData: UnsafeRawBufferPointer(start: nil, count: 0), into: output)
        }
      }
    } catch .verificationFailed {
      return nil
    }
    return fileKey
  }
}

/// The key of a file, on its way to the client.
package final class FileKey: Sendable {
  let bytes: SecretBytes

  package init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
}
