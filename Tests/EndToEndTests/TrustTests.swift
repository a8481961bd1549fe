import Foundation
import Testing

@Suite("Peers and trust")
struct TrustTests {
  @Test("importing a card gives a name, a fingerprint, and an open lock until both sides have proved their keys")
  func states() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let before = try await alice.succeed("peer", "list", "--json").json()[0]
      #expect(before["name"].string == "bob")
      #expect(before["state"].string == "scanned")
      #expect(before["fingerprint"].string == (try await bob.succeed("id", "--json").json()["fingerprint"].string))
      #expect(try await alice.succeed("peer", "list").output.contains("🔓"))
      try await alice.succeed("peer", "ping", "bob")
      #expect(try await alice.succeed("peer", "show", "bob", "--json").json()["state"].string == "proven")
      #expect(try await alice.succeed("peer", "list").output.contains("🔒"))
      try await bench.wait(every: 250, for: "bob to know alice as proven") {
        try await bob.succeed("peer", "show", "alice", "--json").json()["state"].string == "proven"
      }
    }
  }

  @Test("a peer that has not imported this key is named with what to do, and ping ends with 5")
  func unknownHere() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await bob.succeed("peer", "remove", "alice", "--yes")
      let outcome = try await alice.run("peer", "ping", "bob")
      #expect(outcome.status == 5, "\(outcome)")
      #expect(outcome.complaint.contains("bob has not imported your key"))
      #expect(outcome.complaint.contains("hint: ") && outcome.complaint.contains("vault peer add"), "\(outcome)")
    }
  }

  @Test("a device that was replaced says by whose word and since when, until that is taken back")
  func replaced() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let carol = try await bench.peer("carol")
      try await alice.succeed("peer", "ping", "bob")
      let card = try await carol.succeed("id", "--text").line
      try await bob.succeed("peer", "replace", "alice", card, "--yes")
      #expect(try await alice.run("peer", "ping", "bob").status == 5)
      let status = try await alice.succeed("status")
      #expect(status.output.contains(/REPLACED: +bob says since .* call bob at once/), "\(status)")
      let since = try await alice.succeed("status", "--json").json()["peers"][0]["saysReplacedSince"].string
      #expect(since?.contains(/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$/) == true)
      let log = try await alice.succeed("device", "log", "--json").json().array
      #expect(log.contains { $0["event"].string == "said-replaced" && $0["peer"].string == "bob" })
      try await bob.succeed("peer", "replace", "alice", "--undo")
      try await alice.succeed("peer", "ping", "bob")
      #expect(try await alice.succeed("status", "--json").json()["peers"][0]["saysReplacedSince"].isNull)
      #expect(try await !alice.succeed("status").output.contains("REPLACED"))
    }
  }

  @Test("nobody having been chosen, a peer that has not imported this key gets no share, which is no success")
  func shareWithUnknown() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try alice.write(sample(100), to: "note.txt")
      try await bob.succeed("peer", "remove", "alice", "--yes")
      let outcome = try await alice.run("share", "note.txt", "--threshold", "2", "--json")
      #expect(outcome.status == 2, "\(outcome)")
      #expect(
        outcome.complaint.contains("bob") && outcome.complaint.contains("has not imported your key"), "\(outcome)")
      #expect(try outcome.json()["leftOut"].strings == ["bob"])
      #expect(try outcome.json()["finished"].bool == false)
      #expect(try outcome.json()["shareCount"].int == 2)
      #expect(try await carol.succeed("list", "--json").json().array.count == 1)
      let none = try await alice.run("share", "note.txt", "--threshold", "2", "--to", "bob")
      #expect(none.status == 5)
      #expect(none.output.isEmpty, "\(none)")
      #expect(none.complaint.contains("vault peer add"), "\(none)")
    }
  }

  @Test("ping says how long it took, and ends with 6 if nobody answers")
  func ping() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let answer = try await alice.succeed("peer", "ping", "bob", "--json").json()
      #expect(answer["peer"]["name"].string == "bob")
      #expect(answer["address"].string == bob.address)
      #expect(answer["handshakeMilliseconds"].keys.isEmpty)
      try await bob.stopDaemon()
      let outcome = try await alice.run("peer", "ping", "bob")
      #expect(outcome.status == 6, "\(outcome)")
      #expect(outcome.complaint.contains("bob"))
    }
  }

  @Test("an address changed by hand is where the peer is looked for")
  func address() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await alice.succeed("peer", "ping", "bob")
      try await alice.succeed("peer", "address", "bob", "127.0.0.1:1")
      let addresses = try await alice.succeed("peer", "show", "bob", "--json").json()["addresses"].strings
      #expect(addresses.first == "127.0.0.1:1")
      try await alice.succeed("peer", "address", "bob", bob.address)
      try await alice.succeed("peer", "ping", "bob")
    }
  }

  @Test("somebody else at a peer's address is found out")
  func impostor() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try await bob.stopDaemon()
      try await alice.succeed("peer", "address", "bob", carol.address)
      let outcome = try await alice.run("peer", "ping", "bob")
      #expect([5, 6, 8].contains(outcome.status), "\(outcome)")
      #expect(outcome.complaint.contains("bob"))
      #expect(try await alice.succeed("peer", "show", "bob", "--json").json()["state"].string == "scanned")
    }
  }

  @Test("renaming a peer is local, and the new name is what commands take and show")
  func rename() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await alice.succeed("peer", "rename", "bob", "Robert 🌲")
      let shown = try await alice.succeed("peer", "show", "Robert 🌲", "--json").json()
      #expect(shown["label"].string == "bob")
      #expect(try await alice.run("peer", "show", "bob").status == 1)
      try alice.write(sample(100), to: "note.txt")
      let report = try await alice.succeed("share", "note.txt", "--threshold", "2", "--to", "Robert 🌲", "--json").json()
      #expect(report["deliveries"][0]["peer"].string == "Robert 🌲")
      #expect(try await bob.succeed("recover").line.hasSuffix("note.txt"))
    }
  }

  @Test("importing the same card again changes nothing, and a newer one updates the addresses")
  func importAgain() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let same = try await alice.succeed("peer", "add", try await bob.card(), "--json").json()
      #expect(same["change"].string == "unchanged")
      let newer = try await bob.succeed("id", "--text", "--address", "192.0.2.7:4721").line
      let updated = try await alice.succeed("peer", "add", newer, "--json").json()
      #expect(updated["change"].string == "updated")
      #expect(updated["peer"]["addresses"].strings == ["192.0.2.7:4721"])
      #expect(try await alice.succeed("peer", "list", "--json").json().array.count == 1)
    }
  }

  @Test("one's own card is refused")
  func ownCard() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let outcome = try await alice.run("peer", "add", try await alice.card())
      #expect(outcome.status == 64, "\(outcome)")
      #expect(outcome.complaint.contains("your own"))
    }
  }

  @Test("a removed peer is not answered any more, and what it holds is named")
  func removal() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(100), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      let removal = try await alice.run("peer", "remove", "bob", "--yes")
      #expect(removal.status == 0)
      #expect(removal.complaint.contains("still holds"), "\(removal)")
      let outcome = try await bob.run("recover", id)
      #expect(outcome.status == 4, "\(outcome)")
      #expect(outcome.complaint.contains(/alice +refused/), "\(outcome)")
      #expect(try bob.files().isEmpty)
    }
  }

  @Test("without a terminal, removing a peer needs --yes")
  func removalNeedsYes() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      let outcome = try await alice.run("peer", "remove", "bob")
      #expect(outcome.status == 64, "\(outcome)")
      #expect(outcome.complaint.contains("--yes"))
      #expect(try await alice.succeed("peer", "list", "--json").json().array.count == 1)
    }
  }

  @Test("a peer that only one side imported can't recover with the other's share")
  func oneSided() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try alice.write(sample(100), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "3").line
      try await bob.succeed("peer", "remove", "carol", "--yes")
      let outcome = try await carol.run("recover", id, "-o", "copy")
      #expect(outcome.status == 4, "\(outcome)")
      #expect(outcome.complaint.contains(/bob +refused/), "\(outcome)")
    }
  }

  @Test("a peer named in no list is an error that lists the peers there are")
  func unknownName() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      for command in [["show"], ["ping"], ["remove"]] {
        let outcome = try await alice.run(["peer"] + command + ["zoe"])
        #expect(outcome.status == 1, "\(outcome)")
        #expect(outcome.complaint.contains("zoe") && outcome.complaint.contains("bob"), "\(outcome)")
      }
    }
  }
}
