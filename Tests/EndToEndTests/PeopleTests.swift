import Foundation
import Testing

@Suite("People with several devices, and of the same name")
struct PeopleTests {
  /// Cards of vaults that are all labelled the same.
  private func cards(_ count: Int, _ alice: Peer, _ bench: Bench) async throws -> [String] {
    var cards: [String] = []
    for number in 0..<count {
      let home = "\(bench.folder)/sam\(number)"
      try await alice.succeed("init", "--no-passphrase", "--label", "Sam", "--home", home)
      cards.append(try await alice.succeed("id", "--text", "--home", home).line)
    }
    return cards
  }

  @Test("a second card with a known label is said to be one, and counts as somebody else's until the user says so")
  func sameLabel() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let cards = try await cards(2, alice, bench)
      let first = try await alice.succeed("peer", "add", cards[0], "--json")
      #expect(!first.complaint.contains("you know another"), "\(first)")
      let fingerprint = try #require(try first.json()["peer"]["fingerprint"].string)
      let second = try await alice.succeed("peer", "add", cards[1], "--json")
      #expect(second.complaint.contains("you know another Sam already: Sam (\(fingerprint))"), "\(second)")
      #expect(second.complaint.contains("--device-of Sam"), "\(second)")
      #expect(try second.json()["peer"]["deviceOf"].isNull && second.json()["peer"]["name"].string == "Sam-2")
      let said = try await alice.succeed("peer", "add", cards[1], "--device-of", "Sam", "--json").json()
      #expect(said["change"].string == "updated" && said["peer"]["deviceOf"].string == "Sam", "\(said)")
      #expect(try await alice.succeed("peer", "show", "Sam-2").output.contains(/device of: +Sam\n/))
      #expect(try await alice.run("peer", "add", cards[0], "--device-of", "Sam").status == 64)
      #expect(try await alice.run("peer", "add", cards[0], "--device-of", "zoe").status == 1)
    }
  }

  @Test("at a terminal it is asked whether a card of a known name is a new device or somebody else")
  func asked() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let cards = try await cards(3, alice, bench)
      try await alice.succeed("peer", "add", cards[0])
      for (number, answer) in [(1, "1\n"), (2, "2\n")] {
        let terminal = try PseudoTerminal(alice, ["peer", "add", cards[number]])
        try await terminal.expect("Is this a new device, or somebody else? [1-\(number + 1)]")
        #expect(terminal.screen.contains("you know another Sam already"), "\(terminal.screen)")
        #expect(terminal.screen.contains("2  a new device of Sam\r\n"), "\(terminal.screen)")
        terminal.type(answer)
        #expect(try await terminal.end() == 0, "\(terminal.screen)")
      }
      let peers = try await alice.succeed("peer", "list", "--json").json()
      #expect(peers.first(where: "name", is: "Sam-2")["deviceOf"].isNull, "\(peers)")
      #expect(peers.first(where: "name", is: "Sam-3")["deviceOf"].string == "Sam", "\(peers)")
    }
  }

  @Test(
    "two devices of one person count as one person, and it is said that she needs nobody; two of a name are told apart")
  func counted() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      let cards = try await cards(2, alice, bench)
      try await alice.succeed("peer", "add", cards[0])
      try await alice.succeed("peer", "add", cards[1])
      try alice.write(sample(100), to: "note.txt")
      let strangers = try await alice.run("share", "note.txt", "--threshold", "2")
      #expect(strangers.status == 2, "\(strangers)")
      #expect(strangers.complaint.contains("4 shares, 2 of them are needed: you, bob, Sam, Sam-2\n"), "\(strangers)")
      #expect(strangers.complaint.contains(/Sam-2: fingerprint \d{5} \d{5} …; never met/), "\(strangers)")
      #expect(strangers.complaint.contains(/Sam: .*listens nowhere that this device knows/), "\(strangers)")
      #expect(!strangers.complaint.contains("bob: "), "\(strangers)")
      try await alice.succeed("peer", "add", cards[1], "--device-of", "Sam")
      let devices = try await alice.run("share", "note.txt", "--threshold", "2")
      let heading = "4 shares for 3 people, 2 of them are needed: you, bob, Sam and Sam-2\n"
      #expect(devices.complaint.contains(heading), "\(devices)")
      #expect(devices.complaint.contains("; another device of Sam's user; "), "\(devices)")
      #expect(
        devices.complaint.contains(
          "warning: Sam and Sam-2 are devices of one person, who can recover it with nobody's help"), "\(devices)")
      let more = try await alice.run("share", "note.txt", "--threshold", "3")
      #expect(!more.complaint.contains("nobody's help"), "\(more)")
    }
  }

  @Test("a drill says how many people those are who answered")
  func drilled() async throws {
    try await Bench.run { bench in
      let (alice, _, carol) = try await bench.trio()
      try alice.write(sample(100), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      let words = "the 3 holders that answered are devices of 2 people"
      #expect(try await !alice.succeed("check", id).output.contains("people"))
      try await alice.succeed("peer", "add", try await carol.card(), "--device-of", "bob")
      let check = try await alice.succeed("check", id)
      #expect(check.output.contains(words), "\(check)")
    }
  }
}
