import Foundation
import Sodium
import Testing

@testable import AgePlugin

struct DocumentTests {
  @Test func `the example in docs/formats/age.md is what this code reads and writes`() throws {
    let document = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/formats/age.md")
    let page = try String(contentsOf: document, encoding: .utf8)
    let example = Example.document
    let secret = try example.secretBytes()
    let recipient = try X25519.publicKey(of: secret)
    let stanza = try X25519Stanza(example.arguments, body: example.bodyBytes)
    let shared = try X25519.sharedSecret(secret, with: stanza.share)
    let salt = stanza.share + recipient
    let key = try PlainHashes.hkdfSHA256(
      shared.bytes, salt: salt.span.bytes, info: Array("age-encryption.org/v1/X25519".utf8).span.bytes)
    let fileKey = try #require(try opened(stanza, secret, recipient))
    let secrets = [shared.withUnsafeBytes { Array($0) }, key.withUnsafeBytes { Array($0) }, fileKey]
    for line in [
      hexadecimal(example.secret), AgeRecipient.text(of: recipient),
      try QuorumIdentity(keyID: [UInt8](repeating: 0x11, count: 16)).text, "-> X25519 \(example.arguments[0])",
      example.body,
    ] + secrets.map({ hexadecimal($0) }) {
      #expect(page.contains("    \(line)\n"), "\(line)")
    }
  }

  private func opened(
    _ stanza: X25519Stanza, _ secret: borrowing SecretBytes, _ recipient: [UInt8]
  ) throws -> [UInt8]? {
    guard let key = try stanza.fileKey(secret, recipient: recipient) else { return nil }
    return key.withUnsafeBytes { Array($0) }
  }
}
