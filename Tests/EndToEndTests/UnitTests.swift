import Foundation
import Testing

/// It is there where systemd is installed, whether that runs or not.
private let analyzer = "/usr/bin/systemd-analyze"

@Suite("The user unit for systemd", .enabled(if: FileManager.default.isExecutableFile(atPath: analyzer)))
struct UnitTests {
  /// Runs systemd-analyze with the unit behind the arguments, as the user's manager would read it.
  private func analyze(_ arguments: [String], _ bench: Bench) async throws -> Outcome {
    let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let unit = try String(contentsOf: repository.appending(path: "packaging/vault.service"), encoding: .utf8)
    let folder = bench.folder + "/units"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let path = folder + "/vault.service"
    try unit.replacing("@BINDIR@/vault", with: Bench.vault).write(toFile: path, atomically: true, encoding: .utf8)
    return try await bench.start(
      analyzer, ["--user", "--no-pager"] + arguments + [path],
      environment: ["HOME": bench.folder, "XDG_RUNTIME_DIR": folder, "SYSTEMD_COLORS": "0"]
    ).end(within: 90)
  }

  @Test("is understood as a whole")
  func verified() async throws {
    try await Bench.run { bench in
      let outcome = try await analyze(["verify"], bench)
      #expect(outcome.status == 0 && outcome.output.isEmpty && outcome.complaint.isEmpty, "\(outcome)")
    }
  }

  @Test("leaves the program little that it could do to the system")
  func exposure() async throws {
    try await Bench.run { bench in
      let outcome = try await analyze(["security", "--offline=yes", "--threshold=30"], bench)
      #expect(outcome.status == 0, "\(outcome)")
      let match = try #require(outcome.output.firstMatch(of: /Overall exposure level for vault.service: ([0-9.]+)/))
      #expect(try #require(Double(match.1)) < 3)
    }
  }
}
