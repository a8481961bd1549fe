import Foundation
import Sodium
import Testing

@testable import SealedPayload

@Suite("The example in docs/formats/payload.md")
struct DocumentedExampleTests {
  /// The page without blanks, so that hexadecimal can be broken and grouped there as it reads best.
  private func page() throws -> String {
    let document = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/formats/payload.md")
    return try String(contentsOf: document, encoding: .utf8).filter { !$0.isWhitespace }
  }

  private func ciphertext(password: consuming PasswordLayer?) throws -> [UInt8] {
    let header = try PayloadHeader(kind: .note, mediaType: "text/plain")
    let sealer = try PayloadSealer(key: testKey(), header: header, bodyByteCount: 5, password: password)
    return try drain(sealer, body: Array("hello".utf8))
  }

  private func expectDescribed(_ ciphertext: [UInt8]) throws {
    let page = try page()
    let digest = try PlainHashes.sha256(ciphertext.span.bytes, RawSpan())
    #expect(page.contains("\(ciphertext.count)bytes"))
    #expect(page.contains(hexadecimal(ciphertext[..<32])))
    #expect(page.contains(hexadecimal(ciphertext.suffix(16))))
    #expect(page.contains(digest.description))
  }

  @Test("without a password is what this code writes")
  func plain() throws {
    let header = try PayloadHeader(kind: .note, mediaType: "text/plain")
    let body = Array("hello".utf8)
    let length = UInt8(header.byteCount + body.count)
    let front = [0, 0, 0, 0, 0, 0, 0, length] + header.bytes.withUnsafeBytes { Array($0) } + body
    #expect(try page().contains(hexadecimal(front)))
    try expectDescribed(ciphertext(password: nil))
  }

  @Test("with a password is what this code writes")
  func password() throws {
    let layer = try PasswordLayer(password: secret("correct horse"), logarithm: 15, salt: Array(0..<32))
    let key = try layer.key()
    let commitment = try PasswordLayer.commitment(to: key)
    let keyText = key.withUnsafeBytes { hexadecimal($0) }
    let commitmentText = commitment.withUnsafeBytes { hexadecimal($0) }
    #expect(try page().contains(keyText))
    #expect(try page().contains("010f" + hexadecimal(Array(0..<32)) + commitmentText))
    try expectDescribed(ciphertext(password: layer))
  }
}
