import Testing

@testable import Sodium

@Suite struct HexadecimalTextTests {
  /// RFC 4648, section 10, in lower case.
  @Test(arguments: [("", ""), ("f", "66"), ("fo", "666f"), ("foob", "666f6f62"), ("foobar", "666f6f626172")])
  func `the vectors of RFC 4648 hold`(_ plain: String, _ encoded: String) throws {
    let text = try HexadecimalText.encode(Array(plain.utf8).span.bytes)
    #expect(text.withUnsafeBytes { Array($0) } == Array(encoded.utf8))
    switch try HexadecimalText.decode(Array(encoded.utf8).span.bytes) {
    case .some(let bytes): #expect(bytes.withUnsafeBytes { Array($0) } == Array(plain.utf8))
    case .none: Issue.record("\(encoded) isn't read")
    }
  }

  @Test func `every byte comes back, from either case`() throws {
    let all = (UInt8.min...UInt8.max).map { $0 }
    let text = try HexadecimalText.encode(all.span.bytes)
    let upper = text.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }.uppercased()
    switch try HexadecimalText.decode(Array(upper.utf8).span.bytes) {
    case .some(let bytes): #expect(bytes.withUnsafeBytes { Array($0) } == all)
    case .none: Issue.record("upper case isn't read")
    }
  }

  @Test(arguments: ["6", "6g", "66 ", "6:6", "0x66", "66\n", "66\u{0}\u{0}", "é"])
  func `anything else isn't read`(_ text: String) throws {
    let bytes = try HexadecimalText.decode(Array(text.utf8).span.bytes)
    #expect(bytes == nil ? true : false)
  }
}
