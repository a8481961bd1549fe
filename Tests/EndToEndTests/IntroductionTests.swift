import Foundation
import Testing

@Suite("Holders who don't know each other")
struct IntroductionTests {
  /// Alice knows Bob, Carol and Dave, who know nobody but her.
  private func star(_ bench: Bench) async throws -> [Peer] {
    let peers = try ["alice", "bob", "carol", "dave"].map { try Peer($0, bench) }
    var cards: [String] = []
    for peer in peers {
      try await peer.initialise()
      try await peer.startDaemon()
      cards.append(try await peer.card())
    }
    for (peer, card) in zip(peers, cards).dropFirst() {
      try await peers[0].succeed("peer", "add", card)
      try await peer.succeed("peer", "add", cards[0])
    }
    return peers
  }

  @Test("recover with one another's help, once the device that shared is gone")
  func withoutTheDealer() async throws {
    try await Bench.run { bench in
      let peers = try await star(bench)
      let (alice, bob, carol, dave) = (peers[0], peers[1], peers[2], peers[3])
      try alice.write(sample(40_000), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      try await alice.stopDaemon(SIGKILL)
      try FileManager.default.removeItem(atPath: alice.home)
      try await dave.stopDaemon()
      let outcome = try await bob.succeed("recover", id)
      try bob.expect("note.txt", toHold: sample(40_000))
      #expect(outcome.complaint.contains("carol, introduced by alice"), "\(outcome)")
      try await bench.wait(every: 250, for: "the release in carol's log") {
        try await carol.succeed("device", "log").output.contains("bob, introduced by alice")
      }
      let check = try await bob.run("check", id, "--json").json().array.first
      #expect(check?["recoverable"].bool == true && check?["unknownHolders"].int == 0)
      let helper = try #require(check?["holders"].array.first { $0["peer"].string == "carol, introduced by alice" })
      #expect(helper["state"].string == "answered")
      #expect(helper["knowsHolders"].int == 3 && helper["canDialHolders"].int == 3)
    }
  }

  @Test("are listed apart from peers, become peers when they are accepted, and stay away when they are removed")
  func commands() async throws {
    try await Bench.run { bench in
      let peers = try await star(bench)
      let (alice, bob, carol) = (peers[0], peers[1], peers[2])
      try alice.write(sample(100), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2", "--description", "deed").line
      let list = try await bob.succeed("peer", "list")
      #expect(list.output.contains("introduced as holders of secrets, and no peers:"), "\(list)")
      #expect(list.output.contains(/carol +alice +deed +[0-9]/), "\(list)")
      #expect(
        try await bob.succeed("peer", "list", "--json").json().array.compactMap { $0["name"].string } == ["alice"])
      let introduced = try await bob.succeed("peer", "list", "--introduced", "--json").json().array
      #expect(introduced.compactMap { $0["label"].string } == ["carol", "dave"])
      #expect(introduced.first?["introducedBy"].array.first?.string == "alice")
      #expect(introduced.first?["secrets"].array.first?.string == id)
      let fingerprint = try #require(introduced.first?["fingerprint"].string)
      #expect(try await carol.succeed("id", "--json").json()["fingerprint"].string == fingerprint)
      #expect(try await bob.succeed("peer", "show", "carol").output.contains(fingerprint))
      // Nobody is there to compare fingerprints.
      #expect(try await bob.run("peer", "accept", "carol").status == 64)
      #expect(try await bob.run("peer", "ping", "carol").status == 1)
      let accepted = try await bob.succeed("peer", "accept", "carol", "--name", "Carol", "--yes")
      #expect(accepted.line == "Carol" && accepted.complaint.contains(fingerprint), "\(accepted)")
      #expect(try await bob.succeed("peer", "list", "--json").json().array.count == 2)
      let removed = try await bob.succeed("peer", "remove", "dave", "--yes")
      #expect(removed.complaint.contains("removed dave, introduced by alice"), "\(removed)")
      #expect(try await bob.succeed("peer", "list", "--introduced", "--json").json().array.isEmpty)
      #expect(try await bob.run("peer", "accept", "dave", "--yes").status == 1)
      // What it was removed from it is told no more; Carol, as a peer, still helps.
      try await alice.stopDaemon()
      try await bob.succeed("recover", id)
      try bob.expect("note.txt", toHold: sample(100))
    }
  }

  @Test("hear of nobody with --no-labels, or where introductions are off")
  func unwanted() async throws {
    try await Bench.run { bench in
      let peers = try await star(bench)
      let (alice, bob, carol) = (peers[0], peers[1], peers[2])
      try alice.write(sample(100), to: "note.txt")
      try await alice.succeed("share", "note.txt", "--threshold", "2", "--no-labels")
      try await carol.succeed("settings", "set", "introductions", "off")
      let shared = try await alice.succeed(
        "share", "note.txt", "--threshold", "2", "--description", "with names", "--json")
      // Who takes no cards gives nothing to the others, so not any two recover it.
      #expect(try shared.json()["introduced"].bool == false)
      #expect(shared.complaint.contains("any 2 recover it here"), "\(shared)")
      let known = try await bob.succeed("peer", "list", "--introduced", "--json").json().array
      #expect(known.allSatisfy { $0["secrets"].array.count == 1 } && known.count == 2)
      #expect(try await carol.succeed("peer", "list", "--introduced", "--json").json().array.isEmpty)
      #expect(try await bob.run("settings", "set", "introductions", "maybe").status == 64)
      // Where somebody is missing for that reason, it is named, and what to do.
      let words = "the setting introductions is off ('vault settings set introductions on' changes that)"
      let check = try await carol.run("check", "with names")
      #expect(check.output.contains("not known to this device, or not asked: " + words), "\(check)")
      #expect(try await carol.succeed("peer", "list").complaint.contains(words))
      try await alice.stopDaemon()
      let failed = try await carol.run("recover", "with names")
      #expect(failed.status == 4 && failed.complaint.contains("vault settings set introductions on"), "\(failed)")
    }
  }
}
