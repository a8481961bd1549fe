import Foundation
import Testing

/// The program age, which finds the plugin in a folder of its own as it would in PATH.
struct AgeBench {
  static let program = "/usr/bin/age"
  static var isAvailable: Bool { FileManager.default.isExecutableFile(atPath: program) }
  /// rage's library from PyPI, in the virtual environment that `scripts/pypi` makes.
  static let python =
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: ".build/pyrage/bin/python").path
  static var isPythonAvailable: Bool { FileManager.default.isExecutableFile(atPath: python) }

  let bench: Bench
  private let path: String

  init(_ bench: Bench) throws {
    self.bench = bench
    let folder = bench.folder + "/plugins"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: folder + "/age-plugin-quorum", withDestinationPath: Bench.vault)
    path = folder + ":" + (Bench.environment["PATH"] ?? "")
  }

  /// Runs age to its end, without a terminal.
  func run(
    _ peer: Peer, _ arguments: String..., program: String = AgeBench.program,
    at location: SourceLocation = #_sourceLocation
  ) async throws -> Outcome {
    try await bench.start(
      program, arguments, environment: peer.environment.merging(["PATH": path]) { $1 }, folder: peer.folder
    ).end(within: 240, location)
  }

  /// Starts age at a terminal.
  func terminal(_ peer: Peer, _ arguments: String) throws -> PseudoTerminal {
    try PseudoTerminal(peer, ["-c", "PATH='\(path)'; export PATH; exec age \(arguments)"], program: "/bin/sh")
  }
}
