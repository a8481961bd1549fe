import Testing
import WireCodec

/// One value of every kind that the codec knows.
struct Everything: WireValue, Hashable {
  static let limit = 5
  var small: UInt8
  var medium: UInt16
  var large: UInt32
  var huge: UInt64
  var yes: Bool
  var short: [UInt8]
  var long: [UInt8]
  var text: String
  var extensions: Extensions

  var encodedByteCount: Int {
    1 + 2 + 4 + 8 + 1 + 2 + short.count + 4 + long.count + 2 + text.utf8.count + extensions.encodedByteCount
  }

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(small)
    try writer.u16(medium)
    try writer.u32(large)
    try writer.u64(huge)
    try writer.flag(yes)
    try writer.bytes16(short)
    try writer.bytes32(long)
    try writer.text16(text)
    try extensions.encode(into: &writer)
  }

  init(from reader: inout Reader) throws(WireError) {
    small = try reader.u8("small")
    medium = try reader.u16("medium")
    large = try reader.u32("large")
    huge = try reader.u64("huge")
    yes = try reader.flag("yes")
    short = try reader.bytes16(limit: Self.limit, "short")
    long = try reader.bytes32(limit: Self.limit, "long")
    text = try reader.text16(limit: Self.limit, "text")
    extensions = try Extensions(from: &reader)
  }

  init(text: String = "") {
    (small, medium, large, huge, yes, short, long) = (0, 0, 0, 0, false, [], [])
    self.text = text
    extensions = Extensions()
  }

  static func random() -> Everything {
    func bytes() -> [UInt8] { (0..<Int.random(in: 0...limit)).map { _ in .random(in: 0...255) } }
    var value = Everything(text: ["", "a", "é", "日x", "abcde"].randomElement() ?? "")
    value.small = .random(in: 0...255)
    value.medium = .random(in: 0...UInt16.max)
    value.large = .random(in: 0...UInt32.max)
    value.huge = .random(in: 0...UInt64.max)
    value.yes = .random()
    value.short = bytes()
    value.long = bytes()
    for _ in 0..<Int.random(in: 0...3) { value.extensions[.random(in: 0...UInt16.max)] = bytes() }
    return value
  }
}

@Suite("The canonical format")
struct CodecTests {
  @Test("writes big-endian numbers, lengths in front, and one byte for a flag")
  func layout() throws {
    var value = Everything(text: "é")
    value.small = 1
    value.medium = 0x0203
    value.large = 0x0405_0607
    value.huge = 0x0809_0a0b_0c0d_0e0f
    value.yes = true
    value.short = [0xaa]
    value.long = [0xbb, 0xcc]
    value.extensions[3] = [0xdd]
    let expected: [UInt8] =
      Array(1...15) + [1] + [0, 1, 0xaa] + [0, 0, 0, 2, 0xbb, 0xcc] + [0, 2, 0xc3, 0xa9] + [0, 5, 0, 3, 0, 1, 0xdd]
    #expect(try value.encoded() == expected)
    #expect(try Everything.decode(expected, limit: 100) == value)
  }

  @Test("random values come back as they were")
  func roundTrip() throws {
    for _ in 0..<500 {
      let value = Everything.random()
      let encoded = try value.encoded()
      #expect(encoded.count == value.encodedByteCount)
      #expect(try Everything.decode(encoded, limit: encoded.count) == value)
    }
  }

  @Test("an encoding cut anywhere is refused, and so is one with a byte behind it")
  func everyCut() throws {
    let encoded = try Everything.random().encoded()
    for count in 0..<encoded.count {
      let cut = Array(encoded[..<count])
      let error = #expect(throws: WireError.self) { try Everything.decode(cut, limit: 1000) }
      guard case .truncated = error else {
        Issue.record("cut at \(count): \(String(describing: error))")
        continue
      }
    }
    #expect(throws: WireError.trailingBytes(count: 1)) { try Everything.decode(encoded + [0], limit: 1000) }
  }

  @Test("a value over its limit is refused by its size alone")
  func sizeLimit() throws {
    let encoded = try Everything().encoded()
    #expect(throws: WireError.limitExceeded(field: "Everything", limit: encoded.count - 1)) {
      try Everything.decode(encoded, limit: encoded.count - 1)
    }
  }

  @Test("random and randomly changed bytes never trap, and what is accepted encodes to the same bytes")
  func randomBytes() throws {
    var accepted = 0
    for _ in 0..<6000 {
      var bytes = try Everything.random().encoded()
      if Int.random(in: 0..<8) == 0 {
        bytes = (0..<Int.random(in: 0...60)).map { _ in .random(in: 0...255) }
      } else {
        for _ in 0...Int.random(in: 0...2) { bytes[Int.random(in: bytes.indices)] = .random(in: 0...8) }
      }
      guard let value = try? Everything.decode(bytes, limit: 1000) else { continue }
      accepted += 1
      #expect(try value.encoded() == bytes)
    }
    #expect(accepted > 100)
  }
}
