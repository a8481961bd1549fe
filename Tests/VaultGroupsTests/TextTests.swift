import Sodium
import Testing

@testable import VaultGroups

@Suite struct TextTests {
  @Test func `bytes have one text, and a text one meaning`() throws {
    for count in 1...70 {
      let bytes = try Randomness.bytes(count)
      let text = GroupText.text(.request, bytes)
      #expect(text.hasPrefix("VAULT-JOIN:") && text.utf8.allSatisfy { $0 < 0x5b && $0 >= 0x2d })
      #expect(GroupText.bytes(.request, Array(text.utf8)) == bytes)
      #expect(GroupText.bytes(.invitation, Array(text.utf8)) == nil)
    }
    // The examples of RFC 4648.
    let examples = [
      "f": "MY", "fo": "MZXQ", "foo": "MZXW6", "foob": "MZXW6YQ", "fooba": "MZXW6YTB", "foobar": "MZXW6YTBOI",
    ]
    for (plain, encoded) in examples {
      #expect(GroupText.text(.invitation, Array(plain.utf8)) == "VAULT-INVITATION:" + encoded)
    }
  }

  @Test(arguments: ["", "VAULT-JOIN:", "VAULT-JOIN:M", "VAULT-JOIN:MZ", "VAULT-JOIN:my", "VAULT-JOIN:MY======", "MY"])
  func `a text that isn't written as it would be here is none`(text: String) {
    #expect(GroupText.bytes(.request, Array(text.utf8)) == nil)
  }

  @Test func `a text that is too long is refused before it is read`() {
    let text = Array("VAULT-JOIN:".utf8) + [UInt8](repeating: 0x41, count: 1 << 20)
    #expect(GroupText.bytes(.request, text) == nil)
  }
}
