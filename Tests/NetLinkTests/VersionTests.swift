import Foundation
import Glibc
import Testing
import Concurrency

@testable import NetLink

/// Both sides are of one version, or don't speak.
@Suite(.timeLimit(.minutes(5))) struct VersionTests {
  @Test(arguments: ["VaultCLI", "VaultScan", "VaultServer"])
  func `all programs are of one version`(_ program: String) throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Sources/\(program)/Version.swift")
    #expect(try String(contentsOf: path, encoding: .utf8).contains("let text = \"\(NetVersion.text)\"\n"))
  }

  @Test func `the Debian packages are of that version, too`() throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../debian/changelog")
    #expect(try String(contentsOf: path, encoding: .utf8).hasPrefix("vault-quorum (\(NetVersion.text)) "))
  }

  @Test(arguments: [NetVersion.text, "0.0.9", nil])
  func `vault-net says its own, and nothing more to who is of another or of none`(_ version: String?) throws {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
    let socket = FrameSocket(ends[0], isOfVault: true)
    let process = try Subprocess.start(netProgram(), ["vault-net"], standard: [ends[1]])
    close(ends[1])
    defer {
      kill(process, SIGKILL)
      waitpid(process, nil, 0)
    }
    if let version { try socket.write(NetFrame(.version, version: version)) }
    try socket.write(NetFrame(.ping, 0))
    #expect(try NetFrame.version(try socket.read { $0.kind == .ownVersion }.body) == NetVersion.text)
    if version == NetVersion.text {
      #expect(try socket.read { _ in true }.kind == .pong)
    } else {
      #expect(throws: FrameSocket.Fault.ended) { try socket.read { _ in true } }
    }
  }
}
