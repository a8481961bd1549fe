import Foundation
import PeerAuth
import ShamirKit
import Sodium
import Testing

@testable import VaultProtocol

@Suite("The example in docs/formats/protocol.md")
struct WalkedExampleTests {
  private func documentation() throws -> String {
    let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/formats/protocol.md")
    return try String(contentsOf: page.standardized, encoding: .utf8)
  }

  /// Name and hexadecimal, 64 digits a line.
  private func rendered(_ values: [(String, [UInt8])]) -> String {
    values.map { name, bytes in
      let lines = stride(from: 0, to: bytes.count, by: 32).map { hexadecimal(bytes[$0..<min($0 + 32, bytes.count)]) }
      return "\(name)\n" + lines.map { "    \($0)\n" }.joined()
    }.joined()
  }

  private func expectDocumented(_ values: [(String, [UInt8])]) throws {
    let text = rendered(values)
    #expect(try documentation().contains("```\n\(text)```"), "expected:\n```\n\(text)```")
  }

  /// The bytes under a name that stands alone in its block.
  private func documented(_ name: String) throws -> [UInt8] {
    let block = try #require(documentation().components(separatedBy: "```\n\(name)\n").dropFirst().first)
    let text = try #require(block.components(separatedBy: "```").first)
    return try #require(bytes(hexadecimal: text.filter { !$0.isWhitespace }))
  }

  @Test("names the secret as this code does, and challenges the session of the other example")
  func names() throws {
    try expectDocumented(WalkedExample().names())
    let session = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/formats/peerauth.md")
    let text = try String(contentsOf: session.standardized, encoding: .utf8).filter { !$0.isWhitespace }
    #expect(text.contains("Handshakehash" + WalkedExample.handshakeHash))
  }

  @Test("has the header that this code makes, field by field")
  func header() throws {
    let example = try WalkedExample()
    let fields = try example.headerFields()
    #expect(fields.flatMap(\.1) == example.header.bytes)
    try expectDocumented(fields)
  }

  @Test("has the contents of a sealed share that this code makes")
  func sealedContents() throws { try expectDocumented(WalkedExample().sealedContents()) }

  @Test("has a sealed share that this code opens")
  func sealedShare() throws {
    let example = try WalkedExample()
    let sealed = try documented("sealed share")
    let opened = try SealedShare.open(
      sealed.span.bytes, with: example.people[1], header: example.header, index: 2, dealer: example.people[0].keys)
    let share = exposed(opened.share.bytes)
    let salt = exposed(opened.salt)
    #expect(try share == example.shareBytes(2))
    #expect(salt == example.salts[1])
  }

  @Test("has the messages that this code makes")
  func messages() throws { try expectDocumented(WalkedExample().messages()) }

  @Test("has the messages of a meeting that this code makes")
  func meetingMessages() throws { try expectDocumented(WalkedExample().meetingMessages()) }

  @Test("has the contents of an introduction that this code makes")
  func introductionContents() throws { try expectDocumented(WalkedExample().introductionContents()) }

  @Test("has the messages about holders that this code makes")
  func introductionMessages() throws { try expectDocumented(WalkedExample().introductionMessages()) }

  @Test("names every type of message with its number and limit")
  func table() throws {
    let page = try documentation()
    for type in MessageType.allCases {
      let number = String(type.rawValue, radix: 16)
      let row = "| 0x\(String(repeating: "0", count: 4 - number.count))\(number) |"
      let line = try #require(page.components(separatedBy: "\n").first { $0.hasPrefix(row) }, "\(row)")
      #expect(line.hasSuffix("| \(type.byteLimit) |"), "\(line)")
    }
  }

  @Test("names every reason of refusal with its number")
  func reasons() throws {
    let page = try documentation()
    for reason in RefusalReason.allCases { #expect(page.contains("\n| \(reason.rawValue) | "), "\(reason)") }
  }
}
