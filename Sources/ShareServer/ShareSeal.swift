import Sodium

/// How a share lies in the database: sealed by crypto_secretbox under a key of its own, derived from the key of the
/// time slot in which it expires and the key of its group. A random nonce of 24 bytes stands in front.
///
/// What comes here is encrypted already, by people who don't trust this service. This seal keeps nothing from the
/// service; it is what makes erasing possible: of the two keys one ends with the slot and the other with the group.
struct ShareSeal: ~Copyable {
  private let key: SecretBytes

  static let overhead = SecretBox.nonceByteCount + SecretBox.overhead

  init(slot: borrowing SecretBytes, group: borrowing SecretBytes, groupID: Identifier, share: Identifier)
    throws(SodiumError)
  {
    var hash = try DomainHash("vault/server-share/v1", key: slot.bytes)
    hash.append(group.bytes)
    hash.append(groupID.bytes)
    hash.append(share.bytes)
    key = try hash.secret()
  }

  func seal(_ bytes: [UInt8]) throws(SodiumError) -> [UInt8] {
    let nonce = try Randomness.bytes(SecretBox.nonceByteCount)
    return nonce + (try SecretBox.seal(bytes.span.bytes, key: key, nonce: nonce))
  }

  func open(_ sealed: [UInt8]) throws(SodiumError) -> [UInt8] {
    guard sealed.count >= Self.overhead else { throw .verificationFailed }
    let nonce = Array(sealed.prefix(SecretBox.nonceByteCount))
    var bytes = [UInt8](repeating: 0, count: sealed.count - Self.overhead)
    var failure: SodiumError?
    bytes.withUnsafeMutableBytes { output in
      sealed.withUnsafeBytes { sealed in
        let box = UnsafeRawBufferPointer(rebasing: sealed[SecretBox.nonceByteCount...])
        do throws(SodiumError) { try SecretBox.open(box, key: key, nonce: nonce, into: output) } catch {
          failure = error
        }
      }
    }
    if let failure { throw failure }
    return bytes
  }
}
