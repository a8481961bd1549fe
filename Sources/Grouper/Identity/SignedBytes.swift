import Sodium

/// Bytes with an Ed25519 signature behind them: requests, rosters and messages as they travel.
struct SignedBytes {
  let body: [UInt8]
  private let signature: [UInt8]

  /// Takes `bytes` apart; `field` is what they are called where they are refused.
  init(_ bytes: [UInt8], limit: Int, _ field: String) throws(GroupError) {
    guard bytes.count <= limit else { throw .malformed(.limitExceeded(field: field, limit: limit)) }
    guard bytes.count > Ed25519.signatureByteCount else { throw .malformed(.truncated(field: field)) }
    body = Array(bytes.dropLast(Ed25519.signatureByteCount))
    signature = Array(bytes.suffix(Ed25519.signatureByteCount))
  }

  /// Throws ``GroupError/forged(_:)`` with `what` unless it is the signature of this key over `digest`.
  func verify(_ digest: Digest, by key: [UInt8], _ what: String) throws(GroupError) {
    do throws(SodiumError) { try Ed25519.verify(signature, of: digest, by: key) } catch { throw error.forged(what) }
  }
}

extension SodiumError {
  /// What a signature or a tag that doesn't hold is called.
  func forged(_ what: String) -> GroupError { self == .verificationFailed ? .forged(what) : .sodium(self) }
}

/// The hash of public parts under a label.
func publicHash(_ label: StaticString, _ parts: [[UInt8]]) throws(GroupError) -> Digest {
  do throws(SodiumError) {
    var hash = try DomainHash(label)
    for part in parts { hash.append(part) }
    return hash.digest()
  } catch { throw .sodium(error) }
}

/// Begins a hash that is keyed with a secret.
func keyedHash(_ label: StaticString, _ key: borrowing SecretBytes) throws(SodiumError) -> DomainHash {
  try DomainHash(label, key: key.bytes)
}
