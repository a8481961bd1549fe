import Foundation
import Sodium
import Testing
import WireCodec

@testable import ShamirKit

/// The example of docs/formats/shamirkit.md in which a secret is handed on, made again from its fixed inputs.
@Suite struct HandingOnExampleTests {
  private static let pages = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/formats")
    .standardized

  /// Where python3 is. Without it its test is skipped, but not where it has to run.
  private static let python = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    .map { "\($0)/python3" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  private static let isPythonDue = python != nil || ProcessInfo.processInfo.environment["CI"] != nil

  /// 64 bytes for each coefficient.
  private func wide(_ bytes: [UInt8]) throws -> SecretBytes {
    let all = bytes.flatMap { [UInt8](repeating: $0, count: 64) }
    return try SecretBytes(copying: all.span.bytes)
  }

  /// 2 of 3 become 3 of 3 by the dealers 1 and 3.
  private func values() throws -> [(String, [UInt8])] {
    let parent = try Dealing(ThresholdScheme(threshold: 2, shareCount: 3), wideCoefficients: wide([1, 2, 3, 4]))
    let scheme = try ThresholdScheme(threshold: 3, shareCount: 3)
    var values = [("commitments of the parent", try parent.commitments.encoded())]
    var points: [UInt8: [RistrettoPoint]] = [:]
    var subshares: [UInt8: [UInt8: [UInt8]]] = [:]
    for dealer in [1, 3] as [UInt8] {
      let drawn = 16 * dealer
      let dealing = try Dealing(
        scheme, dealing: parent.share(dealer),
        wideCoefficients: wide([0, drawn + 1, drawn + 2, 0, drawn + 4, drawn + 5]))
      let shown = Array(dealing.commitments.points.dropFirst())
      points[dealer] = shown
      values.append(("points of dealer \(dealer)", shown.flatMap(\.bytes)))
      for row in UInt8(1)...3 {
        let bytes = exposed(try dealing.share(row))
        subshares[row, default: [:]][dealer] = bytes
        values.append(("subshare of dealer \(dealer) for row \(row)", bytes))
      }
    }
    let redistribution = try Redistribution(of: parent.commitments, to: scheme, points: points)
    var collector = try ShareCollector(scheme: scheme, commitments: redistribution.commitments)
    for row in UInt8(1)...3 {
      var takeover = try ShareTakeover(redistribution, index: row)
      for (dealer, bytes) in try #require(subshares[row]) { try takeover.add(share(row, bytes), from: dealer) }
      let made = try takeover.share()
      values.append(("share \(row) of the new sharing", exposed(made)))
      try collector.add(made)
    }
    values.append(("commitments of the new sharing", try redistribution.commitments.encoded()))
    try collector.verify()
    let key = try collector.fileKey(for: SecretID(Array(0..<16)))
    values.append(("file key", exposed(key)))
    return values
  }

  /// Name and hexadecimal, 64 digits a line.
  private func rendered(_ values: [(String, [UInt8])]) -> String {
    values.map { name, bytes in
      let lines = stride(from: 0, to: bytes.count, by: 32).map { hexadecimal(bytes[$0..<min($0 + 32, bytes.count)]) }
      return "\(name)\n" + lines.map { "    \($0)\n" }.joined()
    }.joined()
  }

  private func documentation() throws -> String {
    try String(contentsOf: Self.pages.appending(path: "shamirkit.md"), encoding: .utf8)
  }

  @Test func `the documented change of a sharing is what this code makes`() throws {
    let text = try rendered(values())
    #expect(try documentation().contains("```\n\(text)```"), "expected:\n\(text)")
  }

  @Test(.enabled(if: isPythonDue, "python3 isn't installed"))
  func `it is also what a program makes that shares nothing with this one`() throws {
    let process = Process()
    process.executableURL = URL(filePath: try #require(Self.python))
    // Isolated, and without leaving compiled files beside the page.
    process.arguments = ["-I", "-B", Self.pages.appending(path: "redistribution.py").path]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(text.contains("file key\n"))
    #expect(try documentation().contains("```\n\(text)```"), "expected:\n\(text)")
  }
}
