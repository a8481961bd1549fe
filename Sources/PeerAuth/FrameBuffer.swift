import WireCodec

/// Cuts a stream of ciphertext into frames: a 16-bit big-endian length, then that many bytes.
///
/// It never holds more than one frame and what one read brought beyond it.
package struct FrameBuffer: Sendable {
  /// Bytes of the length in front of a frame.
  static let lengthByteCount = 2

  private var bytes: [UInt8] = []
  private var start = 0

  package init() {}

  package mutating func append(_ chunk: [UInt8]) {
    if start == bytes.count {
      bytes = chunk
    } else {
      bytes.removeSubrange(..<start)
      bytes.append(contentsOf: chunk)
    }
    start = 0
  }

  /// Passes the next frame to `body`, or returns nil if it isn't complete yet. A length outside `limits` is refused
  /// before the bytes are waited for.
  package mutating func takeFrame<Result>(
    _ limits: ClosedRange<Int>, _ body: (UnsafeRawBufferPointer) throws(SessionError) -> Result
  ) throws(SessionError) -> Result? {
    guard bytes.count - start >= Self.lengthByteCount else { return nil }
    let length = Int(bytes[start]) << 8 | Int(bytes[start + 1])
    guard length >= limits.lowerBound else { throw .malformed(.truncated(field: "frame")) }
    guard length <= limits.upperBound else {
      throw .malformed(.limitExceeded(field: "frame", limit: limits.upperBound))
    }
    let first = start + Self.lengthByteCount
    guard bytes.count - first >= length else { return nil }
    start = first + length
    return try bytes.span.bytes.extracting(first..<start).withUnsafeBytes { (frame) throws(SessionError) in
      try body(frame)
    }
  }
}
