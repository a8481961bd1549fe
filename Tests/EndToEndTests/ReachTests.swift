import Foundation
import Testing

@Suite("Delivered is not recoverable")
struct ReachTests {
  @Test("share says what it takes without this device, and who can't be called; so do info and check")
  func limits() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      for name in ["carol", "dave"] {
        try await alice.succeed("peer", "add", try await bench.peer(name).card())
      }
      try alice.write(sample(300), to: "note.txt")
      let outcome = try await alice.run("share", "note.txt", "--threshold", "2", "--description", "note", "--json")
      #expect(outcome.status == 2, "\(outcome)")
      #expect(outcome.complaint.contains("2 of 4 delivered; any 2 recover it here already"), "\(outcome)")
      #expect(outcome.complaint.contains("without this device it comes back only where holders know one another"))
      #expect(outcome.complaint.contains("nobody can call on carol and dave: no address is known here"), "\(outcome)")
      #expect(try outcome.json()["listensNowhere"].strings == ["carol", "dave"])
      let before = try await alice.succeed("secret", "show", "note")
      #expect(before.output.contains(/nobody can call: +carol and dave/), "\(before)")
      #expect(before.output.contains(/last check: +not yet; 'vault check' asks the holders/), "\(before)")
      let check = try await alice.run("check", "note")
      #expect(check.output.contains("nobody can call on carol and dave: no address is known here"), "\(check)")
      let after = try await alice.succeed("secret", "show", "note", "--json").json()
      #expect(
        after["listensNowhere"].strings == ["carol", "dave"] && after["lastCheck"]["recoverable"].bool == true,
        "\(after)")
    }
  }

  @Test(
    "of a circle whose members know the dealer alone, share and check say whether it comes back without this device")
  func circle() async throws {
    try await Bench.run { bench in
      let peers = try ["alice", "bob", "carol", "dave"].map { try Peer($0, bench) }
      var cards: [String] = []
      for peer in peers {
        try await peer.initialise()
        try await peer.startDaemon()
        cards.append(try await peer.card())
      }
      let alice = peers[0]
      for (number, peer) in peers.enumerated().dropFirst() {
        try await alice.succeed("peer", "add", cards[number])
        try await peer.succeed("peer", "add", cards[0])
      }
      try alice.write(sample(300), to: "note.txt")
      let introduced = try await alice.succeed("share", "note.txt", "--threshold", "2", "--json")
      #expect(introduced.complaint.contains("4 of 4 delivered; any 2 recover it\n"), "\(introduced)")
      #expect(try introduced.json()["introduced"].bool == true)
      let id = try #require(try introduced.json()["id"].string)
      let sound = try await alice.succeed("check", id)
      #expect(sound.output.contains("without this device: recoverable"), "\(sound)")
      #expect(sound.output.contains(/bob +2 +answered .*; knows 3 other holders, can call 3/), "\(sound)")
      #expect(try await alice.succeed("secret", "show", id).output.contains("without this device: recoverable"))
      let alone = try await alice.succeed("share", "note.txt", "--threshold", "2", "--no-labels", "--json")
      #expect(alone.complaint.contains("4 of 4 delivered; any 2 recover it here\n"), "\(alone)")
      #expect(alone.complaint.contains("without this device it comes back only where holders know one another"))
      #expect(try alone.json()["introduced"].bool == false)
      let other = try #require(try alone.json()["id"].string)
      let check = try await alice.succeed("check", other, "--json").json()[0]
      #expect(check["recoverable"].bool == true && check["withoutThisDevice"].bool == false, "\(check)")
      #expect(check["holders"][0]["knowsHolders"].int == 1, "\(check)")
      let info = try await alice.succeed("secret", "show", other, "--json").json()
      #expect(info["lastCheck"]["withoutThisDevice"].bool == false, "\(info)")
      let text = try await alice.succeed("check", other)
      #expect(text.output.contains("without this device: NOT recoverable"), "\(text)")
    }
  }
}
