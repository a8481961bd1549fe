import Foundation
import Glibc
package import Sodium
import Synchronization
package import XMPPRequests

/// A real server of XMPP on loopback, with a certificate of its own. It ends with the process of the tests.
package final class ChatServer: @unchecked Sendable {
  /// Why there is no server.
  package struct Failure: Error, CustomStringConvertible {
    /// In words.
    package let description: String
    /// With these words.
    package init(_ description: String) { self.description = description }
  }

  /// Which server it is.
  package enum Kind: String, CaseIterable, Sendable {
    case prosody, ejabberd

    /// Where its modules lie, in Debian's packages.
    var isInstalled: Bool {
      switch self {
      case .prosody: FileManager.default.isExecutableFile(atPath: "/usr/bin/prosody")
      case .ejabberd: Self.modules != nil && FileManager.default.isExecutableFile(atPath: "/usr/bin/erl")
      }
    }

    static let modules: String? = {
      var found = glob_t()
      defer { globfree(&found) }
      guard glob("/usr/lib/*/ejabberd-*/ebin", 0, nil, &found) == 0, let path = found.gl_pathv?[0] else { return nil }
      return String(cString: path)
    }()
  }

  /// Without the servers the tests are skipped, but not where they have to run.
  package static let isAvailable =
    ProcessInfo.processInfo.environment["CI"] != nil || Kind.allCases.allSatisfy { $0.isInstalled }

  /// Which server it is.
  package let kind: Kind
  /// Where it listens, on 127.0.0.1.
  package let port: UInt16
  /// Its own, with its log.
  package let folder: String
  private var process = Process()
  private var input = Pipe()

  /// The server of this kind that several tests share.
  package static func shared(_ kind: Kind) throws -> ChatServer {
    try servers.withLock { servers in
      if let server = servers[kind] { return server }
      let server = try ChatServer(kind)
      servers[kind] = server
      return server
    }
  }

  private static let servers = Mutex<[Kind: ChatServer]>([:])

  /// A Prosody that reads so many kilobytes a second of a connection and no more: Debian's own settings are like that.
  package static func slow(kilobytes: Int) throws -> ChatServer { try ChatServer(.prosody, rate: kilobytes) }

  private init(_ kind: Kind, rate: Int? = nil) throws {
    self.kind = kind
    port = UInt16(try Loopback.freePort())
    folder = FileManager.default.temporaryDirectory.appending(path: "xmpp-\(UUID())").path
    try FileManager.default.createDirectory(atPath: folder + "/data", withIntermediateDirectories: true)
    try Self.makeCertificates(folder)
    let name = kind == .prosody ? "prosody.cfg.lua" : "ejabberd.yml"
    let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Servers/\(name)")
    var text = try String(contentsOf: source, encoding: .utf8)
    if let rate {
      let limits = "limits = { c2s = { rate = \"\(rate)kb/s\" } }\n"
      text = text.replacing("\"mam\",", with: "\"mam\", \"limits\",")
        .replacing("VirtualHost", with: limits + "VirtualHost", maxReplacements: 1)
    }
    try text.replacing("FOLDER", with: folder).replacing("PORT", with: String(port))
      .write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
    if getuid() == 0 { _ = try Self.run("/usr/bin/chown", ["-R", kind.rawValue, folder]) }
    try start()
  }

  /// Starts it, and waits until it listens.
  package func start() throws {
    let user =
      getuid() == 0
      ? "setpriv --reuid \(kind.rawValue) --regid \(kind.rawValue) --init-groups " : ""
    let command =
      switch kind {
      case .prosody: "prosody --config '\(folder)/prosody.cfg.lua' -F"
      // Without a node name there is no epmd, and nothing listens but the server itself.
      case .ejabberd:
        "erl -noinput -mnesia dir '\"\(folder)/data\"' -s ejabberd -pa '\(Kind.modules ?? "")'"
      }
    process = Process()
    input = Pipe()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    // It ends when its input does: with this process at the latest.
    process.arguments = [
      "-c",
      "exec 3<&0; { cat <&3 >/dev/null; kill -9 $$; } & "
        + "exec \(user)\(command) 3<&- </dev/null >>'\(folder)/output' 2>&1",
    ]
    process.currentDirectoryURL = URL(fileURLWithPath: "/")
    process.environment = ProcessInfo.processInfo.environment.merging([
      "HOME": folder, "EJABBERD_CONFIG_PATH": folder + "/ejabberd.yml", "EJABBERD_LOG_PATH": folder + "/ejabberd.log",
      "ERL_CRASH_DUMP": folder + "/crash",
    ]) { $1 }
    process.standardInput = input
    try process.run()
    // Foundation doesn't know whether it runs: what kills it keeps open what Foundation tells its end by.
    let end = ContinuousClock.now + .seconds(300)
    while !Loopback.answers(port) {
      let state = try? String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8)
      guard let state, !state.contains(") Z "), .now < end else {
        throw Failure("\(kind) did not start, see \(folder)/output")
      }
      usleep(20_000)
    }
  }

  /// Returns when it knows this account also after it was killed: ejabberd writes down a little later what is new.
  package func hasKept(_ name: String) async throws {
    guard kind == .ejabberd else { return }
    let file = URL(filePath: "\(folder)/data/passwd.DAT")
    while (try? Data(contentsOf: file))?.range(of: Data(name.utf8)) == nil {
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  /// SIGKILL: it has no chance to put anything in order.
  package func kill() {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  /// The file of the authority that has signed its certificate.
  package var certificates: String { folder + "/authority.pem" }

  /// An account here, whether or not it exists.
  package func account(_ name: String, certificates: String? = nil) throws -> XMPPAccount {
    try XMPPAccount(
      JID("\(name)@localhost"), host: "127.0.0.1", port: port, certificates: certificates ?? self.certificates)
  }

  static func makeCertificates(_ folder: String) throws {
    func ssl(_ arguments: String) throws {
      _ = try run("/usr/bin/openssl", arguments.split(separator: " ").map(String.init), in: folder)
    }
    try "subjectAltName=DNS:localhost\n".write(toFile: folder + "/names", atomically: true, encoding: .utf8)
    try ssl("req -x509 -newkey rsa:2048 -nodes -keyout authority.key -out authority.pem -days 9 -subj /CN=tests")
    try ssl("req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost")
    try ssl(
      "x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 9 -extfile names -out server.pem"
    )
    let both = try ["/server.pem", "/server.key"].map { try String(contentsOfFile: folder + $0, encoding: .utf8) }
    try both.joined().write(toFile: folder + "/both.pem", atomically: true, encoding: .utf8)
  }

  /// Runs a program and returns what it writes.
  @discardableResult
  package static func run(_ path: String, _ arguments: [String], in folder: String = "/") throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.currentDirectoryURL = URL(fileURLWithPath: folder)
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let bytes = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failure("\(path) \(arguments) failed") }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// The password of a test's account.
package func password(_ name: String) throws -> SecretBytes {
  try SecretBytes(copying: Array("secret of \(name) <&'\">".utf8).span.bytes)
}
