import Testing

@testable import AgePlugin

struct QuorumIdentityTests {
  private static let id = [UInt8](repeating: 0x11, count: 16)
  private static let text = "AGE-PLUGIN-QUORUM-1ZYG3ZYG3ZYG3ZYG3ZYG3ZYG3ZYCXZ06W"

  @Test func `an identity is the key's id, in either case`() throws {
    #expect(try QuorumIdentity(keyID: Self.id).text == Self.text)
    #expect(try QuorumIdentity(Self.text).keyID == Self.id)
    #expect(try QuorumIdentity(Self.text.lowercased()).keyID == Self.id)
  }

  @Test(arguments: [
    "", "AGE-PLUGIN-QUORUM-1", String(text.dropLast()), text + "Q", text.replacing("CXZ", with: "CXY"),
    text.replacing("QUORUM", with: "QUORAM"), "a" + text.dropFirst(), " " + text,
    "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX",
    String(repeating: "A", count: 100_000),
  ])
  func `another text is none`(_ text: String) {
    #expect(throws: AgeError.malformed("an identity of this plugin")) { try QuorumIdentity(text) }
  }

  @Test(arguments: [0, 15, 17, 32])
  func `an id of another length is none`(_ count: Int) {
    #expect(throws: AgeError.malformed("the id of a key")) {
      try QuorumIdentity(keyID: [UInt8](repeating: 0x11, count: count))
    }
  }
}
