import Sodium
import Testing

@testable import CallbackURL

/// What other programs get back (C86, C88, C90, C91).
@Suite struct AnswerTests {
  @Test(arguments: [
    "http://example.org/", "https://example.org/?", "HTTPS://example.org/", "file:///tmp/x", "javascript:alert(1)",
    "data:,",
    "mailto:a@example.org", "ws://example.org", "coresecret://x-callback-url/encrypt?plaintext=a",
    "web+evil://example.org", "ext+evil://example.org", "webcal://example.org/", "WebDAVs://example.org/",
    "steam://openurl/", "microsoft-edge:https://example.org", "microsoft-edge-http://example.org",
    "magnet:?tr=http://example.org", "dict://example.org/d:x", "ldap://example.org", "gemini://example.org/",
    "vnc://example.org", "fish://example.org/", "googlechrome://navigate?url=x", "x-www-browser://x", "git+https://x",
    "org.mozilla.firefox://open", "chrome-extension://x/", "sftp://example.org", "sip://a@example.org", "intent://x",
    "view-source://x", "whatsapp://send?text=", "smb://example.org/x", "admin:///etc/passwd",
  ])
  func `an answer never goes to the web, to a file or round in circles`(_ url: String) {
    #expect(throws: CallbackError.forbiddenTarget("x-success")) { try target(url) }
  }

  @Test(arguments: [
    "client://open?url=http://example.org/", "client://open?url=HTTPS%3A%2F%2Fexample.org", "client://h%74tp%3a",
    "client://done?%68ttps:",
  ])
  func `no address of the web hides in the URL for an answer`(_ url: String) {
    #expect(throws: CallbackError.forbiddenTarget("x-success")) { try target(url) }
  }

  @Test(arguments: [
    "client://done?http=1", "org.example.client://x", "operator://x", "feeder://http", "x-client+v2://x",
  ])
  func `a program's own scheme is taken`(_ url: String) throws {
    #expect(try target(url).text == url)
  }

  @Test(arguments: [
    "", "client", "1client://", "cli ent://", "client\u{0}://", "://", "cliént://", "client://\u{7F}",
    "evil.example:443/x", "localhost:8080/x", "client:", "client:/x", "client:x://",
    String(repeating: "a", count: 65) + "://",
  ])
  func `an answer goes to a URL, and a host with its port is none`(_ url: String) {
    #expect(throws: CallbackError.invalid("x-success", rule: "a URL that begins with its program's scheme and ://")) {
      try target(url)
    }
  }

  @Test(arguments: [
    ("client://done", "client://done?encryptedData=%41%41%45%3D"),
    ("client://done?", "client://done?encryptedData=%41%41%45%3D"),
    ("client://done?a=b", "client://done?a=b&encryptedData=%41%41%45%3D"),
    ("client://done?&a=b&", "client://done?&a=b&encryptedData=%41%41%45%3D"),
  ])
  func `parameters are put behind those that are there`(_ url: String, _ expected: String) throws {
    let data: [UInt8] = [0, 1]
    #expect(text(try target(url).answer(encryptedData: data.span.bytes)) == expected)
  }

  @Test func `what a client gets of a decrypted text is what was encrypted`() throws {
    let plaintext = Array("ä&b=%\n".utf8)
    let answer = try target("client://done?").answer(
      plaintext: plaintext.span.bytes, fileName: nil, description: "two words")
    let parameters = try parameters(of: answer)
    #expect(parameters["plaintext"] == "ä&b=%\n")
    #expect(parameters["description"] == "two words")
    #expect(parameters["filename"] == nil)
  }

  @Test func `the content of a file is sent in base64, with its name`() throws {
    let plaintext: [UInt8] = [0, 255]
    let name: SecretBytes? = try SecretBytes(copying: Array("f.bin".utf8).span.bytes)
    let answer = try target("client://done?").answer(plaintext: plaintext.span.bytes, fileName: name, description: nil)
    let parameters = try parameters(of: answer)
    #expect(parameters["plaintext"] == "AP8=")
    #expect(parameters["filename"] == "f.bin")
    #expect(parameters["description"] == nil)
  }

  @Test func `a failure is told with its code and words`() throws {
    let answer = try target("client://failed?id=7").answer(errorCode: 8, message: "it is damaged")
    let parameters = try parameters(of: answer)
    #expect(parameters["id"] == "7")
    #expect(parameters["errorCode"] == "8")
    #expect(parameters["errorMessage"] == "it is damaged")
  }

  @Test func `a cancelled request is answered by the URL as it is`() throws {
    #expect(text(try target("client://cancelled?id=7&").answer()) == "client://cancelled?id=7&")
  }

  @Test func `every byte survives the way there and back`() throws {
    let all = (0...255).map { UInt8($0) }
    let base64 = try Base64Text.encode(all.span.bytes)
    let answer = try target("client://done?").answer(plaintext: base64.bytes, fileName: nil, description: nil)
    let found = try parameters(of: answer)["plaintext"]
    let back = try #require(found)
    let characters = Array(back.utf8)
    let decoded = try Base64Text.decode(characters.span.bytes)
    switch decoded {
    case .some(let decoded): #expect(decoded.withUnsafeBytes { Array($0) } == all)
    case .none: Issue.record("base64 isn't read back")
    }
  }

  private func parameters(of answer: borrowing SecretBytes) throws -> [String: String] {
    let url = Array(text(answer).utf8)
    let start = try #require(url.firstIndex(of: UInt8(ascii: "?"))) + 1
    let query = url[start...].map { $0 }
    let parameters = try QueryParameters(query.span.bytes)
    var values: [String: String] = [:]
    for place in parameters.places {
      let name = query.span.bytes.text(place.name)
      switch try parameters.value(name, in: query.span.bytes) {
      case .some(let value): values[name] = text(value)
      case .none: break
      }
    }
    return values
  }
}

/// The example in `docs/formats/callback.md`.
@Suite struct DocumentedCallbackTests {
  @Test func `the page's example is read and answered as it says`() throws {
    let facts = try facts(
      "coresecret://x-callback-url/encrypt?&plaintext=two%20words&description=Example&x-source=Client"
        + "&x-success=client%3A%2F%2Fdone%3FIACRequestID%3D7%26IACResponseType%3D0%26")
    #expect(facts.content == Array("two words".utf8))
    let data: [UInt8] = [0, 1]
    let answer = try #require(facts.targets.success).answer(encryptedData: data.span.bytes)
    #expect(text(answer) == "client://done?IACRequestID=7&IACResponseType=0&encryptedData=%41%41%45%3D")
  }
}
