import Foundation
import Glibc
import Sodium
import Synchronization
import Testing
import XMPPLink

/// A real server of XMPP on loopback, with a certificate of its own. It ends with the process of the tests.
final class ChatServer: @unchecked Sendable {
  enum Kind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case prosody, ejabberd
    var testDescription: String { rawValue }

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
  static let isAvailable =
    ProcessInfo.processInfo.environment["CI"] != nil || Kind.allCases.allSatisfy { $0.isInstalled }
  static let reason: Comment = "prosody and ejabberd aren't installed"

  let kind: Kind
  let port: UInt16
  let folder: String
  private var process = Process()
  private var input = Pipe()

  /// The server of this kind that several tests share.
  static func shared(_ kind: Kind) throws -> ChatServer {
    try servers.withLock { servers in
      if let server = servers[kind] { return server }
      let server = try ChatServer(kind)
      servers[kind] = server
      return server
    }
  }

  private static let servers = Mutex<[Kind: ChatServer]>([:])

  private init(_ kind: Kind) throws {
    self.kind = kind
    port = try Loopback.freePort()
    folder = FileManager.default.temporaryDirectory.appending(path: "xmpp-\(UUID())").path
    try FileManager.default.createDirectory(atPath: folder + "/data", withIntermediateDirectories: true)
    try Self.makeCertificates(folder)
    let name = kind == .prosody ? "prosody.cfg.lua" : "ejabberd.yml"
    let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Servers/\(name)")
    let text = try String(contentsOf: source, encoding: .utf8)
    try text.replacing("FOLDER", with: folder).replacing("PORT", with: String(port))
      .write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
    if getuid() == 0 { _ = try Self.run("/usr/bin/chown", ["-R", kind.rawValue, folder]) }
    try start()
  }

  /// Starts it, and waits until it listens.
  func start() throws {
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
      "exec 3<&0; \(user)\(command) 3<&- </dev/null >>'\(folder)/output' 2>&1 & server=$!; cat <&3 >/dev/null; "
        + "kill -9 $server; wait $server 2>/dev/null",
    ]
    process.currentDirectoryURL = URL(fileURLWithPath: "/")
    process.environment = ProcessInfo.processInfo.environment.merging([
      "HOME": folder, "EJABBERD_CONFIG_PATH": folder + "/ejabberd.yml", "EJABBERD_LOG_PATH": folder + "/ejabberd.log",
      "ERL_CRASH_DUMP": folder + "/crash",
    ]) { $1 }
    process.standardInput = input
    try process.run()
    let deadline = ContinuousClock.now + .seconds(60)
    while !Loopback.answers(port) {
      try #require(ContinuousClock.now < deadline && process.isRunning, "\(kind) did not start, see \(folder)/output")
      usleep(20_000)
    }
  }

  /// SIGKILL: it has no chance to put anything in order.
  func kill() {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  var certificates: String { folder + "/authority.pem" }

  func account(_ name: String, certificates: String? = nil) throws -> XMPPAccount {
    try XMPPAccount(
      JID("\(name)@localhost"), host: "127.0.0.1", port: port, certificates: certificates ?? self.certificates)
  }

  /// A new account and its connection.
  func newConnection(_ name: String) async throws -> TestClient {
    let name = name + "-" + String(XMPPConnection.freshID().prefix(8))
    let account = try account(name)
    try await XMPPConnection.register(account, password: password(name))
    return try await TestClient(account, name: name)
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

  @discardableResult
  static func run(_ path: String, _ arguments: [String], in folder: String = "/") throws -> String {
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
    try #require(process.terminationStatus == 0, "\(path) \(arguments)")
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// The password of a test's account.
func password(_ name: String) throws -> SecretBytes {
  try SecretBytes(copying: Array("secret of \(name) <&'\">".utf8).span.bytes)
}

/// Sockets of the tests.
enum Loopback {
  static func address(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  static func with<Result>(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var address = address(port)
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, size) }
    }
  }

  /// A listening socket on a free port.
  static func listener() throws -> (socket: Int32, port: UInt16) {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    try #require(socket >= 0 && with(0) { bind(socket, $0, $1) } == 0 && listen(socket, 8) == 0)
    var address = address(0)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &size) }
    }
    try #require(result == 0)
    return (socket, UInt16(bigEndian: address.sin_port))
  }

  static func freePort() throws -> UInt16 {
    let (socket, port) = try listener()
    close(socket)
    return port
  }

  static func answers(_ port: UInt16) -> Bool {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    return socket >= 0 && with(port) { connect(socket, $0, $1) } == 0
  }
}
