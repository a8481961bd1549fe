import Testing

@testable import HTTPRequests

@Suite struct ServerAddressTests {
  @Test(arguments: [
    ("https://shares.example", "https://shares.example"),
    ("https://shares.example/", "https://shares.example"),
    ("https://shares.example:8443/vault/", "https://shares.example:8443/vault"),
    ("http://localhost:8080", "http://localhost:8080"),
    ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
    ("http://127.9.9.9:8080", "http://127.9.9.9:8080"),
    ("http://[::1]:8080", "http://[::1]:8080"),
  ])
  func `an address of a server is taken, without the slash at its end`(_ text: String, _ expected: String) throws {
    #expect(try ServerAddress(text).description == expected)
  }

  @Test(arguments: [
    "http://shares.example", "http://192.0.2.1", "http://128.0.0.1", "http://[::2]", "http://localhost.example",
    "http://[::ffff:192.0.2.1]",
  ])
  func `without TLS only this machine is reached`(_ text: String) {
    #expect(throws: HTTPError.insecureAddress) { try ServerAddress(text) }
  }

  @Test(arguments: [
    "", "shares.example", "ftp://shares.example", "file:///etc/passwd", "https://", "https:///path",
    "https://user:word@shares.example", "https://user@shares.example", "https://shares.example?x=1",
    "https://shares.example/#part", "https://shares.example/a b", "https://shares.example/\r\nHost: x",
    "https://shärer.example", "https://shares.example:99999", "https://" + String(repeating: "a", count: 600),
  ])
  func `anything else is refused`(_ text: String) {
    #expect { try ServerAddress(text) } throws: { error in
      if case .invalidAddress = error as? HTTPError { true } else { false }
    }
  }
}
