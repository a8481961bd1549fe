public import Sodium

/// Decrypts one payload as a stream, in constant memory, on all processors.
///
/// Body bytes are handed out as soon as their chunk has verified, but only ``finish(body:)`` tells that nothing is
/// missing: write to a temporary place and keep it only after that.
///
/// With a password layer, ``append(_:body:)`` stops behind the first chunk (``firstChunkByteCount`` bytes) and
/// ``needsPassword`` becomes true. The caller asks for the password when it likes, calls ``unlock(password:)`` as often
/// as it likes, and goes on appending where it stopped.
public struct PayloadOpener: ~Copyable, Sendable {
  private var outer: ChunkOpener
  private var layer: LayerParser
  private var isAbandoned = false

  /// Prepares to open a ciphertext of exactly `ciphertextByteCount` bytes under a 32-byte `key`.
  /// Throws ``PayloadError/damaged`` if no payload has a ciphertext of that length.
  public init(
    key: consuming SecretBytes, ciphertextByteCount: UInt64, padding: PayloadPadding = .standard
  ) throws(PayloadError) {
    outer = try ChunkOpener(key: key, ciphertextByteCount: ciphertextByteCount)
    layer = LayerParser(byteCount: outer.layout.plaintextByteCount, padding: padding)
  }

  /// Ciphertext bytes after which ``needsPassword`` is known and, without a password, the header.
  public var firstChunkByteCount: Int { outer.layout.ciphertextByteCount(of: 1, from: 0) }

  /// Whether a password is needed to go on. Known after the first chunk.
  public var needsPassword: Bool { layer.isLocked }

  /// log2 of scrypt's N in the password layer, to tell the user how long it takes; nil while no password is needed.
  public var passwordLogarithm: Int? { layer.passwordLogarithm }

  /// Bytes of the body, or nil while the header isn't known.
  public var bodyByteCount: UInt64? { layer.bodyByteCount }

  /// Lends the header, or returns nil while it isn't known. It is known, at the latest, when the first body bytes have
  /// been handed out, and always after ``finish(body:)``.
  public func withHeader<Result: ~Copyable, Failure: Error>(
    _ body: (borrowing PayloadHeader) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    try layer.withHeader(body)
  }

  /// Takes the next ciphertext bytes, in any cut, and hands what they complete to `body`, in order. The memory that
  /// `body` sees is secret and only lent.
  ///
  /// Returns how many bytes were taken: all of them, except when the first chunk turns out to hold a password layer. Then
  /// only that chunk's bytes are taken; after ``unlock(password:)`` the caller appends the others. While locked it
  /// throws ``PayloadError/passwordRequired`` and takes nothing. After any other error further calls throw
  /// ``PayloadError/abandoned``.
  public mutating func append(
    _ ciphertext: UnsafeRawBufferPointer, body: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> Int {
    guard !isAbandoned else { throw PayloadError.abandoned }
    guard !layer.isLocked else { throw PayloadError.passwordRequired }
    isAbandoned = true
    try layer.flush(body)
    // The first chunk by itself: it tells whether the rest can be read.
    let first = min(outer.missingFromFirstChunk, ciphertext.count)
    try outer.append(ciphertext.part(0, first)) { try layer.consume($0, body: body) }
    var taken = first
    if !layer.isLocked {
      try outer.append(ciphertext.from(first)) { try layer.consume($0, body: body) }
      taken = ciphertext.count
    }
    isAbandoned = false
    return taken
  }

  /// Opens the password layer with a password in UTF-8, NFC. Takes scrypt's time and memory.
  ///
  /// Throws ``PayloadError/wrongPassword`` without any other effect if it is not the one; the next may be tried.
  public mutating func unlock(password: borrowing SecretBytes) throws(PayloadError) {
    guard !isAbandoned else { throw .abandoned }
    try layer.unlock(password: password)
  }

  /// Ends the stream: hands out what is left and checks that everything came, to the last zero of the padding.
  /// Throws ``PayloadError/truncated`` if bytes are missing. Only after this is the body complete and authentic.
  public mutating func finish(body: (UnsafeRawBufferPointer) throws -> Void) throws {
    _ = try append(UnsafeRawBufferPointer(start: nil, count: 0), body: body)
    guard outer.isComplete else { throw PayloadError.truncated }
    guard layer.isComplete else { throw PayloadError.damaged }
  }
}
