import Foundation
@testable import ShamirKit
import Sodium
import Testing
import WireCodec

@testable import Grouper

/// The example of docs/formats/groups.md, made again from its fixed inputs.
@Suite struct WalkedExampleTests {
  private func repeated(_ byte: UInt8, _ count: Int) -> [UInt8] { [UInt8](repeating: byte, count: count) }

  private func secret(_ byte: UInt8, _ count: Int = 32) throws -> SecretBytes {
    let bytes = repeated(byte, count)
    return try SecretBytes(copying: bytes.span.bytes)
  }

  private func id<Kind>(_ byte: UInt8) throws -> Identifier<Kind> {
    try #require(Identifier<Kind>(repeated(byte, 16)))
  }

  private func values() throws -> [(String, [UInt8])] {
    let keys = try MemberKeys(
      node: id(0x11), seed: secret(0x01), boxSecret: secret(0x02), email: "ann@example.org", name: "Ann")
    let nonce = repeated(0x03, 32)
    let group = try Roster.groupID(owner: keys.card.signingKey, nonce: nonce)
    let key = try EpochKey(group: group, epoch: 1, secret: secret(0x04))
    let servers = try [UInt8](1...3).map {
      try RosterServer(address: "https://s\($0).example.org", group: id(0x20 + $0))
    }
    let users: [ServerUserID] = try [UInt8](1...3).map { try id(0x30 + $0) }
    let roster = try Roster(
      application: "notes", name: "Family", owner: RosterMember(card: keys.card, users: users), threshold: 2,
      sufficient: 2, ttl: 86_400, servers: servers, issued: 1_700_000_000_000, nonce: nonce, key: key)
    let signedRoster = try SignedRoster(roster, by: keys)
    let stream = StreamID(node: keys.card.node, incarnation: 5)
    let content = try UpdateContent(body: .inline(Array(#"{"text":"milk"}"#.utf8)), files: []).encoded()
    let message = try GrouperMessage(
      type: .update, group: group, epoch: 1, id: id(0x41), sequence: 1, className: "Note", objectID: "n1",
      stream: stream, email: "ann@example.org", name: "Ann", sentTime: 1_700_000_000_001,
      version: VersionVector([stream: 1]), time: HybridTime(milliseconds: 1_700_000_000_001, counter: 0),
      content: content)
    let signed = try SignedMessage(message, by: keys)
    let scheme = try ThresholdScheme(threshold: 2, shareCount: 3)
    let random = (UInt8(1)...4).flatMap { repeated($0, 64) }
    let dealing = try Dealing(scheme, wideCoefficients: SecretBytes(copying: random.span.bytes))
    let dealt = try MessageDealing(
      signed.bytes, id: id(0x51), dealing: dealing, nonces: repeated(0x06, 72), key: key)
    #expect(try BlobCombiner.combine([dealt.blobs[0], dealt.blobs[2]], key: key).message == signed.bytes)
    let confirm = try ConfirmContent(
      serial: 1, rosterDigest: signedRoster.digest(), vector: VersionVector([stream: 1]))
    let request = try JoinRequest(application: "notes", by: keys)
    let opened = try GroupBlob.open(dealt.blobs[2], key: key)
    let header = opened.header
    return [
      ("group id", group.bytes), ("signed roster", signedRoster.bytes), ("join request", request.bytes),
      ("signed message", signed.bytes), ("content of a confirm", try confirm.encoded()),
      ("header of blob 3", try header.encoded()), ("name of the dealing", try header.common.name().bytes),
      ("hash of blob 3, and so its share id", try GroupBlob.shareID(dealt.blobs[2]).bytes),
      ("blob 3", dealt.blobs[2]),
    ]
  }

  /// Name and hexadecimal, 64 digits a line.
  private func rendered(_ values: [(String, [UInt8])]) -> String {
    values.map { name, bytes in
      let lines = stride(from: 0, to: bytes.count, by: 32).map { hexadecimal(bytes[$0..<min($0 + 32, bytes.count)]) }
      return "\(name)\n" + lines.map { "    \($0)\n" }.joined()
    }.joined()
  }

  @Test func theDocumentedGroupIsWhatThisCodeMakes() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
    let page = try String(contentsOf: root.appending(path: "docs/formats/groups.md"), encoding: .utf8)
    let text = try rendered(values())
    #expect(page.contains("```\n\(text)```"), "expected:\n\(text)")
  }
}
