public import Sodium

/// Encrypts one payload as a stream, in constant memory, on all processors.
///
/// The key is for this one payload and no other: nonces count from zero, so a second stream under the same key would
/// reveal both. Plaintext passes only through locked memory that is wiped at the end. What the ciphertext shows is its
/// length: the padded length, and whether there is a password layer.
public struct PayloadSealer: ~Copyable, Sendable {
  private var outer: ChunkSealer
  private var layer: LayerSource
  private var isAbandoned = false

  /// Prepares to seal a body of exactly `bodyByteCount` bytes under a 32-byte `key`. With a password this takes
  /// scrypt's time and memory.
  public init(
    key: consuming SecretBytes, header: borrowing PayloadHeader, bodyByteCount: UInt64,
    password: consuming PasswordLayer? = nil, padding: PayloadPadding = .standard
  ) throws(PayloadError) {
    let source = try PayloadSource(header: header, bodyByteCount: bodyByteCount, padding: padding)
    let layer = try LayerSource.make(source, password: password)
    outer = try ChunkSealer(key: key, plaintextByteCount: layer.byteCount)
    self.layer = layer
  }

  /// Exact number of ciphertext bytes of such a payload, without encrypting anything and without scrypt's time.
  public static func ciphertextByteCount(
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

  /// Exact number of ciphertext bytes, known before the first is made.
  public var ciphertextByteCount: UInt64 { outer.layout.ciphertextByteCount }

  /// Fills `output` with the next ciphertext bytes and returns their number: fewer than there is room for only at the
  /// end, then 0. Works fastest with buffers of a few MiB.
  ///
  /// `body` is asked for the body's bytes in order: it fills the front of the buffer it gets and returns how many bytes
  /// it put there, 0 at the end. It is asked once more when all announced bytes are there. A body of another length
  /// throws ``PayloadError/sourceTooShort`` or ``PayloadError/sourceTooLong``. After any error, the body's own included,
  /// the ciphertext so far is worthless and further calls throw ``PayloadError/abandoned``: going on could use a nonce twice.
  public mutating func next(
    into output: UnsafeMutableRawBufferPointer, body: (UnsafeMutableRawBufferPointer) throws -> Int
  ) throws -> Int {
    guard !isAbandoned else { throw PayloadError.abandoned }
    isAbandoned = true
    let count = try outer.next(into: output) { try layer.fill($0, body: body) }
    isAbandoned = false
    return count
  }
}
