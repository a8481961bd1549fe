import Testing
import WireCodec

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
    let rest = try reader.span(reader.remaining, "rest").withUnsafeBytes { Array($0) }
    #expect(rest == [2, 3, 4])
    try reader.finish()
  }

  @Test("takes only the version that is known, and only cases that there are")
  func versions() throws {
    enum Case: UInt8 { case one = 1 }
    try read([7]) { r throws(WireError) in try r.version(7, "x") }
    #expect(throws: WireError.unsupported(field: "x", value: 8)) {
      try read([8]) { r throws(WireError) in try r.version(7, "x") }
    }
    #expect(try read([1]) { r throws(WireError) -> Case in try r.choice("x") } == .one)
    #expect(throws: WireError.invalidValue(field: "x")) {
      try read([0]) { r throws(WireError) -> Case in try r.choice("x") }
    }
  }

  @Test("reads as many values as it was told, behind a short count too")
  func lists() throws {
    let value = try Everything(text: "a").encoded()
    let values = try read([2] + value + value + [9]) { r throws(WireError) -> [Everything] in
      try r.list(r.count8(limit: 2, "x"))
    }
    #expect(try values.map { (value) throws(WireError) in try value.encoded() } == [value, value])
    #expect(throws: WireError.limitExceeded(field: "x", limit: 2)) {
      try read([3]) { r throws(WireError) in try r.count8(limit: 2, "x") }
    }
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
