import Foundation
import Testing

@Suite("Recovering a file")
struct RecoveryTests {
  @Test("any holder recovers, with the device of who shared it gone")
  func anyHolder() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol, dave) = try await bench.quartet()
      try alice.write(sample(40_000), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "3").line
      try await alice.stopDaemon(SIGKILL)
      try FileManager.default.removeItem(atPath: alice.home)
      for holder in [bob, carol, dave] {
        try await holder.succeed("recover", id)
        try holder.expect("note.txt", toHold: sample(40_000))
      }
    }
  }

  @Test("nobody has to do anything at the other devices: their daemons answer by themselves")
  func noUserStep() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(100), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      try await bob.succeed("recover")
      // The daemon writes its log in groups, once a second.
      var released = JSON(nil)
      try await bench.wait(every: 250, for: "the daemon to write its log") {
        released = try await alice.succeed("device", "log", "--json").json().first(where: "event", is: "share-released")
        return released["peer"].string != nil
      }
      #expect(released["peer"].string == "bob")
      #expect(released["secret"].string == id)
    }
  }

  @Test("without a name the only secret is recovered; with several the command lists them and ends with 64")
  func onlyOne() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(100), to: "note.txt")
      let none = try await bob.run("recover")
      #expect(none.status == 1, "\(none)")
      let first = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      try await bob.succeed("recover")
      let second = try await alice.succeed("share", "note.txt", "--threshold", "2", "--description", "second").line
      let several = try await bob.run("recover", "-o", "copy")
      #expect(several.status == 64, "\(several)")
      for word in [first, second, "second"] { #expect(several.complaint.contains(word), "\(several)") }
      #expect(!bob.has("copy"))
    }
  }

  @Test("a secret is named by its id, by a unique beginning of it, or by its description")
  func references() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(100, seed: 1), to: "one.txt")
      try alice.write(sample(200, seed: 2), to: "two.txt")
      let one = try await alice.succeed("share", "one.txt", "--threshold", "2", "--description", "the first").line
      let two = try await alice.succeed("share", "two.txt", "--threshold", "2", "--description", "the second").line
      try #require(one.prefix(12) != two.prefix(12))
      for reference in [one, String(one.prefix(12)), "the first"] {
        try await bob.succeed("recover", reference, "-o", "copy", "--force")
        try bob.expect("copy", toHold: sample(100, seed: 1))
      }
    }
  }

  @Test("a description that two secrets have is ambiguous: both ids are shown and nothing is written")
  func ambiguous() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(100), to: "note.txt")
      let ids = [
        try await alice.succeed("share", "note.txt", "--threshold", "2", "--description", "keys").line,
        try await alice.succeed("share", "note.txt", "--threshold", "2", "--description", "keys").line,
      ]
      let outcome = try await bob.run("recover", "keys")
      #expect(outcome.status == 1, "\(outcome)")
      for id in ids { #expect(outcome.complaint.contains(id.prefix(8)), "\(outcome)") }
      #expect(try bob.files().isEmpty)
      #expect(try await bob.run("recover", "nonsense").status == 1)
      #expect(try await bob.run("recover", String(repeating: "f", count: 32)).status == 1)
    }
  }

  @Test("an existing output is refused with 9 and stays as it is; --force replaces it")
  func existingOutput() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(5000), to: "note.txt")
      try await alice.succeed("share", "note.txt", "--threshold", "2")
      try bob.write([1, 2, 3], to: "note.txt")
      for output in [[], ["-o", "note.txt"], ["-o", "."]] {
        let outcome = try await bob.run(["recover"] + output)
        #expect(outcome.status == 9, "\(outcome)")
        #expect(outcome.complaint.contains("note.txt"))
        #expect(outcome.output.isEmpty)
      }
      try bob.expect("note.txt", toHold: [1, 2, 3])
      #expect(try bob.files() == ["note.txt"])
      try await bob.succeed("recover", "--force")
      try bob.expect("note.txt", toHold: sample(5000))
    }
  }

  @Test("-o names a file, or a folder that gets the original name")
  func outputs() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(50), to: "note.txt")
      try await alice.succeed("share", "note.txt", "--threshold", "2")
      _ = try bob.makeFolder("inbox")
      for (output, file) in [("other name.bin", "other name.bin"), ("inbox", "inbox/note.txt"), ("inbox/b", "inbox/b")]
      {
        let line = try await bob.succeed("recover", "-o", output).line
        #expect(line.hasSuffix(file))
        try bob.expect(file, toHold: sample(50))
      }
    }
  }

  @Test("a recovered file is readable by its owner only")
  func privateOutput() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(50), to: "note.txt")
      try await alice.succeed("share", "note.txt", "--threshold", "2")
      try await bob.succeed("recover")
      let facts = try FileManager.default.attributesOfItem(atPath: bob.folder + "/note.txt")
      #expect((facts[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    }
  }

  @Test("an output folder that doesn't exist is named before any peer is asked")
  func impossibleOutput() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(50), to: "note.txt")
      try await alice.succeed("share", "note.txt", "--threshold", "2")
      let outcome = try await bob.run("recover", "-o", "no/such/folder/file")
      #expect(outcome.status == 1, "\(outcome)")
      #expect(outcome.complaint.contains("no/such/folder"), "\(outcome)")
      #expect(!outcome.complaint.contains("asking"), "\(outcome)")
    }
  }

  @Test("below the threshold nothing is written, and each holder's part is named")
  func belowThreshold() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol, dave) = try await bench.quartet()
      try alice.write(sample(5000), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "4").line
      try await bob.succeed("peer", "remove", "dave", "--yes")
      try await carol.stopDaemon()
      let outcome = try await dave.run("recover", id, "-o", "copy")
      #expect(outcome.status == 4, "\(outcome)")
      #expect(outcome.output.isEmpty)
      #expect(outcome.complaint.contains("2 of 4 shares"), "\(outcome)")
      #expect(outcome.complaint.contains(/alice +answered/), "\(outcome)")
      #expect(outcome.complaint.contains(/bob +refused: .+/), "\(outcome)")
      #expect(outcome.complaint.contains(/carol +unreachable: .*may hold a share/), "\(outcome)")
      #expect(try dave.files().isEmpty)
    }
  }

  @Test("below the threshold nothing reaches standard output either")
  func belowThresholdToStream() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try alice.write(sample(5000), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "3").line
      try await carol.stopDaemon()
      let outcome = try await bob.run("recover", id, "-o", "-")
      #expect(outcome.status == 4, "\(outcome)")
      #expect(outcome.bytes.isEmpty)
    }
  }

  @Test("after recovery the shares are still there: it can be recovered again")
  func again() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(50), to: "note.txt")
      try await alice.succeed("share", "note.txt", "--threshold", "2")
      for _ in 0..<3 { try await bob.succeed("recover", "-o", "copy", "--force") }
      #expect(try await alice.succeed("list", "--json").json().array.count == 1)
    }
  }

  @Test("a recovered file can be shared again, from another device, under a new id")
  func reshare() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try alice.write(sample(5000), to: "note.txt")
      let first = try await alice.succeed("share", "note.txt", "--threshold", "2", "--to", "bob").line
      let path = try await bob.succeed("recover").line
      let second = try await bob.succeed("share", path, "--threshold", "2", "--to", "carol").line
      #expect(first != second)
      try await carol.succeed("recover")
      try carol.expect("note.txt", toHold: sample(5000))
    }
  }
}
