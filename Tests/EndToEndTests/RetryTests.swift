import Foundation
import Glibc
import Testing

@Suite("Shares that could not be delivered at once")
struct RetryTests {
  @Test("fewer than the threshold delivered is a warning and exit code 3, and nobody can recover yet")
  func tooFew() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try await met(alice, ["bob", "carol"])
      try await bob.stopDaemon()
      try await carol.stopDaemon()
      try alice.write(sample(2000), to: "note.txt")
      let outcome = try await alice.run("share", "note.txt", "--threshold", "2")
      #expect(outcome.status == 3, "\(outcome)")
      #expect(outcome.line.count == 32)
      for word in ["warning", "bob", "carol", "1 of 3", "deliver"] {
        #expect(outcome.complaint.contains(word), "\(outcome)")
      }
      #expect(try await alice.run("recover", outcome.line, "-o", "copy").status == 4)
      #expect(!alice.has("copy"))
    }
  }

  @Test("enough but not all delivered is exit code 2, and the missing peer is named")
  func notAll() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try await met(alice, ["bob", "carol"])
      try await bob.stopDaemon()
      try alice.write(sample(2000), to: "note.txt")
      let outcome = try await alice.run("share", "note.txt", "--threshold", "2", "--json")
      #expect(outcome.status == 2, "\(outcome)")
      let report = try outcome.json()
      #expect(report["recoverable"].bool == true)
      #expect(report["finished"].bool == false)
      #expect(report["deliveries"].first(where: "peer", is: "bob")["state"].string == "unreachable")
      let row = try await alice.succeed("list", "--json").json()[0]
      #expect(row["delivered"].int == 1)
      #expect(row["waiting"].int == 1)
      #expect(try await carol.succeed("recover").line.hasSuffix("note.txt"))
    }
  }

  @Test("retry finishes the delivery later, with the source file gone")
  func retry() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try await met(alice, ["bob", "carol"])
      // Nobody but the command is to deliver.
      for peer in [alice, bob, carol] { try await peer.stopDaemon() }
      try alice.write(sample(200_000), to: "note.txt")
      let id = try await alice.run("share", "note.txt", "--threshold", "3").line
      try FileManager.default.removeItem(atPath: alice.folder + "/note.txt")
      try await carol.startDaemon()
      let first = try await alice.run("secret", "deliver", id)
      #expect(first.status == 3, "\(first)")
      #expect(first.line == id)
      try await bob.startDaemon()
      let second = try await alice.run("secret", "deliver")
      #expect(second.status == 0, "\(second)")
      #expect(second.line == id)
      try await alice.startDaemon()
      try await bob.succeed("recover", id)
      try bob.expect("note.txt", toHold: sample(200_000))
      let third = try await alice.run("secret", "deliver")
      #expect(third.status == 0 && third.output.isEmpty, "\(third)")
    }
  }

  @Test("a peer's share alone is sent again, the others keep theirs")
  func onlyTheMissing() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try await met(alice, ["bob", "carol"])
      try await bob.stopDaemon()
      try alice.write(sample(2000), to: "note.txt")
      let id = try await alice.run("share", "note.txt", "--threshold", "2").line
      try await carol.stopDaemon()
      try await bob.startDaemon()
      #expect(try await alice.run("secret", "deliver", id).status == 0)
      let received = try await carol.succeed("device", "log", "--json").json().array.filter {
        $0["event"].string == "share-received"
      }
      #expect(received.count == 1)
    }
  }

  @Test("the daemon delivers by itself after a restart, with the source file gone")
  func daemonDelivers() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await met(alice, ["bob"])
      try await bob.stopDaemon()
      try alice.write(sample(20_000), to: "note.txt")
      let id = try await alice.run("share", "note.txt", "--threshold", "2").line
      try FileManager.default.removeItem(atPath: alice.folder + "/note.txt")
      try await alice.stopDaemon(SIGKILL)
      try await bob.startDaemon()
      #expect(try await bob.succeed("list", "--json").json().array.isEmpty)
      try await alice.startDaemon()
      try await bench.wait(upTo: 180, every: 250, for: "the daemon to deliver") {
        try await !bob.succeed("list", "--json").json().array.isEmpty
      }
      try await bob.succeed("recover", id)
      try bob.expect("note.txt", toHold: sample(20_000))
    }
  }

  @Test("removing a peer destroys the share that waits for it, and says so")
  func removedWhileWaiting() async throws {
    try await Bench.run { bench in
      let (alice, bob, _) = try await bench.trio()
      try await met(alice, ["bob", "carol"])
      try await bob.stopDaemon()
      try alice.write(sample(2000), to: "note.txt")
      let id = try await alice.run("share", "note.txt", "--threshold", "2", "--description", "papers").line
      let removal = try await alice.run("peer", "remove", "bob", "--yes", "--json")
      #expect(try removal.json()["destroyedDeliveries"].strings == [id], "\(removal)")
      try await bob.startDaemon()
      _ = try await alice.run("secret", "deliver", id)
      #expect(try await bob.succeed("list", "--json").json().array.isEmpty)
    }
  }

  private func met(_ peer: Peer, _ others: [String]) async throws {
    for other in others { try await peer.succeed("peer", "ping", other) }
  }
}

@Suite("Deleting a share")
struct DeletionTests {
  @Test("delete says what it means, needs --yes without a terminal, and is for good")
  func deletion() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try alice.write(sample(2000), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      let fragment = try carol.fragment(of: id)
      let asked = try await carol.run("secret", "delete", id)
      #expect(asked.status == 64, "\(asked)")
      #expect(asked.complaint.contains("for good") && asked.complaint.contains("--yes"), "\(asked)")
      #expect(FileManager.default.fileExists(atPath: fragment))
      let outcome = try await carol.succeed("secret", "delete", id, "--yes", "--json")
      #expect(try outcome.json()["makesUnrecoverable"].bool == false)
      #expect(!FileManager.default.fileExists(atPath: fragment))
      #expect(try await carol.succeed("list", "--json").json().array.isEmpty)
      #expect(try await carol.run("recover", id).status == 1)
      #expect(try await bob.succeed("recover", id).line.hasSuffix("note.txt"))
    }
  }

  @Test("a deletion that loses the secret is announced as such")
  func lastShare() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(2000), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      let outcome = try await bob.run("secret", "delete", id, "--yes", "--json")
      #expect(outcome.status == 0)
      #expect(try outcome.json()["makesUnrecoverable"].bool == true)
      #expect(outcome.complaint.contains("lost for good"), "\(outcome)")
      let recovery = try await alice.run("recover", id, "-o", "copy")
      #expect(recovery.status == 4, "\(recovery)")
      #expect(recovery.complaint.contains(/bob +refused/), "\(recovery)")
    }
  }

  @Test("a deleted share doesn't come back: the same deposit is refused, and the dealer is told")
  func tombstone() async throws {
    try await Bench.run { bench in
      let (alice, _, carol) = try await bench.trio()
      for peer in ["bob", "carol"] { try await alice.succeed("peer", "ping", peer) }
      try await carol.stopDaemon()
      try alice.write(sample(2000), to: "note.txt")
      let id = try await alice.run("share", "note.txt", "--threshold", "2").line
      try await alice.stopDaemon()
      let before = bench.folder + "/before"
      try FileManager.default.copyItem(atPath: alice.home, toPath: before)
      try await carol.startDaemon()
      #expect(try await alice.run("secret", "deliver").status == 0)
      try await carol.succeed("secret", "delete", id, "--yes")
      // The same device, put back to a time before the delivery.
      try FileManager.default.removeItem(atPath: alice.home)
      try FileManager.default.copyItem(atPath: before, toPath: alice.home)
      let outcome = try await alice.run("secret", "deliver", id)
      #expect(outcome.status == 2, "\(outcome)")
      #expect(outcome.complaint.contains(/carol +refused/), "\(outcome)")
      #expect(try await carol.succeed("list", "--json").json().array.isEmpty)
    }
  }
}
