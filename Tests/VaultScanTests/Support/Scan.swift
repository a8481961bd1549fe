import Foundation
import Testing

/// One run of the built `vault-scan`.
struct Scan {
  let status: Int32
  let output: String
  let complaint: String

  /// Runs the program on a picture, given as a file.
  init(of picture: [UInt8]) throws {
    self = try Self.withFile(picture) { path in try Scan(arguments: [path]) }
  }

  /// Runs the program with `arguments`, with a file as its standard input if one is named, and `additions` in its
  /// environment. It must end by itself unless it `mayDie`; its status is then 128 and the signal.
  init(
    arguments: [String], input: String? = nil, additions: [String: String] = [:], mayDie: Bool = false,
    program: String = "vault-scan"
  ) throws {
    let process = Process()
    process.executableURL = try Self.program(program)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(additions) { _, new in new }
    let (output, complaint) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = complaint
    process.standardInput =
      try input.map { try FileHandle(forReadingFrom: URL(fileURLWithPath: $0)) }
      ?? FileHandle.nullDevice
    try process.run()
    // What the program writes fits the pipes, so that reading one after the other can't block it.
    self.output = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    self.complaint = String(decoding: complaint.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let died = process.terminationReason != .exit
    #expect(!died || mayDie, "\(program) was ended by signal \(process.terminationStatus)")
    status = process.terminationStatus + (died ? 128 : 0)
  }

  /// What the lines of the output hold, after checking that they keep to the protocol.
  func contents() throws -> [[UInt8]] {
    try output.split(separator: "\n").map { line in
      let parts = line.split(separator: " ", omittingEmptySubsequences: false)
      try #require(parts.count == 3 && parts[0] == "qr")
      let content = try #require(Data(base64Encoded: String(parts[2])))
      #expect(String(content.count) == parts[1])
      return Array(content)
    }
  }

  /// Lends the path of a temporary file with these bytes.
  static func withFile<Result>(_ bytes: [UInt8], _ body: (String) throws -> Result) throws -> Result {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("vault-scan-test-\(UUID().uuidString)")
    try Data(bytes).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    return try body(file.path)
  }

  /// The programs lie beside the running test bundle, in the build folder.
  static func program(_ name: String = "vault-scan") throws -> URL {
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let program = URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent(name)
    try #require(FileManager.default.isExecutableFile(atPath: program.path), "no \(program.path)")
    return program
  }
}

/// Checks that a picture is read as exactly one content.
func expectScan(_ picture: [UInt8], gives content: [UInt8], location: SourceLocation = #_sourceLocation) throws {
  let scan = try Scan(of: picture)
  #expect(scan.status == 0, "\(scan.complaint)", sourceLocation: location)
  #expect(try scan.contents() == [content], sourceLocation: location)
}
