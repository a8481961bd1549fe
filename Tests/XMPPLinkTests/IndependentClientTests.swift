import Foundation
import Glibc
import Testing

@testable import XMPPLink

/// slixmpp from PyPI in a virtual environment: `python3 -m venv .build/slixmpp && .build/slixmpp/bin/pip install
/// slixmpp`.
enum IndependentClient {
  static let python =
    ProcessInfo.processInfo.environment["XMPP_PYTHON"]
    ?? URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: ".build/slixmpp/bin/python").path
  static let isAvailable =
    ProcessInfo.processInfo.environment["CI"] != nil || FileManager.default.isExecutableFile(atPath: python)
}

extension ServerTests {
  @Suite(
    .enabled(if: ChatServer.isAvailable, ChatServer.reason),
    .enabled(if: IndependentClient.isAvailable, "slixmpp isn't installed"), .serialized, .timeLimit(.minutes(3)))
  struct IndependentClientTests {
    @Test(arguments: ChatServer.Kind.allCases)
    func `slixmpp talks with this client, and parcels survive both ways`(_ kind: ChatServer.Kind) async throws {
      let server = try ChatServer.shared(kind)
      let ada = try await server.newConnection("ada")
      let bob = try await server.newConnection("bob")
      bob.connection.logout()
      _ = try await bob.end()

      let process = Process()
      process.executableURL = URL(fileURLWithPath: IndependentClient.python)
      let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
        path: "Servers/independent_client.py")
      // A password of a test, on loopback.
      process.arguments = [
        script.path, bob.address.description, "secret of \(bob.name) <&'\">", String(server.port), server.certificates,
      ]
      let output = Pipe()
      process.standardOutput = output
      _ = FileManager.default.createFile(atPath: server.folder + "/independent", contents: nil)
      process.standardError = FileHandle(forWritingAtPath: server.folder + "/independent")
      try process.run()
      defer {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
      }
      let ready = output.fileHandleForReading.availableData
      try #require(String(decoding: ready, as: UTF8.self).hasPrefix("ready"))

      try await ada.connection.send("hello <&> é", to: bob.address, id: "first")
      #expect(try await ada.message("hello <&> é to you").from.bare == bob.address)
      #expect(try await ada.receipt("first").bare == bob.address)

      let bytes = (0..<150_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
      try bytes.withUnsafeBytes { try Data($0).write(to: URL(fileURLWithPath: server.folder + "/parcel")) }
      let hash = try ChatServer.run("/usr/bin/sha256sum", [server.folder + "/parcel"]).prefix(64)
      try await ada.connection.send(parcel: bytes, to: bob.address, id: "p-1")
      _ = try await ada.message("p-1 \(hash)")
      #expect(try await ada.parcel("back") == bytes)
    }
  }
}
