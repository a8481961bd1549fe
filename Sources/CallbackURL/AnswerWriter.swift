import Sodium

/// Puts parameters behind a URL, in secret memory. Every byte of a value is escaped, so that neither a branch nor the
/// length of the result depends on what it is.
struct AnswerWriter: ~Copyable {
  private var memory: SecretBytes
  private var count: Int
  private var needsSeparator: Bool
  private var hasQuery: Bool

  /// Bytes that a parameter takes at most.
  static func room(_ name: String, _ valueByteCount: Int) -> Int { 2 + name.utf8.count + 3 * valueByteCount }

  /// A writer behind the URL of `target`, with `room` for parameters.
  init(_ target: CallbackTarget, room: Int) throws(CallbackError) {
    let text = Array(target.text.utf8)
    memory = try CallbackURL.memory(text.count + room)
    count = text.count
    hasQuery = text.contains(UInt8(ascii: "?"))
    needsSeparator = !(text.last == UInt8(ascii: "?") || text.last == UInt8(ascii: "&"))
    memory.withUnsafeMutableBytes { target in text.withUnsafeBytes { target.copyMemory(from: $0) } }
  }

  mutating func add(_ name: String, _ value: RawSpan) throws(CallbackError) {
    // Every caller has counted; a mistake must not become a write behind the end.
    guard memory.count - count >= Self.room(name, value.byteCount) else { throw .outOfMemory }
    if needsSeparator { put(hasQuery ? UInt8(ascii: "&") : UInt8(ascii: "?")) }
    hasQuery = true
    needsSeparator = true
    for byte in name.utf8 { put(byte) }
    put(UInt8(ascii: "="))
    for position in 0..<value.byteCount {
      let byte = value.byte(position)
      put(UInt8(ascii: "%"))
      put(Self.digit(byte >> 4))
      put(Self.digit(byte & 0xF))
    }
  }

  private mutating func put(_ byte: UInt8) {
    let position = count
    memory.withUnsafeMutableBytes { $0[position] = byte }
    count += 1
  }

  /// The hexadecimal digit of 0 … 15, by arithmetic: beyond 9 the difference's sign bits add the way from `9` to `A`.
  private static func digit(_ value: UInt8) -> UInt8 {
    let beyondNine = (9 &- value) >> 7
    return UInt8(ascii: "0") &+ value &+ beyondNine &* 7
  }

  consuming func finish() throws(CallbackError) -> SecretBytes {
    do throws(SodiumError) { return try SecretBytes(copying: memory.bytes.extracting(first: count)) } catch {
      throw .outOfMemory
    }
  }
}
