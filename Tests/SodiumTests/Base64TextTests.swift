import Testing

@testable import Sodium

@Suite struct Base64TextTests {
  /// RFC 4648, section 10.
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ("foobar", "Zm9vYmFy"),
  ])
  func `the vectors of RFC 4648 hold`(_ plain: String, _ encoded: String) throws {
    let text = try Base64Text.encode(Array(plain.utf8).span.bytes)
    #expect(text.withUnsafeBytes { Array($0) } == Array(encoded.utf8))
    #expect(Base64Text.encodePublic(Array(plain.utf8)) == Array(encoded.utf8))
    #expect(try Base64Text.decodePublic(Array(encoded.utf8).span.bytes) == Array(plain.utf8))
    #expect(Base64Text.decodePublic(encoded, limit: plain.utf8.count) == Array(plain.utf8))
    if !plain.isEmpty { #expect(Base64Text.decodePublic(encoded, limit: plain.utf8.count - 1) == nil) }
    let bytes = try Base64Text.decode(Array(encoded.utf8).span.bytes)
    switch bytes {
    case .some(let bytes): #expect(bytes.withUnsafeBytes { Array($0) } == Array(plain.utf8))
    case .none: Issue.record("\(encoded) isn't read")
    }
  }

  @Test(arguments: [
    "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Z", "Zm 9v", "Zm9v\n", "Zm9v=", "Zm-_", "Zm-v", "Z===", "=m9v", "Zm=v",
    "====", "Zm9v\u{0}",
  ])
  func `only the one encoding is read`(_ text: String) throws {
    let bytes = try Base64Text.decode(Array(text.utf8).span.bytes)
    #expect(bytes == nil ? true : false)
    #expect(try Base64Text.decodePublic(Array(text.utf8).span.bytes) == nil)
  }

  @Test func `no byte beyond ASCII is a digit`() throws {
    for byte: UInt8 in 0x80...0xFF {
      for text in [[0x57, byte, 0x59, byte], [byte, 0x58, 0x59, 0x5A], [0x57, 0x58, 0x59, byte]] as [[UInt8]] {
        let bytes = try Base64Text.decode(text.span.bytes)
        #expect(bytes == nil ? true : false, "\(text)")
        #expect(try Base64Text.decodePublic(text.span.bytes) == nil, "\(text)")
      }
    }
  }
}
