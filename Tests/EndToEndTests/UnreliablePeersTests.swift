import Foundation
import Glibc
import Testing

@Suite("Peers that are down, slow, or die in the middle")
struct UnreliablePeersTests {
  @Test("peers that are down or frozen don't hold up a recovery that enough others can do")
  func othersCarryOn() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol, dave) = try await bench.quartet()
      try alice.write(sample(50_000), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      bob.freezeDaemon()
      try await carol.stopDaemon(SIGKILL)
      let outcome = try await dave.succeed("recover", id, "--json")
      // Who is waited for until its deadline is told as unreachable.
      let bobs = try outcome.json()["holders"].first(where: "peer", is: "bob")["state"].string
      #expect(bobs != "unreachable", "\(outcome)")
      try dave.expect("note.txt", toHold: sample(50_000))
    }
  }

  @Test("a frozen peer is waited for until its deadline and no longer, then named")
  func frozen() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(5000), to: "note.txt")
      try await alice.succeed("share", "note.txt", "--threshold", "2")
      alice.freezeDaemon()
      let outcome = try await bob.run("recover", timeLimit: 120)
      #expect(outcome.status == 4, "\(outcome)")
      #expect(
        outcome.complaint.contains(/1 of 2 shares\n(.*\n)*.*alice +unreachable: .*may hold a share/), "\(outcome)")
      #expect(outcome.seconds < 60, "\(outcome.seconds) s")
      #expect(try bob.files().isEmpty)
    }
  }

  @Test("holders that die or freeze while they send are replaced by another one", arguments: [SIGKILL, SIGSTOP])
  func midTransfer(signal: Int32) async throws {
    try await Bench.run { bench in
      let (alice, bob, _, dave) = try await bench.quartet()
      let bytes = sample(32 << 20)
      try alice.write(bytes, to: "film.bin")
      let id = try await alice.succeed("share", "film.bin", "--threshold", "2", timeLimit: 180).line
      let recovery = try dave.start(["recover", id])
      try await bench.wait(every: 3, for: "the output to begin") {
        try recovery.isRunning == false || !dave.files().isEmpty
      }
      if signal == SIGKILL {
        try await alice.stopDaemon(SIGKILL)
        try await bob.stopDaemon(SIGKILL)
      } else {
        alice.freezeDaemon()
        bob.freezeDaemon()
      }
      let outcome = try await recovery.end(within: 120)
      #expect(outcome.status == 0, "\(outcome)")
      #expect(try dave.files() == ["film.bin"])
      try dave.expect("film.bin", toHold: bytes)
    }
  }

  @Test("a peer that freezes while shares are handed out doesn't hold up the others")
  func frozenRecipient() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      for peer in ["bob", "carol"] { try await alice.succeed("peer", "ping", peer) }
      try alice.write(sample(5000), to: "note.txt")
      bob.freezeDaemon()
      let outcome = try await alice.run("share", "note.txt", "--threshold", "2", "--json", timeLimit: 240)
      #expect(outcome.status == 2, "\(outcome)")
      #expect(try outcome.json()["placed"].int == 2)
      #expect(try outcome.json()["deliveries"].first(where: "peer", is: "carol")["state"].string == "delivered")
      #expect(outcome.complaint.contains("bob"))
      #expect(try await carol.succeed("recover").line.hasSuffix("note.txt"))
      bob.thawDaemon()
      #expect(try await alice.run("secret", "deliver").status == 0)
    }
  }

  @Test("a daemon killed right after it has taken a share still has it")
  func acknowledgedIsDurable() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(300_000), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      try await bob.stopDaemon(SIGKILL)
      try await alice.stopDaemon(SIGKILL)
      try await alice.startDaemon()
      try await bob.succeed("recover", id)
      try bob.expect("note.txt", toHold: sample(300_000))
    }
  }

  @Test("a daemon ends in order at SIGTERM and at Ctrl-C", arguments: [SIGTERM, SIGINT])
  func orderlyEnd(signal: Int32) async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      let outcome = try await alice.stopDaemon(signal)
      #expect(outcome.status == 0, "\(outcome)")
      try await alice.startDaemon()
    }
  }

  @Test("a daemon at an address where another one listens is an error that says so")
  func addressInUse() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      _ = try await alice.stopDaemon()
      let outcome = try await alice.run("daemon", "--listen", bob.address, timeLimit: 90)
      #expect(outcome.status == 1, "\(outcome)")
      #expect(outcome.complaint.contains(bob.address), "\(outcome)")
    }
  }
}
