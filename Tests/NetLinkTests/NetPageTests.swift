import Foundation
import Testing
import XMPPRequests

@testable import NetLink

/// The walked example of `docs/formats/net.md`.
@Suite struct NetPageTests {
  @Test func `the example is what is said`() throws {
    let account = try XMPPAccount(JID("ada@example.org"))
    let frames = [
      NetFrame(.version, version: "0.1.0"),
      NetFrame(.ownVersion, version: "0.1.0"),
      NetFrame(.connect, 1, try ConnectMessage(account, isRegistration: false, resource: "phone").encoded),
      NetFrame(.question, 1, ScramQuestion.opening(.sha256).encoded),
      NetFrame(.proof, 1, ScramQuestion.encode(.success(Array("n,,n=ada,r=x".utf8)))),
      NetFrame(.refusal, 1, XMPPError.wrongPassword.encoded),
    ]
    let said = try frames.map { try FrameHead.bytes(of: $0) + $0.body }
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/formats/net.md")
    let page = try String(contentsOf: path, encoding: .utf8)
    let example = try #require(page.split(separator: "## Example").last?.split(separator: "```").dropFirst().first)
    let shown = example.split(separator: "vault").compactMap { part -> String? in
      let lines = part.split(separator: "\n").filter { $0.hasPrefix("  ") }
      return lines.isEmpty ? nil : lines.joined().filter { $0 != " " }
    }
    #expect(
      shown == said.map { $0.map { byte in String(byte >> 4, radix: 16) + String(byte & 15, radix: 16) }.joined() })
  }
}
