import Sodium
import Testing

@testable import CallbackURL

/// What other programs ask for (C85–C91).
@Suite struct RequestTests {
  @Test func `a request to encrypt has all its parameters`() throws {
    let facts = try facts(
      encrypt + "&plaintext=my%20secret&description=An%20example&x-source=Client&store=1&addPassword=1&scryptN=65536"
        + "&x-success=client%3A%2F%2Fdone%3F&x-error=client%3A%2F%2Ffailed&x-cancel=client%3A%2F%2Fcancelled")
    #expect(facts.action == .encrypt)
    #expect(facts.content == Array("my secret".utf8))
    #expect(facts.description == "An example")
    #expect(facts.source == "Client")
    #expect(facts.isStored)
    #expect(facts.addsPassword)
    #expect(facts.scryptLogarithm == 16)
    #expect(facts.targets.success?.text == "client://done?")
    #expect(facts.targets.failure?.text == "client://failed")
    #expect(facts.targets.cancel?.text == "client://cancelled")
    #expect(facts.fileName == nil)
  }

  @Test func `what is left out has its default`() throws {
    let facts = try facts(encrypt + "plaintext=")
    #expect(facts.content == [])
    #expect(facts.description == nil && facts.source == nil)
    #expect(!facts.isStored && !facts.addsPassword && facts.scryptLogarithm == nil)
    #expect(facts.targets.success == nil && facts.targets.failure == nil && facts.targets.cancel == nil)
  }

  @Test func `the content of a file comes in base64`() throws {
    let facts = try facts(encrypt + "plaintext=AAEC%2Fw%3D%3D&filename=data.bin")
    #expect(facts.content == [0, 1, 2, 255])
    #expect(facts.fileName == Array("data.bin".utf8))
  }

  @Test func `base64 may stand unescaped, a plus is a plus`() throws {
    #expect(try facts(decrypt + "encryptedData=+/+/").content == [0xFB, 0xFF, 0xBF])
  }

  @Test func `escapes are read in both cases`() throws {
    #expect(try facts(encrypt + "plaintext=%c3%A4%26%3d%25").content == Array("ä&=%".utf8))
  }

  @Test func `scheme and host have no case`() throws {
    #expect(try facts("CoreSecret://X-Callback-URL/encrypt?plaintext=a").content == [0x61])
  }

  @Test func `parameters that nobody knows don't disturb`() throws {
    #expect(try facts(encrypt + "&&more=1&plaintext=a&more=2&").content == [0x61])
  }

  @Test(arguments: [
    (encrypt + "description=a", CallbackError.missing("plaintext")),
    (decrypt + "plaintext=a", .missing("encryptedData")),
    (encrypt + "plaintext=a&plaintext=b", .duplicate("plaintext")),
    (encrypt + "plaintext=a&store=2", .invalid("store", rule: "0 or 1")),
    (encrypt + "plaintext=a&store=yes", .invalid("store", rule: "0 or 1")),
    (encrypt + "plaintext=a&scryptN=65536", .invalid("scryptN", rule: "left out unless addPassword is 1")),
    (encrypt + "plaintext=?&filename=f", .invalid("plaintext", rule: "in base64")),
    (encrypt + "plaintext=AA%3D&filename=f", .invalid("plaintext", rule: "in base64")),
    (encrypt + "plaintext=AAE&filename=f", .invalid("plaintext", rule: "in base64")),
    (encrypt + "plaintext=&filename=", .invalid("filename", rule: "1 to 1024 bytes")),
    (decrypt + "encryptedData=AB==", .invalid("encryptedData", rule: "in base64")),
    (encrypt + "plaintext=%", .malformed), (encrypt + "plaintext=%4", .malformed),
    (encrypt + "plaintext=%4g", .malformed), (encrypt + "plaintext=a b", .malformed),
    (encrypt + "plaintext=a\n", .malformed), (encrypt + "plaintext=a#b", .malformed),
    (encrypt + "plaintext=a&description=%FF", .invalid("description", rule: "text in UTF-8")),
    (encrypt + "plaintext=a&description=%00", .invalid("description", rule: "text in UTF-8")),
    ("coresecret://x-callback-url/delete?plaintext=a", .unknownAction),
    ("coresecret://x-callback-url/", .unknownAction),
    ("coresecret://x-callback-url/" + String(repeating: "a", count: 1000), .unknownAction),
    ("coresecret://elsewhere/encrypt?plaintext=a", .otherScheme), ("", .otherScheme), ("coresecret:", .otherScheme),
  ])
  func `a faulty request is refused by its fault`(_ url: String, _ expected: CallbackError) {
    #expect(fault(url) == expected)
  }

  @Test(arguments: [
    "1", "32767", "32769", "49152", "2097152", "-32768", "0x8000", "99999999999999999999", "+32768", "032768",
  ])
  func `scrypt takes only costs that the program accepts`(_ cost: String) {
    #expect(
      fault(encrypt + "plaintext=a&addPassword=1&scryptN=\(cost)")
        == .invalid("scryptN", rule: "a power of two from 32768 to 1048576"))
  }

  @Test func `a request of more than the limit is refused`() {
    let long = String(repeating: "a", count: CallbackRequest.byteLimit)
    #expect(fault(encrypt + "plaintext=" + long) == .tooLong)
  }

  @Test func `more parameters than anybody needs are refused`() {
    #expect(fault(encrypt + String(repeating: "a=b&", count: 65) + "plaintext=a") == .malformed)
  }

  @Test func `a faulty request can still be answered`() {
    let url = Array((encrypt + "store=7&x-error=client%3A%2F%2Ffailed").utf8)
    #expect(CallbackTargets(of: url.span.bytes)?.failure?.text == "client://failed")
  }
}
