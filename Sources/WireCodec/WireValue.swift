/// A public value with exactly one encoding. Secret values are written by hand into secret memory instead.
package protocol WireValue {
  /// Exact number of bytes that ``encode(into:)`` writes. Found by counting, unless a type knows better.
  var encodedByteCount: Int { get }
  func encode(into writer: inout Writer) throws(WireError)
  /// Reads one value and leaves the reader behind it.
  init(from reader: inout Reader) throws(WireError)
}

extension WireValue {
  /// Counts what ``encode(into:)`` would write; what it throws, it throws again when it writes.
  package var encodedByteCount: Int {
    var writer = Writer()
    try? encode(into: &writer)
    return writer.count
  }

  /// The canonical encoding as an array.
  package func encoded() throws(WireError) -> [UInt8] {
    try publicBytes(count: encodedByteCount) { writer throws(WireError) in try encode(into: &writer) }
  }

  /// Reads a value that fills `bytes` to the last byte. `limit` is checked first.
  package static func decode(_ bytes: RawSpan, limit: Int) throws(WireError) -> Self {
    guard bytes.byteCount <= limit else { throw .limitExceeded(field: "\(Self.self)", limit: limit) }
    var reader = Reader(bytes)
    let value = try Self(from: &reader)
    try reader.finish()
    return value
  }

  /// Reads a value that fills `bytes` to the last byte. `limit` is checked first.
  package static func decode(_ bytes: [UInt8], limit: Int) throws(WireError) -> Self {
    try decode(bytes.span.bytes, limit: limit)
  }
}

/// How many bytes `body` writes.
package func byteCount(_ body: (inout Writer) throws(WireError) -> Void) throws(WireError) -> Int {
  var writer = Writer()
  try body(&writer)
  return writer.count
}

/// Writes exactly `count` public bytes into a new array. Throws ``WireError/capacityExceeded`` if `body` writes more or fewer.
package func publicBytes(count: Int, _ body: (inout Writer) throws(WireError) -> Void) throws(WireError) -> [UInt8] {
  var bytes = [UInt8](repeating: 0, count: count)
  var failure: WireError?
  var written = 0
  bytes.withUnsafeMutableBytes { buffer in
    var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
    do throws(WireError) { try write(into: &output, body) } catch { failure = error }
    written = output.finalize(for: buffer)
  }
  if let failure { throw failure }
  guard written == count else { throw .capacityExceeded }
  return bytes
}

/// Runs `body` with a ``Writer`` over `output`, which may be secret memory.
package func write(
  into output: inout OutputRawSpan, _ body: (inout Writer) throws(WireError) -> Void
) throws(WireError) {
  var failure: WireError?
  let taken = output
  output = OutputRawSpan()
  var writer = Writer(taken)
  do throws(WireError) { try body(&writer) } catch { failure = error }
  output = writer.finish()
  if let failure { throw failure }
}
