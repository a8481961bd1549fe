import Foundation
import Testing

@Suite("Meeting by a short code") struct MeetTests {
  /// The opener at its terminal once the code is on it; code and address.
  private func opened(_ peer: Peer) async throws -> (PseudoTerminal, code: String, address: String) {
    let terminal = try PseudoTerminal(peer, ["meet", "--listen", "127.0.0.1:0"])
    try await terminal.expect("press Enter when everybody is here")
    let code = try #require(terminal.screen.firstMatch(of: /[0-9]{1,2}-[a-z]+-[a-z]+/)).output
    let address = try #require(terminal.screen.firstMatch(of: /--at (127\.0\.0\.1:[0-9]+)/)).output.1
    return (terminal, String(code), String(address))
  }

  private func joined(_ peer: Peer, _ code: String, at address: String) async throws -> PseudoTerminal {
    let terminal = try PseudoTerminal(peer, ["meet", "--at", address])
    try await terminal.expect("Code of the meeting: ")
    terminal.type(code + "\n")
    try await terminal.expect("the code is right")
    return terminal
  }

  private func words(_ terminal: PseudoTerminal) async throws -> String {
    try await terminal.expect("yes or no")
    return String(try #require(terminal.screen.firstMatch(of: /\s\s([a-z]+ [a-z]+ [a-z]+)\s/)).output.1)
  }

  @Test("one code and one comparison make peers of three") func three() async throws {
    try await Bench.run { bench in
      var people: [Peer] = []
      for name in ["alice", "bob", "carol"] { people.append(try await bench.peer(name)) }
      let (opener, code, address) = try await opened(people[0])
      let guests = [
        try await joined(people[1], code, at: address), try await joined(people[2], code.uppercased(), at: address),
      ]
      try await opener.expect("2 others are here")
      opener.type("\n")
      let check = try await words(opener)
      for guest in guests { #expect(try await words(guest) == check) }
      for terminal in guests + [opener] { terminal.type("yes\n") }
      for terminal in guests + [opener] { try await terminal.expect("(setting lan)? yes or no") }
      opener.type("yes\n")
      for guest in guests { guest.type("no\n") }
      for terminal in guests + [opener] { #expect(try await terminal.end() == 0) }
      #expect(try await people[0].succeed("settings", "get", "lan").line == "on")
      #expect(try await people[1].succeed("settings", "get", "lan").line == "off")
      for (place, person) in people.enumerated() {
        let others = try await person.succeed("peer", "list", "--json").json().array.compactMap { $0["name"].string }
        #expect(Set(others) == Set(["alice", "bob", "carol"]).subtracting([["alice", "bob", "carol"][place]]))
      }
    }
  }

  @Test("a wrong code is told and asked for again; somebody's no is named to all, and nobody is a peer then")
  func refused() async throws {
    try await Bench.run { bench in
      let (alice, bob) = (try await bench.peer("alice"), try await bench.peer("bob"))
      let (opener, code, address) = try await opened(alice)
      let guest = try PseudoTerminal(bob, ["meet", "--at", address])
      try await guest.expect("Code of the meeting: ")
      guest.type("maple\n")
      try await guest.expect("a code is a number and two words")
      guest.forgetScreen()
      guest.type(
        (code.hasSuffix("-maple-maple") ? "1-harbor-harbor" : "\(code.prefix { $0 != "-" })-maple-maple") + "\n")
      try await guest.expect("not let in")
      guest.type(code + "\n")
      try await guest.expect("the code is right")
      opener.type("\n")
      try await opener.expect("yes or no")
      try await guest.expect("yes or no")
      opener.type("perhaps\n")
      try await opener.expect("yes or no, please")
      guest.type("no\n")
      #expect(try await guest.end() == 5)
      #expect(try await opener.end() == 5)
      #expect(opener.screen.contains("\"bob\" said no, so nobody was made a peer"))
      #expect(try await alice.succeed("peer", "list", "--json").json().array.isEmpty)
    }
  }

  @Test("a guest that is killed when all compare ends it for the others, who hear who it was") func left() async throws
  {
    try await Bench.run { bench in
      let (alice, bob) = (try await bench.peer("alice"), try await bench.peer("bob"))
      let (opener, code, address) = try await opened(alice)
      let guest = try await joined(bob, code, at: address)
      try await opener.expect("1 other is here")
      opener.type("\n")
      try await guest.expect("yes or no")
      try await opener.expect("yes or no")
      opener.type("yes\n")
      guest.signal(SIGKILL)
      #expect(try await opener.end() == 6)
      #expect(opener.screen.contains("\"bob\" has left"))
      #expect(try await alice.succeed("peer", "list", "--json").json().array.isEmpty)
    }
  }

  @Test("without a terminal, and at an address where nobody is, it says so") func nobody() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      #expect(try await alice.run("meet").status == 64)
      let terminal = try PseudoTerminal(alice, ["meet", "--at", "127.0.0.1:1"])
      try await terminal.expect("Code of the meeting: ")
      terminal.type("7-maple-harbor\n")
      #expect(try await terminal.end() == 6)
      #expect(terminal.screen.contains("no meeting is open at 127.0.0.1:1"))
    }
  }
}
