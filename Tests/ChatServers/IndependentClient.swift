package import Foundation
import Glibc
package import XMPPRequests

/// slixmpp from PyPI, in the virtual environment that `scripts/pypi` makes: a client that shares nothing with this one.
package final class IndependentClient: @unchecked Sendable {
  static let python =
    ProcessInfo.processInfo.environment["XMPP_PYTHON"]
    ?? URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: ".build/slixmpp/bin/python").path
  /// Without it its tests are skipped, but not where they have to run.
  package static let isAvailable =
    ProcessInfo.processInfo.environment["CI"] != nil || FileManager.default.isExecutableFile(atPath: python)

  private let process = Process()

  /// Logs in, and returns when that is done. See `Servers/independent_client.py` for what it does then.
  package init(address: JID, name: String, on server: ChatServer) throws {
    process.executableURL = URL(fileURLWithPath: Self.python)
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
      path: "Servers/independent_client.py")
    // A password of a test, on loopback.
    process.arguments = [
      script.path, address.description, "secret of \(name) <&'\">", String(server.port), server.certificates,
    ]
    let output = Pipe()
    process.standardOutput = output
    _ = FileManager.default.createFile(atPath: server.folder + "/independent", contents: nil)
    process.standardError = FileHandle(forWritingAtPath: server.folder + "/independent")
    try process.run()
    let ready = output.fileHandleForReading.availableData
    guard String(decoding: ready, as: UTF8.self).hasPrefix("ready") else {
      kill()
      throw ChatServer.Failure("the independent client did not log in, see \(server.folder)/independent")
    }
  }

  /// Ends it at once.
  package func kill() {
    _ = Glibc.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }
}
