import ChatServers
import Foundation
import Glibc
import Testing

/// Looks again and again until something is so in another process: as long as the suite may take.
func eventually(_ isSo: () async throws -> Bool) async throws {
  while try await !isSo() { try await Task.sleep(for: .milliseconds(5)) }
}

/// A built `vault-server` in a process of its own, on loopback. Ended with its value, and its data removed.
final class ServerProcess {
  /// Where it listens, also after it was started again.
  private(set) var address = ""
  private let options: [String]
  private let folder = FileManager.default.temporaryDirectory.appending(path: "group-link-\(UUID())")
  /// Seconds that its clock is ahead, as `Tests/FaultInjection` reads them; nil leaves the clock alone.
  private let clock: String?
  private var process = Process()

  /// The program: of the release that `VAULT_PROGRAMS` names, or else built with the tests.
  private static var program: String {
    (ProcessInfo.processInfo.environment["VAULT_PROGRAMS"].map { $0.isEmpty ? products : $0 } ?? products)
      + "/vault-server"
  }

  /// Folder of what was built with the tests: that of the running test bundle.
  static var products: String {
    let tests = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    return URL(fileURLWithPath: tests ?? "").deletingLastPathComponent().path
  }

  /// Starts it. `secondsAhead`: its clock isn't the machine's, and can be changed.
  init(_ options: [String] = [], secondsAhead: Int64? = nil) throws {
    self.options = options
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    clock = secondsAhead == nil ? nil : folder.path + "/clock"
    if let secondsAhead { try setClock(ahead: secondsAhead) }
    address = try "http://" + launch(at: "127.0.0.1:\(Loopback.freePort())")
  }

  deinit {
    kill()
    try? FileManager.default.removeItem(at: folder)
  }

  /// Starts it again with what it has kept, at the same place.
  func start() throws { _ = try launch(at: String(address.dropFirst("http://".count))) }

  /// The same, if it doesn't run.
  func startIfEnded() throws { if !process.isRunning { try start() } }

  /// SIGKILL: it has no chance to put anything in order.
  func kill() {
    guard process.isRunning else { return }
    Glibc.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// It takes connections and says nothing, until ``wake()``.
  func freeze() { Glibc.kill(process.processIdentifier, SIGSTOP) }
  func wake() { Glibc.kill(process.processIdentifier, SIGCONT) }

  /// Sets the clock while it runs.
  func setClock(ahead seconds: Int64) throws {
    let path = try #require(clock)
    let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    try #require(file >= 0)
    defer { close(file) }
    let count = withUnsafeBytes(of: seconds) { pwrite(file, $0.baseAddress, $0.count, 0) }
    try #require(count == 8)
  }

  private func launch(at place: String) throws -> String {
    process = Process()
    process.executableURL = URL(fileURLWithPath: Self.program)
    process.arguments =
      ["--listen", place, "--data", folder.path + "/data", "--log-level", "critical", "--groups-per-day", "0"] + options
    var environment = ProcessInfo.processInfo.environment
    if let clock {
      environment["LD_PRELOAD"] = Self.products + "/libFaultInjection.so"
      environment["VAULT_FAULT_CLOCK"] = clock
    }
    process.environment = environment
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    var line = ""
    while !line.hasSuffix("\n") {
      let bytes = output.fileHandleForReading.availableData
      try #require(!bytes.isEmpty, "vault-server did not start")
      line += String(decoding: bytes, as: UTF8.self)
    }
    return String(try #require(line.split { $0.isWhitespace }.last))
  }
}
