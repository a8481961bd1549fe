import Sodium

/// Takes the outer stream's plaintext apart, the reverse of ``LayerSource``.
struct LayerParser: ~Copyable {
  let padding: PayloadPadding
  /// Bytes of the outer stream's plaintext.
  let byteCount: UInt64
  private var parser: PayloadParser?
  private var inner: ChunkOpener?
  /// The first chunk's plaintext, while a password layer is locked or the start of its stream not passed on.
  private var held: SecretBytes?
  private(set) var isLocked = false

  init(byteCount: UInt64, padding: PayloadPadding) {
    self.byteCount = byteCount
    self.padding = padding
    parser = nil
    inner = nil
    held = nil
  }

  /// Whether everything up to the last zero of the padding has been seen.
  var isComplete: Bool {
    switch parser {
    case .some(let parser): parser.isComplete
    case .none: false
    }
  }

  var passwordLogarithm: Int? {
    guard isLocked else { return nil }
    switch held {
    case .some(let held): return held.withUnsafeBytes { Int($0[1]) }
    case .none: return nil
    }
  }

  var bodyByteCount: UInt64? {
    switch parser {
    case .some(let parser): parser.bodyByteCount
    case .none: nil
    }
  }

  func withHeader<Result: ~Copyable, Failure: Error>(
    _ body: (borrowing PayloadHeader) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    switch parser {
    case .some(let parser): try parser.withHeader(body)
    case .none: nil
    }
  }

  /// Takes the next verified bytes. The first call must bring the whole first chunk and nothing more.
  mutating func consume(_ plaintext: UnsafeRawBufferPointer, body: (UnsafeRawBufferPointer) throws -> Void) throws {
    var rest = plaintext
    if parser == nil, held == nil {
      try begin(rest)
      if isLocked { return }
      rest = rest.from(1)
    }
    try deliver(rest, body)
  }

  /// Passes on the start of the inner stream that was held back while the layer was locked.
  mutating func flush(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    guard let start = held.take() else { return }
    try start.withUnsafeBytes { try deliver($0.from(PasswordLayer.overhead), body) }
  }

  /// Derives the key, checks the commitment and opens the inner stream.
  mutating func unlock(password: borrowing SecretBytes) throws(PayloadError) {
    guard isLocked else { throw .passwordNotNeeded }
    let opener = try ChunkOpener(
      key: unlockedKey(password), ciphertextByteCount: byteCount - UInt64(PasswordLayer.overhead))
    parser = try PayloadParser(paddedByteCount: opener.layout.plaintextByteCount, padding: padding)
    inner = consume opener
    isLocked = false
  }

  private func unlockedKey(_ password: borrowing SecretBytes) throws(PayloadError) -> SecretBytes {
    switch held {
    case .some(let held): try Self.key(of: held, password: password)
    case .none: throw .passwordNotNeeded
    }
  }

  /// The key of the inner stream, by the front of its layer and what may be the password.
  static func key(
    of held: borrowing SecretBytes, password: borrowing SecretBytes
  ) throws(PayloadError) -> SecretBytes {
    let (logarithm, salt) = held.withUnsafeBytes { (Int($0[1]), Array($0.part(2, Scrypt.saltByteCount))) }
    let key = try PasswordLayer.key(of: password, salt: salt, logarithm: logarithm)
    let commitment = try PasswordLayer.commitment(to: key)
    let start = 2 + Scrypt.saltByteCount
    guard constantTimeEqual(held.bytes.extracting(start..<start + Digest.byteCount), commitment.bytes) else {
      throw .wrongPassword
    }
    return key
  }

  /// Reads the layer byte and checks that the lengths it implies are possible.
  private mutating func begin(_ plaintext: UnsafeRawBufferPointer) throws(PayloadError) {
    switch plaintext[0] {
    case 0:
      parser = try PayloadParser(paddedByteCount: byteCount - 1, padding: padding)
    case 1:
      held = try Self.front(plaintext, byteCount: byteCount, padding: padding)
      isLocked = true
    default:
      throw .wire(.unsupported(field: "payload layer", value: UInt64(plaintext[0])))
    }
  }

  /// Keeps the first chunk of a password layer, after checking its cost and that the lengths it implies are possible.
  static func front(
    _ plaintext: UnsafeRawBufferPointer, byteCount: UInt64, padding: PayloadPadding
  ) throws(PayloadError) -> SecretBytes {
    guard plaintext.count > PasswordLayer.overhead else { throw .damaged }
    guard Scrypt.acceptedLogarithms.contains(Int(plaintext[1])) else { throw .parametersRefused }
    let layout = try ChunkLayout(ciphertextByteCount: byteCount - UInt64(PasswordLayer.overhead))
    _ = try PayloadParser(paddedByteCount: layout.plaintextByteCount, padding: padding)
    return try sodium(SecretBytes(copying: plaintext.bytes))
  }

  private mutating func deliver(
    _ plaintext: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    let throughLayer: Void? = try inner?.append(plaintext) { try parser?.consume($0, body: body) }
    if throughLayer == nil { try parser?.consume(plaintext, body: body) }
  }
}
