public import Sodium

// The module's face: what other programs call, in the order in which they do. What the types stand for is said where they
// are declared, each in the file of its name.

// MARK: - What is sealed

extension PayloadHeader {
  /// A header without fields. `fileName` is UTF-8 of at most 1024 bytes, or empty for none; it isn't looked into, and
  /// whoever recovers it passes it through ``SuggestedName/sanitised(_:)``.
  /// Throws ``PayloadError/headerTooLarge`` over a limit, and ``PayloadError/wire(_:)`` for a malformed media type.
  public init(kind: PayloadKind, fileName: RawSpan = RawSpan(), mediaType: String = "") throws(PayloadError) {
    guard fileName.byteCount <= Self.fileNameByteLimit, mediaType.utf8.count <= Self.mediaTypeByteLimit else {
      throw .headerTooLarge
    }
    try self.init(encoding: Self.encoding(kind, fileName, mediaType))
  }

  /// The file's name as it was given, or empty.
  public var fileName: RawSpan {
    @_lifetime(borrow self) get { encoding.bytes.extracting(fileNameRange) }
  }

  /// Names of all fields in ascending order of their bytes.
  public var fieldNames: [String] { fields.map(\.name) }

  /// The value of the field `name`, or nil.
  @_lifetime(borrow self)
  public func field(_ name: String) -> RawSpan? {
    // Compared byte by byte: Swift's == would take two spellings of the same letter as one.
    guard let field = fields.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) else { return nil }
    return encoding.bytes.extracting(field.value)
  }

  /// Adds a field. `name` is 1 to 64 bytes of UTF-8 without NUL, `value` any bytes.
  /// Throws ``PayloadError/duplicateField`` or ``PayloadError/headerTooLarge`` and then changes nothing.
  public mutating func add(field name: String, value: RawSpan) throws(PayloadError) {
    guard name.utf8.count <= Self.fieldNameByteLimit, fields.count < Self.fieldLimit,
      value.byteCount <= Self.byteLimit
    else { throw .headerTooLarge }
    guard !fields.contains(where: { $0.name.utf8.elementsEqual(name.utf8) }) else { throw .duplicateField }
    guard encoding.count + 4 + name.utf8.count + value.byteCount <= Self.byteLimit else { throw .headerTooLarge }
    self = try adding(name, value)
  }
}

extension PasswordLayer {
  /// Takes a password (UTF-8, NFC) and the binary logarithm of scrypt's N (RFC 7914), 15 to 20, and draws a salt. Sealing
  /// and opening take 128 · 8 · N bytes of memory: 64 MiB by default.
  public init(password: consuming SecretBytes, logarithm: Int = defaultLogarithm) throws(PayloadError) {
    let salt = try sodium(Randomness.bytes(Scrypt.saltByteCount))
    try self.init(password: password, logarithm: logarithm, salt: salt)
  }
}

// MARK: - Sealing

extension PayloadSealer {
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

  /// Exact number of ciphertext bytes, known before the first is made.
  public var ciphertextByteCount: UInt64 { outer.layout.ciphertextByteCount }

  /// Fills `output` with the next ciphertext bytes: less than there is room for only at the end, then nothing. Works
  /// fastest with room for a few MiB.
  ///
  /// `body` is asked for the body's bytes in order: it appends some to what it gets, which is secret memory, none at the
  /// end. It is asked once more when all announced bytes are there. A body of another length throws
  /// ``PayloadError/sourceTooShort`` or ``PayloadError/sourceTooLong``. After any error, the body's own included, the
  /// ciphertext so far is worthless and further calls throw ``PayloadError/abandoned``: going on could use a nonce twice.
  public mutating func next(into output: inout OutputRawSpan, body: (inout OutputRawSpan) throws -> Void) throws {
    try output.withUnsafeMutableBytes { buffer, initialized in
      initialized += try next(into: buffer.from(initialized)) { target in
        var span = OutputRawSpan(buffer: target, initializedCount: 0)
        try body(&span)
        return span.finalize(for: target)
      }
    }
  }
}

// MARK: - Opening

extension PayloadOpener {
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
  public mutating func append(_ ciphertext: RawSpan, body: (RawSpan) throws -> Void) throws -> Int {
    try ciphertext.withUnsafeBytes { try append($0) { try body($0.bytes) } }
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
  public mutating func finish(body: (RawSpan) throws -> Void) throws { try finishUnsafe { try body($0.bytes) } }
}

extension SuggestedName {
  /// A safe file name: the last component of a path with `/` or `\`, without control, bidi or invisible format
  /// characters, without leading dots or surrounding blanks, at most 255 bytes of UTF-8 cut between characters, and
  /// never empty. Bytes that aren't UTF-8 become U+FFFD. The result is ordinary memory: from here on the name is
  /// going to stand in a folder.
  public static func sanitised(_ name: RawSpan) -> String { sanitised(name, limit: byteLimit) }
}
