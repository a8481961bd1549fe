import Sodium

/// Takes the padded payload apart as it streams in, the reverse of ``PayloadSource``.
struct PayloadParser: ~Copyable {
  private let padding: PayloadPadding
  private let paddedByteCount: UInt64
  private var header: PayloadHeader?
  /// Bytes of the body, or nil while the header isn't known.
  private(set) var bodyByteCount: UInt64?
  private var bodyRemaining: UInt64 = 0
  private var paddingRemaining: UInt64 = 0

  init(paddedByteCount: UInt64, padding: PayloadPadding) throws(PayloadError) {
    // A length that no payload is padded to can be refused before anything is read.
    guard padding.paddedByteCount(paddedByteCount) == paddedByteCount else { throw .damaged }
    self.paddedByteCount = paddedByteCount
    self.padding = padding
    header = nil
  }

  /// Lends the header, or returns nil while it isn't known.
  func withHeader<Result: ~Copyable, Failure: Error>(
    _ body: (borrowing PayloadHeader) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    switch header {
    case .some(let header): try body(header)
    case .none: nil
    }
  }

  /// Whether everything up to the last zero has been seen.
  var isComplete: Bool { bodyByteCount != nil && bodyRemaining == 0 && paddingRemaining == 0 }

  /// Takes the next verified bytes. The first call must bring the whole first chunk, in which the header lies.
  mutating func consume(_ bytes: UnsafeRawBufferPointer, body: (UnsafeRawBufferPointer) throws -> Void) throws {
    var rest = bytes
    if bodyByteCount == nil { rest = rest.from(try begin(rest)) }
    if bodyRemaining > 0, !rest.isEmpty {
      let count = Int(min(bodyRemaining, UInt64(rest.count)))
      try body(rest.part(0, count))
      bodyRemaining -= UInt64(count)
      rest = rest.from(count)
    }
    guard !rest.isEmpty else { return }
    guard UInt64(rest.count) <= paddingRemaining else { throw PayloadError.damaged }
    guard rest.allSatisfyZero else { throw PayloadError.paddingNotZero }
    paddingRemaining -= UInt64(rest.count)
  }

  /// Reads length and header and returns how many bytes they are.
  private mutating func begin(_ bytes: UnsafeRawBufferPointer) throws(PayloadError) -> Int {
    let lengthByteCount = PayloadSource.lengthByteCount
    guard bytes.count >= lengthByteCount else { throw .damaged }
    let content = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
    guard content <= paddedByteCount - UInt64(lengthByteCount),
      padding.paddedByteCount(UInt64(lengthByteCount) + content) == paddedByteCount
    else { throw .damaged }
    let header = try PayloadHeader(from: bytes.from(lengthByteCount).bytes)
    guard UInt64(header.byteCount) <= content else { throw .damaged }
    bodyRemaining = content - UInt64(header.byteCount)
    bodyByteCount = bodyRemaining
    paddingRemaining = paddedByteCount - UInt64(lengthByteCount) - content
    let count = lengthByteCount + header.byteCount
    self.header = consume header
    return count
  }
}

extension UnsafeRawBufferPointer {
  /// Whether all bytes are zero, without stopping at the first that isn't.
  fileprivate var allSatisfyZero: Bool {
    var seen: UInt64 = 0
    let words = count / 8
    for word in 0..<words { seen |= loadUnaligned(fromByteOffset: word * 8, as: UInt64.self) }
    for index in words * 8..<count { seen |= UInt64(self[index]) }
    return seen == 0
  }
}
