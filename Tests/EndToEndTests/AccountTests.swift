import ChatServers
import Foundation
import Glibc
import Sodium
import Testing

@Suite(
  "Accounts", .enabled(if: ChatServer.isAvailable, "prosody and ejabberd aren't installed"), .serialized,
  .timeLimit(.minutes(10)))
struct AccountTests {
  /// Two peers who know no address of each other but that of an account at a server of this test.
  private func pair(_ bench: Bench, _ server: ChatServer) async throws -> (alice: Peer, bob: Peer) {
    let peers = [try await bench.peer("alice"), try await bench.peer("bob")]
    let cards = [try await peers[0].card(), try await peers[1].card()]
    for (peer, card) in zip(peers, cards.reversed()) { try await peer.succeed("peer", "add", card) }
    for peer in peers {
      let address = self.address(peer)
      _ = try await peer.succeed(
        "account", "register", address, "--host", "127.0.0.1", "--port", "\(server.port)", "--certificates",
        server.certificates, "--password-fd", "0", input: Array("secret of \(peer.name)".utf8))
    }
    return (peers[0], peers[1])
  }

  private func address(_ peer: Peer) -> String {
    "\(peer.name)-\(URL(fileURLWithPath: peer.bench.folder).lastPathComponent.lowercased().suffix(6))@localhost"
  }

  @Test("a message goes by the account from a command to a command, and its receipt comes back")
  func commands() async throws {
    try await Bench.run { bench in
      let server = try ChatServer.shared(.prosody)
      let (alice, bob) = try await pair(bench, server)
      let friend = try await alice.succeed(
        "account", "friend", "add", address(bob), "--peer", "bob", "--name", "Bobby", "--json")
      #expect(try friend.json()["peer"].string == "bob" && friend.json()["name"].string == "Bobby")
      let sent = try await alice.succeed("send", "bob", "see you at eight")
      let taken = try await bob.succeed("account", "sync", "--json").json()
      #expect(taken["parcelsTaken"].int == 1, "\(taken)")
      let came = try await bob.succeed("message", "inbox", "--json").json()[0]
      #expect(came["text"].string == "see you at eight" && came["route"].string == "account")
      try await alice.succeed("account", "sync")
      let known = try await alice.succeed("message", "show", sent.line, "--json").json()
      #expect(known["state"].string == "delivered" && known["route"].string == "account", "\(known)")
      // The friend and the account can be read without the server.
      server.kill()
      #expect(try await alice.succeed("account", "friend", "search", "BOBBY", "--json").json().array.count == 1)
      #expect(try await alice.succeed("account", "--json").json()[0]["state"].string == "current")
      #expect(try await alice.run("account", "sync").status == 6)
      #expect(try await alice.run("account", "friend", "remove", address(bob)).status == 6)
      try server.start()
    }
  }

  @Test("a friend is asked and accepts, by commands alone, and whoever has asked is told what is missing")
  func friends() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await pair(bench, try ChatServer.shared(.prosody))
      let asked = try await alice.succeed("account", "friend", "add", address(bob))
      #expect(asked.complaint.contains("asked \(address(bob))\n"), "\(asked)")
      #expect(asked.complaint.contains("vault account friend add \(address(bob)) --peer PEER"), "\(asked)")
      try await bob.succeed("account", "sync")
      let accepted = try await bob.succeed("account", "friend", "accept", address(alice), "--peer", "alice")
      #expect(accepted.complaint.contains("accepted \(address(alice)), and asked back; "), "\(accepted)")
      #expect(!accepted.complaint.contains("--peer PEER"), "\(accepted)")
      try await bench.wait(every: 250, for: "both to be friends") {
        try await alice.succeed("account", "sync")
        return try await alice.succeed("account", "friend", "list", "--json").json()[0]["subscription"].string == "both"
      }
    }
  }

  @Test("a share goes by the account with the command that makes it, and comes back while its dealer looks in")
  func share() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await pair(bench, try ChatServer.shared(.prosody))
      try await alice.succeed("account", "friend", "add", address(bob), "--peer", "bob")
      try await bob.succeed("account", "friend", "add", address(alice), "--peer", "alice")
      let note = sample(5000)
      try alice.write(note, to: "note.txt")
      let shared = try await alice.run("share", "note.txt", "--threshold", "2", "--to", "bob", "--json")
      #expect(shared.status == 3, "\(shared)")
      let id = try #require(try shared.json()["id"].string)
      #expect(try shared.json()["deliveries"][0]["probe"]["routes"].strings == ["account"], "\(shared)")
      let words = "share 2 goes once bob has proved its keys: a question about them is on its way through the XMPP"
      #expect(shared.complaint.contains(words), "\(shared)")
      // Bob's keys are proved on the way, as the two are never there together.
      #expect(try await alice.succeed("peer", "show", "bob", "--json").json()["state"].string == "scanned")
      try await bench.wait(every: 250, for: "the share to be with bob") {
        try await bob.succeed("account", "sync")
        try await alice.succeed("account", "sync")
        return try await bob.succeed("list", "--json").json().array.first?["id"].string == id
      }
      #expect(try await alice.succeed("peer", "show", "bob", "--json").json()["state"].string == "proven")
      try await alice.succeed("account", "sync")
      #expect(
        try await alice.succeed("secret", "show", id, "--json").json()["deliveries"][0]["state"].string == "delivered")

      let asking = try bob.start(["recover", id, "-o", "out", "--wait", "170s"])
      try await bench.wait(upTo: 180, every: 500, for: "bob to have the file") {
        try await alice.succeed("account", "sync")
        return !asking.isRunning
      }
      let asked = try await asking.end(within: 90)
      #expect(asked.status == 0, "\(asked)")
      try bob.expect("out", toHold: note)
    }
  }

  @Test("nothing is lost or comes twice when the recipient's daemon is killed again and again")
  func killed() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await pair(bench, try ChatServer.shared(.prosody))
      try await alice.succeed("account", "friend", "add", address(bob), "--peer", "bob")
      try await alice.startDaemon()
      var expected: [String] = []
      for round in 0..<3 {
        try await bob.startDaemon()
        for number in 0..<4 {
          let text = "round \(round), text \(number)"
          expected.append(text)
          try await alice.succeed("send", "bob", text)
        }
        try await bench.wait(upTo: 180, every: 50, for: "the first of round \(round)") {
          try await bob.succeed("message", "--json").json().array.contains {
            $0["text"].string?.hasPrefix("round \(round)") == true
          }
        }
        try await bob.stopDaemon(SIGKILL)
      }
      try await bob.startDaemon()
      // What the server gave to a daemon that was killed is sent again after half a minute, a minute and so on.
      try await bench.wait(upTo: 200, every: 200, for: "all to be delivered") {
        try await bob.succeed("message", "--json").json().array.count >= expected.count
      }
      let came = try await bob.succeed("message", "--json").json().array.compactMap { $0["text"].string }
      #expect(came.sorted() == expected.sorted())
    }
  }

  @Test("a look at the server says who asks to be a friend, and what went and came is counted")
  func looks() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await pair(bench, try ChatServer.shared(.prosody))
      try await bob.succeed("account", "friend", "add", address(alice))
      let look = try await alice.succeed("account", "sync")
      #expect(look.complaint.contains("somebody asks to be a friend: see 'vault account friend list'"), "\(look)")
      #expect(!look.complaint.contains("nothing waits"), "\(look)")
      #expect(try await alice.succeed("account", "sync").complaint.contains("nothing waits, here or there"))
      try await alice.succeed("account", "friend", "remove", address(bob))
      try await bob.succeed("send", address(alice), "why?", "--plain")
      let other = try await alice.succeed("account", "sync")
      #expect(other.complaint.contains("1 text of strangers, or too many, passed over"), "\(other)")
      #expect(try await alice.succeed("message", "inbox", "--json").line == "[]")
      #expect(try await alice.succeed("account", "friend").output.contains("removed, blocked"))
      try await alice.succeed("account", "friend", "unblock", address(bob))
      #expect(try await alice.succeed("account", "friend", "--json").line == "[]")
      let traffic = try await bob.succeed("account", "--json").json()[0]["traffic"]
      #expect(traffic["plainSent"].int == 1 && traffic["bytesSent"].int == 4, "\(traffic)")
      #expect(try await bob.succeed("account").output.contains("1, 4 bytes"))
    }
  }

  @Test(
    "a plain text to nobody isn't done, with and without a daemon, and none goes through a server with pigeons-only")
  func nowhere() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await pair(bench, try ChatServer.shared(.prosody))
      for isWithDaemon in [false, true] {
        if isWithDaemon { try await alice.startDaemon() }
        let lost = try await alice.run("send", "nobody-at-all@localhost", "hello", "--plain", "--json")
        #expect(lost.status == 6 && lost.complaint.contains("not delivered to nobody-at-all@localhost"), "\(lost)")
        #expect(try lost.json()["state"].string == "lost", "\(lost)")
        #expect(try await alice.run("send", address(bob), "hello", "--plain").status == 0)
      }
      try await alice.succeed("settings", "set", "pigeons-only", "on")
      try await bench.wait(every: 250, for: "the account to be left") {
        try await alice.succeed("account", "--json").json()[0]["connection"].isNull
      }
      #expect(try await alice.succeed("account").complaint.contains("pigeons-only is on"))
      let refused = try await alice.run("send", address(bob), "secretly", "--plain")
      #expect(refused.status == 5 && refused.complaint.contains("pigeons-only is on"), "\(refused)")
      try await alice.stopDaemon()
      #expect(try await alice.run("account", "sync").status == 5)
    }
  }

  @Test("an account that is forgotten leaves nothing in the vault's folders, and a wrong password has its code")
  func forgotten() async throws {
    try await Bench.run { bench in
      let server = try ChatServer.shared(.prosody)
      let (alice, bob) = try await pair(bench, server)
      try await alice.succeed("account", "friend", "add", address(bob))
      #expect(try await alice.run("account", "logout", "--forget").status == 64)
      try await alice.succeed("account", "logout", "--forget", "--yes")
      #expect(try await alice.succeed("account", "--json").line == "[]")
      #expect(try await alice.run("account", "friend", "--json").status == 1)
      let needle = Array(address(bob).utf8)
      for file in FileManager.default.enumerator(atPath: alice.home)?.compactMap({ $0 as? String }) ?? [] {
        let bytes = [UInt8](FileManager.default.contents(atPath: alice.home + "/" + file) ?? Data())
        #expect(!bytes.containsSequence(needle), "\(file)")
      }
      let wrong = try await alice.run(
        "account", "login", address(alice), "--host", "127.0.0.1", "--port", "\(server.port)", "--certificates",
        server.certificates, "--password-fd", "0", input: Array("wrong".utf8))
      #expect(wrong.status == 5 && wrong.complaint.contains("isn't its password"), "\(wrong)")
      #expect(try await alice.succeed("account", "--json").line == "[]")
    }
  }
}

extension [UInt8] {
  fileprivate func containsSequence(_ other: [UInt8]) -> Bool {
    guard other.count <= count, !other.isEmpty else { return false }
    return (0...(count - other.count)).contains { self[$0..<($0 + other.count)].elementsEqual(other) }
  }
}
