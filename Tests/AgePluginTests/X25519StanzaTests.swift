import Sodium
import Testing

@testable import AgePlugin

struct X25519StanzaTests {
  /// The key of the file, if the secret opens it.
  private func open(_ stanza: X25519Stanza, _ example: Example) throws -> [UInt8]? {
    let secret = try example.secretBytes()
    guard let key = try stanza.fileKey(secret, recipient: X25519.publicKey(of: secret)) else { return nil }
    return key.withUnsafeBytes { Array($0) }
  }

  @Test(arguments: Example.all)
  func `age's own stanza opens to the key of its file`(_ example: Example) throws {
    let stanza = try X25519Stanza(example.arguments, body: example.bodyBytes)
    #expect(try AgeRecipient.text(of: X25519.publicKey(of: example.secretBytes())) == example.recipient)
    #expect(try open(stanza, example) == example.fileKey)
  }

  @Test func `another's stanza doesn't open, and is no error`() throws {
    let stanza = try X25519Stanza(Example.document.arguments, body: Example.document.bodyBytes)
    #expect(try open(stanza, .specification) == nil)
  }

  @Test func `a stanza with another bit doesn't open`() throws {
    let example = Example.document
    for place in 0..<32 {
      var body = example.bodyBytes
      body[place] ^= 1
      #expect(try open(X25519Stanza(example.arguments, body: body), example) == nil)
    }
  }

  @Test(arguments: [0, 1, 15, 16, 31, 33, 64])
  func `a body of another length is refused before it is tried`(_ count: Int) {
    #expect(throws: AgeError.malformed("the body of an X25519 stanza")) {
      try X25519Stanza(Example.document.arguments, body: [UInt8](repeating: 0, count: count))
    }
  }

  @Test(arguments: [
    [], ["A"], [Example.document.arguments[0], "more"], [Example.document.arguments[0] + "="],
    // Bits behind the last byte.
    [String(repeating: "A", count: 42) + "B"], [String(repeating: "A", count: 42)],
    [String(repeating: "A", count: 42) + "-"],
  ])
  func `arguments that are no share are refused`(_ arguments: [String]) {
    #expect(throws: AgeError.malformed("the share of an X25519 stanza")) {
      try X25519Stanza(arguments, body: Example.document.bodyBytes)
    }
  }

  @Test func `a share that leads to zero with every key is none`() {
    #expect(throws: AgeError.malformed("the share of an X25519 stanza")) {
      try X25519Stanza([String(repeating: "A", count: 43)], body: Example.document.bodyBytes)
    }
  }
}
