public import Sodium

/// Seals what a group keeps on disk. The application passes one that it makes from a key of its own; who has none takes
/// ``KeyFileSealer``.
///
/// The context says what is sealed and where it belongs, so that one record can't be put in another's place.
public protocol StateSealer: Sendable {
  func seal(_ plaintext: RawSpan, context: [UInt8]) throws(GroupError) -> [UInt8]
  /// Opens a record. Throws ``GroupError/damaged(_:)`` if it isn't what was sealed in this context.
  func open(_ sealed: [UInt8], context: [UInt8]) throws(GroupError) -> SecretBytes
}

extension StateSealer {
  func seal(secret: borrowing SecretBytes, context: [UInt8]) throws(GroupError) -> [UInt8] {
    try seal(secret.bytes, context: context)
  }
}

/// Seals under a key of 32 bytes: crypto_secretbox with random nonces, under a key derived for each context.
public final class KeySealer: StateSealer {
  private let key: SecretBytes

  /// Takes exactly 32 bytes.
  public init(_ key: consuming SecretBytes) throws(GroupError) {
    guard key.count == 32 else { throw .sodium(.invalidLength(expected: 32, actual: key.count)) }
    self.key = key
  }

  private func key(_ context: [UInt8]) throws(SodiumError) -> SecretBytes {
    var hash = try keyedHash("vault/group-state/v1", key)
    hash.append(context)
    return try hash.secret()
  }

  /// Seals a record: a nonce, then the box.
  public func seal(_ plaintext: RawSpan, context: [UInt8]) throws(GroupError) -> [UInt8] {
    do throws(SodiumError) {
      let nonce = try Randomness.bytes(SecretBox.nonceByteCount)
      let key = try key(context)
      return try nonce + SecretBox.seal(plaintext, key: key, nonce: nonce)
    } catch { throw .sodium(error) }
  }

  public func open(_ sealed: [UInt8], context: [UInt8]) throws(GroupError) -> SecretBytes {
    let count = SecretBox.nonceByteCount
    guard sealed.count >= count + SecretBox.overhead else { throw .damaged("a sealed record") }
    do throws(SodiumError) {
      let key = try key(context)
      return try SecretBox.open(
        sealed.span.bytes.extracting(droppingFirst: count), key: key, nonce: Array(sealed.prefix(count)))
    } catch .verificationFailed { throw .damaged("a sealed record") } catch { throw .sodium(error) }
  }
}
