import Foundation
import Testing

/// What is loaded into the process that has the keys.
@Suite("Libraries", .enabled(if: Budgets.areKept)) struct LibraryTests {
  @Test("vault loads few, and none that speaks to servers or takes their words apart")
  func libraries() async throws {
    try await Bench.run { bench in
      let loaded = try await bench.start(Bench.vault, [], environment: ["LD_TRACE_LOADED_OBJECTS": "1"]).end(within: 60)
      #expect(loaded.lines.count < 12, "\(loaded.lines)")
      for word in ["curl", "strophe", "ssl", "gnutls", "xml", "expat", "png"] {
        #expect(!loaded.lines.contains { $0.contains(word) }, "\(word)")
      }
    }
  }

  @Test("without vault-net an account says what is missing, and where it belongs")
  func missing() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let alone = bench.folder + "/alone"
      try FileManager.default.createDirectory(atPath: alone, withIntermediateDirectories: false)
      try FileManager.default.copyItem(atPath: Bench.vault, toPath: alone + "/vault")
      try alice.write(Array("secret".utf8), to: "password")
      let outcome = try await bench.start(
        alone + "/vault", ["account", "login", "ada@localhost", "--password-fd", "0"],
        environment: alice.environment, folder: alice.folder, input: .file(alice.folder + "/password")
      ).end(within: 60)
      #expect(outcome.status != 0)
      #expect(
        outcome.complaint.contains(
          "the program vault-net, which speaks to servers, is missing\n"
            + "hint: it comes with vault: install it as \(alone)/vault-net"))
    }
  }
}
