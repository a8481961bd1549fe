import Sodium

/// Encrypts one payload as a stream, in constant memory, on all processors.
///
/// The key is for this one payload and no other: nonces count from zero, so a second stream under the same key would
/// reveal both. Plaintext passes only through locked memory that is wiped at the end. What the ciphertext shows is its
/// length: the padded length, and whether there is a password layer.
public struct PayloadSealer: ~Copyable, Sendable {
  var outer: ChunkSealer
  var layer: LayerSource
  private var isAbandoned = false

  /// Exact number of ciphertext bytes of such a payload, without encrypting anything and without scrypt's time.
  package static func ciphertextByteCount(
    header: borrowing PayloadHeader, bodyByteCount: UInt64, hasPassword: Bool, padding: PayloadPadding = .standard
  ) throws(PayloadError) -> UInt64 {
    let source = try PayloadSource(header: header, bodyByteCount: bodyByteCount, padding: padding)
    var byteCount = 1 + source.paddedByteCount
    if hasPassword {
      let inner = try ChunkLayout(plaintextByteCount: source.paddedByteCount)
      byteCount = UInt64(PasswordLayer.overhead) + inner.ciphertextByteCount
    }
    return try ChunkLayout(plaintextByteCount: byteCount).ciphertextByteCount
  }

  /// The same between memory that the caller has pointers to: returns how many bytes of `output` were filled, as `body` does of what it gets.
  package mutating func next(
    into output: UnsafeMutableRawBufferPointer, body: (UnsafeMutableRawBufferPointer) throws -> Int
  ) throws -> Int {
    guard !isAbandoned else { throw PayloadError.abandoned }
    isAbandoned = true
    let count = try outer.next(into: output) { try layer.fill($0, body: body) }
    isAbandoned = false
    return count
  }
}
