import Foundation
import Glibc
import Testing

/// The built program, as a process of its own.
final class ServerProcess: @unchecked Sendable {
  private let process = Process()
  private let output = Pipe()
  private let complaints: String
  private(set) var place = ""

  /// The program: of the release that `VAULT_PROGRAMS` names, or else built with the tests.
  private static var program: String {
    (ProcessInfo.processInfo.environment["VAULT_PROGRAMS"].map { $0.isEmpty ? products : $0 } ?? products)
      + "/vault-server"
  }

  /// What was built with the tests, beside the running test bundle.
  static let products: String = {
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(fileURLWithPath: tests).deletingLastPathComponent().path
  }()

  init(_ folder: Folder, store: String? = nil, _ arguments: [String] = [], environment: [String: String] = [:]) throws {
    complaints = folder.path + "/complaints-" + UUID().uuidString
    try Data().write(to: URL(fileURLWithPath: complaints))
    process.executableURL = URL(fileURLWithPath: Self.program)
    process.arguments =
      ["--listen", "127.0.0.1:0"] + (store.map { ["--store", $0] } ?? ["--data", folder.data]) + [
        "--keep-free", "0", "--groups-per-day", "0",
      ] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardOutput = output
    process.standardError = FileHandle(forWritingAtPath: complaints)
    try process.run()
  }

  deinit { kill(process.processIdentifier, SIGKILL) }

  /// Starts it, and returns when it listens.
  static func start(
    _ folder: Folder, store: String? = nil, _ arguments: [String] = [], environment: [String: String] = [:]
  ) async throws -> ServerProcess {
    let server = try ServerProcess(folder, store: store, arguments, environment: environment)
    try await server.ready()
    return server
  }

  /// Returns when it listens.
  func ready() async throws {
    let line = try await offTheCooperativePool { [self] in readLine() }
    place = try #require(line.hasPrefix("listening on ") ? String(line.dropFirst(13)) : nil, "\(log)")
  }

  private func readLine() -> String {
    var line: [UInt8] = []
    while let byte = try? output.fileHandleForReading.read(upToCount: 1)?.first, byte != 10 { line.append(byte) }
    return String(decoding: line, as: UTF8.self)
  }

  /// Its number.
  var number: Int32 { process.processIdentifier }

  /// What it wrote to standard error.
  var log: String { (try? String(contentsOfFile: complaints, encoding: .utf8)) ?? "" }

  func signal(_ signal: Int32) { kill(process.processIdentifier, signal) }

  /// Waits for its end, and returns its status, or minus the signal.
  func end() async throws -> Int32 {
    try await offTheCooperativePool { [process] in process.waitUntilExit() }
    return process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
  }
}
