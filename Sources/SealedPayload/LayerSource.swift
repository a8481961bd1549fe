import Sodium

/// The outer stream's plaintext: the layer byte, then the padded payload, plainly or under a password.
struct LayerSource: ~Copyable {
  /// Number of bytes altogether.
  let byteCount: UInt64
  /// The layer byte, and what a password layer has in front of its stream.
  private let front: SecretBytes
  private var frontPosition = 0
  private var inner: ChunkSealer?
  private var source: PayloadSource

  static func make(
    _ source: consuming PayloadSource, password: consuming PasswordLayer?
  ) throws(PayloadError) -> LayerSource {
    switch consume password {
    case .some(let password): try LayerSource(source, password: password)
    case .none: try LayerSource(source)
    }
  }

  private init(_ source: consuming PayloadSource) throws(PayloadError) {
    front = try sodium(SecretBytes(zeros: 1))
    byteCount = 1 + source.paddedByteCount
    inner = nil
    self.source = source
  }

  private init(_ source: consuming PayloadSource, password: consuming PasswordLayer) throws(PayloadError) {
    let key = try password.key()
    let commitment = try PasswordLayer.commitment(to: key)
    var front = try sodium(SecretBytes(zeros: PasswordLayer.overhead))
    front.withUnsafeMutableBytes { front in
      front[0] = 1
      front[1] = UInt8(truncatingIfNeeded: password.logarithm)
      password.salt.withUnsafeBytes { front.from(2).copyMemory(from: $0) }
      commitment.withUnsafeBytes { front.from(2 + Scrypt.saltByteCount).copyMemory(from: $0) }
    }
    let inner = try ChunkSealer(key: key, plaintextByteCount: source.paddedByteCount)
    byteCount = UInt64(PasswordLayer.overhead) + inner.layout.ciphertextByteCount
    self.front = front
    self.inner = consume inner
    self.source = source
  }

  /// Fills `output` to its last byte with what comes next.
  mutating func fill(
    _ output: UnsafeMutableRawBufferPointer, body: (UnsafeMutableRawBufferPointer) throws -> Int
  ) throws {
    var rest = output
    if frontPosition < front.count {
      let count = min(front.count - frontPosition, rest.count)
      front.withUnsafeBytes { rest.copyMemory(from: $0.part(frontPosition, count)) }
      frontPosition += count
      rest = rest.from(count)
    }
    if let count = try inner?.next(into: rest, plaintext: { try source.fill($0, body: body) }) {
      guard count == rest.count else { throw PayloadError.abandoned }
    } else {
      try source.fill(rest, body: body)
    }
  }
}
