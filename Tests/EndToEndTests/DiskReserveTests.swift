import Foundation
import Testing

@Suite("A disk that is nearly full")
struct DiskReserveTests {
  @Test("what peers bring leaves a share of the disk free, whatever the quotas say, and the reason is named")
  func reserve() async throws {
    try await Bench.run { bench in
      let (alice, bob, _) = try await bench.trio()
      try await bob.succeed("settings", "set", "quota-bytes", "1T")
      try await bob.succeed("settings", "set", "keep-free", "100000T")
      try alice.write(sample(100_000), to: "plan.pdf")
      let refused = try await alice.run("share", "plan.pdf", "--to", "bob", "--to", "carol", "--threshold", "2")
      #expect(refused.status != 0 && refused.complaint.contains("its disk is full"), "\(refused)")
      #expect(try await bob.succeed("list", "--json").json().array.isEmpty)
      #expect(try await bob.run("settings", "set", "keep-free", "little").status == 64)
      try await bob.succeed("settings", "set", "keep-free", "auto")
      let id = try await alice.succeed("share", "plan.pdf", "--to", "bob", "--to", "carol", "--threshold", "2").line
      try await bob.succeed("recover", id, "-o", "copy")
      try bob.expect("copy", toHold: sample(100_000))
    }
  }

  @Test("a delay that was refused is not over because a backup is put back", .enabled(if: Fault.isPossible))
  func refusal() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try alice.write(sample(1000), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "3", "--description", "plans").line
      try await bob.succeed("secret", "policy", id, "delay:1h")
      #expect(try await carol.run("recover", id, "-o", "copy").status == 11)
      try await bob.succeed("backup", "create", "b")
      let request = try await bob.succeed("requests", "--json").json()[0]
      try await bob.succeed("requests", "refuse", "\(try #require(request["id"].int))")
      try await bob.stopDaemon()
      try await bob.succeed("backup", "restore", "b", "--force", "--yes")
      // What was refused waits no more; once the time that was in the backup is over, nothing of that counts.
      try await bob.startDaemon(ahead: 7200)
      #expect(try await bob.succeed("requests", "--json").json()[0]["state"].string == "refused")
      let outcome = try await carol.run("recover", id, "-o", "copy")
      #expect(outcome.status == 4 && !carol.has("copy"), "\(outcome)")
    }
  }
}
