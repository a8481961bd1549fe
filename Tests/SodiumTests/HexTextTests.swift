import Testing

@testable import Sodium

@Suite struct HexTextTests {
  @Test func `bytes come back from their text`() throws {
    let bytes = (0...255).map { UInt8($0) }
    let text = try HexText.encode(bytes.span.bytes)
    #expect(text.withUnsafeBytes { Array($0) } == Array(hexadecimal(bytes).utf8))
    let decoded = try HexText.decode(text.bytes)
    switch decoded {
    case .some(let decoded): #expect(decoded.withUnsafeBytes { Array($0) } == bytes)
    case .none: Issue.record("its own text isn't read")
    }
  }

  @Test(arguments: ["0", "0g", "AB", "aB", " 00", "00 ", "0x00", "00:00", "0\u{0}"])
  func `only the one text is read`(_ text: String) throws {
    let bytes = try HexText.decode(Array(text.utf8).span.bytes)
    #expect(bytes == nil ? true : false)
  }
}
