import Foundation
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
    for _ in 0..<30_000 {
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

@Suite("The reader")
struct ReaderTests {
  private func read<Result>(
    _ bytes: [UInt8], _ body: (inout Reader) throws(WireError) -> Result
  ) throws(WireError) -> Result {
    var reader = Reader(bytes.span.bytes)
    return try body(&reader)
  }

  @Test("names the field in which the input ends")
  func truncated() {
    #expect(throws: WireError.truncated(field: "x")) { try read([]) { r throws(WireError) in try r.u8("x") } }
    #expect(throws: WireError.truncated(field: "x")) { try read([1]) { r throws(WireError) in try r.u16("x") } }
    #expect(throws: WireError.truncated(field: "x")) { try read([1, 2, 3]) { r throws(WireError) in try r.u32("x") } }
    #expect(throws: WireError.truncated(field: "x")) {
      try read([1, 2, 3, 4, 5, 6, 7]) { r throws(WireError) in try r.u64("x") }
    }
    #expect(throws: WireError.truncated(field: "x")) { try read([1]) { r throws(WireError) in try r.bytes(2, "x") } }
    #expect(throws: WireError.truncated(field: "x")) { try read([1]) { r throws(WireError) in try r.bytes(-1, "x") } }
    #expect(throws: WireError.truncated(field: "x")) {
      try read([1]) { r throws(WireError) in try r.bytes(.max, "x") }
    }
  }

  @Test("checks a length against its limit before it looks for the bytes")
  func limits() {
    #expect(throws: WireError.limitExceeded(field: "x", limit: 3)) {
      try read([0, 4]) { r throws(WireError) in try r.bytes16(limit: 3, "x") }
    }
    #expect(throws: WireError.limitExceeded(field: "x", limit: 3)) {
      try read([0xff, 0xff, 0xff, 0xff]) { r throws(WireError) in try r.bytes32(limit: 3, "x") }
    }
    #expect(throws: WireError.limitExceeded(field: "x", limit: 3)) {
      try read([0, 0, 0, 4, 1, 2, 3, 4]) { r throws(WireError) in try r.span32(limit: 3, "x").byteCount }
    }
    #expect(throws: WireError.limitExceeded(field: "x", limit: 3)) {
      try read([0, 4, 0x61, 0x61, 0x61, 0x61]) { r throws(WireError) in try r.text16(limit: 3, "x") }
    }
    #expect(throws: WireError.truncated(field: "x")) {
      try read([0, 3, 1, 2]) { r throws(WireError) in try r.bytes16(limit: 3, "x") }
    }
  }

  @Test("leaves what it hasn't read, and a failed read takes nothing of a span")
  func remaining() throws {
    let bytes: [UInt8] = [1, 2, 3, 4]
    var reader = Reader(bytes.span.bytes)
    #expect(try reader.u8("x") == 1)
    let left = reader.remaining
    #expect(left == 3)
    let failed = (try? reader.bytes(4, "x")) == nil
    #expect(failed)
    let rest = reader.spanToEnd().withUnsafeBytes { Array($0) }
    #expect(rest == [2, 3, 4])
    try reader.finish()
  }

  @Test("takes only 0 and 1 as a flag")
  func flags() throws {
    #expect(try read([0]) { r throws(WireError) in try r.flag("x") } == false)
    #expect(try read([1]) { r throws(WireError) in try r.flag("x") })
    for byte in UInt8(2)...255 {
      #expect(throws: WireError.invalidValue(field: "x")) {
        try read([byte]) { r throws(WireError) in try r.flag("x") }
      }
    }
  }

  @Test(
    "takes only well-formed UTF-8 without NUL as text",
    arguments: [[0], [0x61, 0], [0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe6, 0x97], [0xf4, 0x90, 0x80, 0x80]])
  func text(bytes: [UInt8]) throws {
    #expect(throws: WireError.invalidValue(field: "x")) {
      try read([0, UInt8(bytes.count)] + bytes) { r throws(WireError) in try r.text16(limit: 10, "x") }
    }
  }

  @Test("keeps text as it is spelled: no normalisation")
  func spelling() throws {
    let composed = try Everything(text: "\u{e9}").encoded()
    let decomposed = try Everything(text: "e\u{301}").encoded()
    #expect(composed != decomposed)
    #expect(try Everything.decode(decomposed, limit: 100).encoded() == decomposed)
  }
}

@Suite("The writer")
struct WriterTests {
  private func room(_ count: Int, _ body: (inout Writer) throws(WireError) -> Void) throws(WireError) -> [UInt8] {
    try publicBytes(count: count, body)
  }

  @Test("refuses what doesn't fit, whole")
  func capacity() {
    #expect(throws: WireError.capacityExceeded) { try room(0) { w throws(WireError) in try w.u8(1) } }
    #expect(throws: WireError.capacityExceeded) { try room(1) { w throws(WireError) in try w.u16(1) } }
    #expect(throws: WireError.capacityExceeded) { try room(3) { w throws(WireError) in try w.u32(1) } }
    #expect(throws: WireError.capacityExceeded) { try room(7) { w throws(WireError) in try w.u64(1) } }
    #expect(throws: WireError.capacityExceeded) { try room(2) { w throws(WireError) in try w.bytes([1, 2, 3]) } }
    #expect(throws: WireError.capacityExceeded) { try room(2) { w throws(WireError) in try w.bytes16([1]) } }
  }

  @Test("refuses to leave room over")
  func tooLittle() {
    #expect(throws: WireError.capacityExceeded) { try room(2) { w throws(WireError) in try w.u8(1) } }
  }

  @Test("refuses counts that don't fit their width")
  func counts() throws {
    #expect(try room(2) { w throws(WireError) in try w.count16(65_535) } == [0xff, 0xff])
    for count in [-1, 65_536, Int.max] {
      #expect(throws: WireError.limitExceeded(field: "count", limit: 65_535)) {
        try room(2) { w throws(WireError) in try w.count16(count) }
      }
    }
    #expect(try room(4) { w throws(WireError) in try w.count32(Int(UInt32.max)) } == [0xff, 0xff, 0xff, 0xff])
    for count in [-1, Int(UInt32.max) + 1] {
      #expect(throws: WireError.limitExceeded(field: "count", limit: Int(UInt32.max))) {
        try room(4) { w throws(WireError) in try w.count32(count) }
      }
    }
    #expect(throws: WireError.limitExceeded(field: "count", limit: 65_535)) {
      try room(70_002) { w throws(WireError) in try w.bytes16([UInt8](repeating: 0, count: 70_000)) }
    }
  }

  @Test("writes into memory that somebody else owns, behind what is there")
  func foreignMemory() throws {
    var bytes = [UInt8](repeating: 0xee, count: 6)
    try bytes.withUnsafeMutableBytes { buffer in
      var output = OutputRawSpan(buffer: buffer, initializedCount: 1)
      try write(into: &output) { writer throws(WireError) in
        let free = writer.freeCapacity
        #expect(free == 5)
        try writer.u16(0x0102)
      }
      let written = output.finalize(for: buffer)
      #expect(written == 3)
    }
    #expect(bytes == [0xee, 1, 2, 0xee, 0xee, 0xee])
  }
}

@Suite("The extension section")
struct ExtensionsTests {
  private func decode(_ entries: [UInt8]) throws(WireError) -> Extensions {
    try Extensions.decode([UInt8(entries.count >> 8), UInt8(entries.count & 255)] + entries, limit: 10_000)
  }

  @Test("is in ascending order of type, however it was filled")
  func order() throws {
    var encodings: Set<[UInt8]> = []
    for _ in 0..<20 {
      var extensions = Extensions()
      for type in ([1, 2, 256, 65_535] as [UInt16]).shuffled() { extensions[type] = [UInt8(type & 255)] }
      encodings.insert(try extensions.encoded())
      #expect(try Extensions.decode(extensions.encoded(), limit: 100) == extensions)
    }
    #expect(encodings.count == 1)
  }

  @Test("is refused in another order, with a type twice, or cut")
  func notCanonical() {
    #expect(throws: WireError.invalidValue(field: "extension order")) { try decode([0, 3, 0, 0, 0, 1, 0, 0]) }
    #expect(throws: WireError.invalidValue(field: "extension order")) { try decode([0, 3, 0, 0, 0, 3, 0, 0]) }
    #expect(throws: WireError.truncated(field: "extension type")) { try decode([0]) }
    #expect(throws: WireError.truncated(field: "extension")) { try decode([0, 3, 0]) }
    #expect(throws: WireError.truncated(field: "extension")) { try decode([0, 3, 0, 1]) }
    #expect(throws: WireError.truncated(field: "extensions")) { try Extensions.decode([0, 1], limit: 10) }
    #expect(throws: WireError.limitExceeded(field: "extensions", limit: 4096)) {
      try Extensions.decode([0x10, 1], limit: 10)
    }
  }

  @Test("holds at most 4096 bytes")
  func limit() throws {
    var extensions = Extensions()
    extensions[1] = [UInt8](repeating: 7, count: 4092)
    #expect(try extensions.encoded().count == 4098)
    extensions[1] = [UInt8](repeating: 7, count: 4093)
    #expect(throws: WireError.limitExceeded(field: "extensions", limit: 4096)) { try extensions.encoded() }
  }

  @Test("an even type must be known, an odd one may be ignored and is kept")
  func understanding() throws {
    let extensions = try decode([0, 3, 0, 1, 9, 0, 4, 0, 0])
    #expect(extensions[3] == [9])
    #expect(throws: WireError.unsupported(field: "extension", value: 4)) { try extensions.require() }
    try extensions.require(known: [4])
    try decode([0, 3, 0, 0, 0, 5, 0, 0]).require()
  }

  @Test("entries can be replaced and taken out")
  func editing() throws {
    var extensions = Extensions()
    extensions[5] = [1]
    extensions[5] = [2]
    #expect(extensions[5] == [2])
    extensions[5] = nil
    #expect(extensions == Extensions())
    #expect(try extensions.encoded() == [0, 0])
  }

  @Test("random sections never trap, and what is accepted encodes to the same bytes")
  func randomSections() throws {
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0...24)).map { _ in UInt8.random(in: 0...4) }
      guard let extensions = try? Extensions.decode(bytes, limit: 100) else { continue }
      #expect(try extensions.encoded() == bytes)
    }
  }

  @Test("the example in docs/formats/wire.md is what this code writes")
  func documentedExample() throws {
    let document = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/formats/wire.md")
    let text = try String(contentsOf: document, encoding: .utf8).filter { !$0.isWhitespace }
    var extensions = Extensions()
    extensions[3] = [0xaa]
    extensions[256] = []
    let encoded = try extensions.encoded().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    #expect(text.contains("`\(encoded)`"))
  }
}
