import Glibc
import Sodium

/// The padded payload as a stream: length, header, body from outside, zeros.
struct PayloadSource: ~Copyable {
  /// Bytes of the length in front.
  static let lengthByteCount = 8

  let paddedByteCount: UInt64
  private let front: SecretBytes
  private var frontPosition = 0
  private var bodyRemaining: UInt64
  private var endChecked = false

  init(
    header: borrowing PayloadHeader, bodyByteCount: UInt64, padding: PayloadPadding
  ) throws(PayloadError) {
    guard bodyByteCount <= PaddedLength.limit else { throw .tooLarge }
    let content = UInt64(header.byteCount) + bodyByteCount
    guard let padded = padding.paddedByteCount(UInt64(Self.lengthByteCount) + content) else { throw .tooLarge }
    var front = try sodium(SecretBytes(zeros: Self.lengthByteCount + header.byteCount))
    front.withUnsafeMutableBytes { front in
      front.storeBytes(of: content.bigEndian, as: UInt64.self)
      header.bytes.withUnsafeBytes { front.from(Self.lengthByteCount).copyMemory(from: $0) }
    }
    paddedByteCount = padded
    bodyRemaining = bodyByteCount
    self.front = front
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
    while bodyRemaining > 0, !rest.isEmpty {
      let wanted = Int(min(bodyRemaining, UInt64(rest.count)))
      let count = try body(rest.part(0, wanted))
      guard count > 0 else { throw PayloadError.sourceTooShort }
      guard count <= wanted else { throw PayloadError.sourceTooLong }
      bodyRemaining -= UInt64(count)
      rest = rest.from(count)
    }
    guard bodyRemaining == 0 else { return }
    try checkEnd(body)
    if let start = rest.baseAddress { memset(start, 0, rest.count) }
  }

  /// Asks the body for one more byte, which must not be there.
  private mutating func checkEnd(_ body: (UnsafeMutableRawBufferPointer) throws -> Int) throws {
    guard !endChecked, frontPosition == front.count else { return }
    var probe = try SecretBytes(zeros: 1)
    let count = try probe.withUnsafeMutableBytes { try body($0) }
    guard count == 0 else { throw PayloadError.sourceTooLong }
    endChecked = true
  }
}
