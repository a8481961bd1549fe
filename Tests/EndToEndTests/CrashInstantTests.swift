import Foundation
import Glibc
import Testing

@Suite("Killed at random instants")
struct CrashInstantTests {
  @Test("sharing")
  func sharing() async throws {
    try await CrashDrill.run { drill in
      try drill.addNote("film", byteCount: 400_000)
      try await strike { number, circumstances, delay in
        let note = number.isMultiple(of: 4) ? "film" : "note"
        let run = try drill.alice.start(["share", note, "--threshold", "2"])
        let outcome = try await kill(run, after: delay)
        let id = drill.noteSharing(outcome)
        try await drill.settle(drill.alice, after: circumstances)
        if let id, number.isMultiple(of: 5) { try await drill.recover(id, by: drill.bob, is: note, circumstances) }
        return outcome.seconds
      }
    }
  }

  @Test("retrying")
  func retrying() async throws {
    try await CrashDrill.run { drill in
      try await strike { number, circumstances, delay in
        let id = try await drill.dealUndelivered()
        let outcome = try await kill(try drill.alice.start(["secret", "deliver"]), after: delay)
        drill.expectPlain(outcome, codes: [0, 2, 3])
        try await drill.settle(drill.alice, after: circumstances)
        if number.isMultiple(of: 5) { try await drill.recover(id, by: drill.carol, circumstances) }
        return outcome.seconds
      }
    }
  }

  @Test("recovering, to a new file and over an old one")
  func recovering() async throws {
    try await CrashDrill.run { drill in
      try drill.addNote("film", byteCount: 400_000)
      let bob = drill.bob
      let ids = try await [
        drill.alice.succeed("share", "note", "--threshold", "2").line,
        drill.alice.succeed("share", "film", "--threshold", "2").line,
      ]
      let contents = try [drill.alice.read("note"), drill.alice.read("film")]
      let old = Array("what was there before".utf8)
      try await strike { number, circumstances, delay in
        let overwrites = number.isMultiple(of: 2)
        if overwrites { try bob.write(old, to: "copy") }
        let which = number / 2 % 2
        let run = try bob.start(["recover", ids[which], "-o", "copy"] + (overwrites ? ["--force"] : []))
        let outcome = try await kill(run, after: delay)
        drill.expectPlain(outcome, codes: [0])
        let found = bob.has("copy") ? try bob.read("copy") : nil
        let isWhole = found == contents[which]
        #expect(isWhole || (outcome.status != 0 && found == (overwrites ? old : nil)), "\(circumstances)")
        try? FileManager.default.removeItem(atPath: bob.folder + "/copy")
        try await drill.settle(bob, after: circumstances)
        #expect(try bob.files().isEmpty, "\(circumstances)")
        return outcome.seconds
      }
    }
  }

  @Test("the daemon of a holder, while it takes a share and answers a recovery")
  func holder() async throws {
    try await CrashDrill.run { drill in
      try drill.addNote("film", byteCount: 400_000)
      let known = try await drill.alice.succeed("share", "note", "--threshold", "3").line
      try await strike { number, circumstances, delay in
        let note = number.isMultiple(of: 4) ? "film" : "note"
        let began = Child.now()
        let sharing = try drill.alice.start(["share", note, "--threshold", "2"])
        let recovery = try drill.carol.start(["recover", known, "-o", "copy"])
        try await Task.sleep(for: .microseconds(Int(delay * 1e6)))
        try await drill.bob.stopDaemon(SIGKILL)
        let shared = try await sharing.end(within: 180)
        let duration = Child.now() - began
        #expect([0, 2].contains(shared.status), "\(circumstances): \(shared)")
        let id = drill.noteSharing(shared)
        let recovered = try await recovery.end(within: 180)
        drill.expectPlain(recovered, codes: [0, 4])
        #expect(drill.carol.has("copy") == (recovered.status == 0), "\(circumstances): \(recovered)")
        if recovered.status == 0 {
          try drill.carol.expect("copy", toHold: try drill.alice.read("note"))
          try FileManager.default.removeItem(atPath: drill.carol.folder + "/copy")
        }
        try await drill.bob.startDaemon()
        try await drill.settle(drill.bob, drill.alice, after: circumstances)
        if let id, number.isMultiple(of: 5) { try await drill.recover(id, by: drill.bob, is: note, circumstances) }
        return duration
      }
    }
  }

  private func kill(_ run: Child, after delay: Double) async throws -> Outcome {
    try await Task.sleep(for: .microseconds(Int(delay * 1e6)))
    run.signal(SIGKILL)
    return try await run.end(within: 180)
  }

  /// Runs a flow again and again, to be killed after a random part of the time that it takes unharmed.
  private func strike(
    _ location: SourceLocation = #_sourceLocation,
    _ flow: (_ number: Int, _ circumstances: String, _ delay: Double) async throws -> Double
  ) async throws {
    var random = SplitMix(seed: Effort.seed)
    var longest = try await flow(0, "no kill", 3)
    for number in 1...max(1, Effort.instants) {
      let delay = Double.random(in: 0..<1, using: &random) * longest
      let circumstances =
        "kill number \(number), after \(Int(delay * 1e6)) microseconds; VAULT_CRASH_SEED=\(Effort.seed)"
      // What was not killed says how long it takes now.
      let duration = try await flow(number, circumstances, delay)
      longest = max(longest * 0.98, duration)
    }
  }
}
