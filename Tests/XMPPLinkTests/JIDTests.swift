import Testing

@testable import XMPPLink
@testable import XMPPRequests

@Suite struct JIDTests {
  @Test(arguments: [
    ("Ada@Example.ORG", "ada@example.org"), ("a.b-c+d@h.example.", "a.b-c+d@h.example"),
    ("example.org", "example.org"), ("a@127.0.0.1/Phone", "a@127.0.0.1/Phone"), ("a@b/c@d/e", "a@b/c@d/e"),
    ("a@b/Büro", "a@b/Büro"),
  ])
  func `an address has one form`(_ text: String, _ normal: String) throws {
    let address = try JID(text)
    #expect(address.description == normal)
    #expect(try JID(normal) == address)
  }

  @Test(arguments: [
    "", "@", "a@", "@b", "a@b@c", "a b@c", "ä@b", "a@ü.de", "a@b..c", "a@-b", "a@b-", "a@b/", "a@b/\u{7}", "a\"@b",
    "a&b@c", "a<@b", "a@b_c", "a@[::1]", "a@" + String(repeating: "x", count: 64), ".", "a@.", "a\u{0}@b",
    String(repeating: "a", count: 1024) + "@b", "a@b/" + String(repeating: "r", count: 1024),
  ])
  func `what isn't one is refused`(_ text: String) {
    #expect {
      try JID(text)
    } throws: {
      if case .invalidAddress(let reason)? = $0 as? XMPPError { !reason.isEmpty } else { false }
    }
  }

  @Test func `an account has a name and no device`() throws {
    #expect(throws: XMPPError.self) { try XMPPAccount(JID("localhost")) }
    #expect(throws: XMPPError.self) { try XMPPAccount(JID("a@localhost/x")) }
    #expect(try XMPPAccount(JID("a@localhost"), port: 5).namedHost == "localhost")
    #expect(try XMPPAccount(JID("a@localhost")).namedHost == nil)
  }
}
