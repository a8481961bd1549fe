package import Sodium

/// Decrypts any part of one payload, for reading a piece of a large one without the rest.
///
/// Every chunk verifies by itself, under its number, before any of it is handed out (``ChunkReader``). That the ciphertext
/// goes on to its end is another matter: ``verifyEnd()`` opens the last chunk, which carries the end's mark, so that one
/// that was cut short, or whose length was misstated, is noticed. What lies between stays unread, and unchecked.
package struct PayloadReader: ~Copyable, Sendable {
  /// Fills a buffer with the ciphertext's bytes from an offset on.
  package typealias Source = @Sendable (_ offset: UInt64, _ target: UnsafeMutableRawBufferPointer) throws -> Void

  private let source: Source
  private let padding: PayloadPadding
  private var outer: ChunkReader
  /// The stream behind the password, once it is open.
  private var inner: ChunkReader?
  private var parser: PayloadParser?
  /// The password layer's front, as long as it is locked.
  private var lock: SecretBytes?

  /// Prepares to read a ciphertext of exactly `ciphertextByteCount` bytes under a 32-byte `key`, and opens its first chunk.
  /// Throws ``PayloadError/damaged`` if that doesn't verify, and what `source` throws.
  package init(
    key: consuming SecretBytes, ciphertextByteCount: UInt64, padding: PayloadPadding = .standard,
    source: @escaping Source
  ) throws {
    self.source = source
    self.padding = padding
    var outer = try ChunkReader(key: key, ciphertextByteCount: ciphertextByteCount)
    let byteCount = outer.layout.plaintextByteCount
    inner = nil
    var parser: PayloadParser?
    var lock: SecretBytes?
    try outer.chunk(0, from: source) { plain in
      switch plain[0] {
      case 0:
        var fresh = try PayloadParser(paddedByteCount: byteCount - 1, padding: padding)
        try fresh.consume(plain.from(1)) { _ in }
        parser = consume fresh
      case 1: lock = try LayerParser.front(plain, byteCount: byteCount, padding: padding)
      default: throw PayloadError.wire(.unsupported(field: "payload layer", value: UInt64(plain[0])))
      }
    }
    self.outer = consume outer
    self.parser = consume parser
    self.lock = consume lock
  }

  /// Whether a password is needed to go on.
  package var needsPassword: Bool {
    switch lock {
    case .some: true
    case .none: false
    }
  }

  /// log2 of scrypt's N in the password layer; nil while no password is needed.
  package var passwordLogarithm: Int? {
    switch lock {
    case .some(let lock): lock.withUnsafeBytes { Int($0[1]) }
    case .none: nil
    }
  }

  /// Bytes of the body, or nil while a password is needed.
  package var bodyByteCount: UInt64? {
    switch parser {
    case .some(let parser): parser.bodyByteCount
    case .none: nil
    }
  }

  /// Lends the header, or returns nil while a password is needed.
  package func withHeader<Result: ~Copyable, Failure: Error>(
    _ body: (borrowing PayloadHeader) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    switch parser {
    case .some(let parser): try parser.withHeader(body)
    case .none: nil
    }
  }

  /// Opens the password layer with a password in UTF-8, NFC. Takes scrypt's time and memory.
  ///
  /// Throws ``PayloadError/wrongPassword`` without any other effect if it is not the one; the next may be tried.
  package mutating func unlock(password: borrowing SecretBytes) throws {
    let key: SecretBytes
    switch lock {
    case .some(let lock): key = try LayerParser.key(of: lock, password: password)
    case .none: throw PayloadError.passwordNotNeeded
    }
    let overhead = UInt64(PasswordLayer.overhead)
    var inner = try ChunkReader(key: key, ciphertextByteCount: outer.layout.plaintextByteCount - overhead)
    var fresh = try PayloadParser(paddedByteCount: inner.layout.plaintextByteCount, padding: padding)
    let source = source
    try inner.chunk(0, from: { try outer.read(at: overhead + $0, into: $1, from: source) }) { plain in
      try fresh.consume(plain) { _ in }
    }
    self.inner = consume inner
    parser = consume fresh
    lock = nil
  }

  /// Fills `target` with the body's bytes from `offset` on and returns how many there were: fewer than there is room for
  /// only at the body's end. Throws ``PayloadError/passwordRequired`` while a password is needed.
  package mutating func read(at offset: UInt64, into target: UnsafeMutableRawBufferPointer) throws -> Int {
    guard let total = bodyByteCount, let start = withHeader({ PayloadSource.lengthByteCount + $0.byteCount }) else {
      throw PayloadError.passwordRequired
    }
    guard offset < total else { return 0 }
    let count = Int(min(UInt64(target.count), total - offset))
    try readPadded(at: UInt64(start) + offset, into: target.part(0, count))
    return count
  }

  /// Opens the last chunk of the stream, and of the one behind the password if that is open: the end is where it should be.
  package mutating func verifyEnd() throws {
    try outer.chunk(outer.layout.chunkCount - 1, from: source) { _ in }
    let last: UInt64
    switch inner {
    case .some(let inner): last = inner.layout.chunkCount - 1
    case .none: return
    }
    var end = try SecretBytes(zeros: 1)
    let place = last * UInt64(ChunkLayout.plainChunk)
    try end.withUnsafeMutableBytes { try readPadded(at: place, into: $0) }
  }

  /// Opens every chunk of the outer stream: what it takes to know that all of it is as it was sealed, also while a password
  /// is needed. `progress` is told how many ciphertext bytes are done.
  package mutating func verifyAll(progress: (UInt64) throws -> Void = { _ in }) throws {
    let layout = outer.layout
    for number in 0..<layout.chunkCount {
      try outer.chunk(number, from: source) { _ in }
      try progress(min(layout.ciphertextByteCount, (number + 1) * UInt64(ChunkLayout.sealedChunk)))
    }
  }

  /// Reads the padded payload, which begins behind the layer byte, or is the plaintext of the stream behind the password.
  private mutating func readPadded(at offset: UInt64, into target: UnsafeMutableRawBufferPointer) throws {
    let source = source
    guard var inner = inner.take() else { return try outer.read(at: 1 + offset, into: target, from: source) }
    do {
      try inner.read(at: offset, into: target) { offset, sealed in
        try outer.read(at: UInt64(PasswordLayer.overhead) + offset, into: sealed, from: source)
      }
      self.inner = consume inner
    } catch {
      self.inner = consume inner
      throw error
    }
  }
}
