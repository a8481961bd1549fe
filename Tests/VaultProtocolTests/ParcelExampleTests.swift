import Foundation
import PeerAuth
import Sodium
import Testing
import WireCodec

@testable import VaultProtocol

@Suite("The example in docs/formats/parcel.md")
struct ParcelExampleTests {
  private func documentation() throws -> String {
    let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/formats/parcel.md")
    return try String(contentsOf: page.standardized, encoding: .utf8)
  }

  /// Name and hexadecimal, 64 digits a line.
  private func expectDocumented(_ values: [(String, [UInt8])]) throws {
    let text = values.map { name, bytes in
      let lines = stride(from: 0, to: bytes.count, by: 32).map { hexadecimal(bytes[$0..<min($0 + 32, bytes.count)]) }
      return "\(name)\n" + lines.map { "    \($0)\n" }.joined()
    }.joined()
    #expect(try documentation().contains("```\n\(text)```"), "expected:\n```\n\(text)```")
  }

  /// The bytes under a name that stands alone in its block.
  private func documented(_ name: String) throws -> [UInt8] {
    let block = try #require(documentation().components(separatedBy: "```\n\(name)\n").dropFirst().first)
    let text = try #require(block.components(separatedBy: "```").first)
    return try #require(bytes(hexadecimal: text.filter { !$0.isWhitespace }))
  }

  @Test("derives what this code derives")
  func names() throws { try expectDocumented(ParcelExample().names()) }

  @Test("has the plaintext that this code makes, field by field")
  func plaintext() throws { try expectDocumented(ParcelExample().plaintext()) }

  @Test("has the messages that this code makes")
  func messages() throws { try expectDocumented(ParcelExample().messages()) }

  @Test("has a parcel that this code opens")
  func parcel() throws {
    let example = try ParcelExample()
    let parcel = try Parcel.decode(documented("parcel"), limit: Parcel.byteLimit)
    let letter = try ParcelLetter.open(parcel, with: example.cay) {
      $0 == example.bob.keys.digest ? example.bob.keys : nil
    }
    #expect(parcel.isFor(example.cay.keys.digest) && parcel.hops == 8)
    #expect(try letter.id.bytes == example.parts.id)
    #expect(letter.seed.bytes == example.parts.seed && letter.kind == .request)
    #expect(letter.frames == example.parts.frames)
    #expect(letter.replyKey == example.replyKey.publicKey)
  }

  @Test("has a sealed release that this code opens")
  func sealedRelease() throws {
    let example = try ParcelExample()
    let sealed = try documented("sealed release")
    let release = try SealedRelease.open(sealed.span.bytes, with: example.replyKey)
    let share = exposed(release.share.bytes)
    #expect(release.request == WalkedExample.request && release.share.index == 3)
    #expect(release.salt.withUnsafeBytes { Array($0) } == example.example.salts[2])
    #expect(try share == example.example.shareBytes(3))
  }
}
