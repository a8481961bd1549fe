import Foundation
import Glibc
import Testing

extension Bench {
  /// Alice and Bob with a key, in a group on these servers.
  func family(_ servers: [ShareServer]) async throws -> (alice: Peer, bob: Peer) {
    let (alice, bob) = try await pair()
    try await alice.succeed("key", "create", "family", "--threshold", "2", "--to", "bob")
    let made = try await alice.run(["group", "create", "Family"] + servers.options)
    try #require(made.status == 0, "\(made)")
    try await alice.succeed("group", "invite", "bob")
    try await bob.succeed("group", "join")
    return (alice, bob)
  }
}

@Suite("Items of groups")
struct GroupItemTests {
  @Test("an item is added, changed on another device and deleted, by commands and by daemons")
  func life() async throws {
    try await Bench.run { bench in
      let servers = try await ShareServer.three(bench)
      let (alice, bob) = try await bench.family(servers)

      let first = try bench.file("letter.txt", Array("the first words".utf8))
      let added = try await alice.succeed("item", "add", "family", first, "--group", "Family")
      #expect(added.complaint.contains("it is in the group Family"))
      try await bench.wait(upTo: 180, every: 200, for: "bob's daemon to bring the item") {
        try await bob.succeed("item", "list", "--json").json().array.first?["id"].string == added.line
      }
      let listed = try await bob.succeed("group", "items", "--json").json()[0]
      #expect(listed["id"].string == added.line && listed["keyHeld"].bool == true)
      #expect(listed["item"]["origin"].string == "group")
      #expect(try await bob.succeed("item", "show", added.line, "-o", "-").output == "the first words")

      let second = try bench.file("other.txt", Array("other words".utf8))
      let edited = try await bob.succeed("item", "edit", added.line, "--from", second)
      #expect(edited.complaint.contains("the group Family has it"))
      try await alice.succeed("group", "sync")
      #expect(try await alice.succeed("item", "list", "--json").json().array.map { $0["id"].string } == [edited.line])
      #expect(try await alice.succeed("item", "show", edited.line, "-o", "-").output == "other words")

      let asked = try await alice.run("item", "delete", edited.line)
      #expect(asked.status != 0, "a question without a terminal is an error")
      try await alice.succeed("item", "delete", edited.line, "--yes")
      try await bob.succeed("group", "sync")
      #expect(try await bob.succeed("item", "list", "--json").json().array.isEmpty)
      for server in servers {
        #expect(!server.holds("the first words") && !server.holds("other words") && !server.holds("letter.txt"))
      }
    }
  }

  @Test("items reach who is never there at the same time, and what is taken out stays with its owner")
  func apart() async throws {
    try await Bench.run { bench in
      let servers = try await ShareServer.three(bench)
      let (alice, bob) = try await bench.family(servers)
      let note = try bench.file("note.txt", Array("words".utf8))
      let item = try await alice.succeed("item", "add", "family", note)
      try await alice.stopDaemon()
      try await bob.stopDaemon()

      // Shells are offered who and what each of these commands is about.
      #expect(try await CompletionTests.offers(["group", "invite"], alice).isEmpty)
      #expect(try await CompletionTests.offers(["group", "remove"], alice, behind: ["Family"]) == ["bob"])
      #expect(try await CompletionTests.offers(["group", "add"], alice, behind: ["Family"]) == ["note.txt"])
      #expect(try await CompletionTests.offers(["group", "drop"], alice).isEmpty)
      try await alice.succeed("group", "add", item.line)
      #expect(try await CompletionTests.offers(["group", "add"], alice).isEmpty)
      #expect(try await CompletionTests.offers(["group", "drop"], alice) == ["note.txt"])
      let again = try await alice.run("group", "add", "Family", item.line)
      #expect(again.status == 64 && again.complaint.contains("is in the group Family already"), "\(again)")
      try await bob.succeed("group", "sync")
      #expect(try await bob.succeed("group", "items").output.contains(item.line.prefix(12)))
      let dropped = try await bob.succeed("group", "drop", item.line)
      #expect(dropped.complaint.contains("stays here"))
      try await alice.succeed("group", "sync")
      #expect(try await alice.succeed("item", "list", "--json").json().array.isEmpty)
      #expect(try await bob.succeed("item", "list", "--json").json().array.count == 1)
      let unknown = try await bob.run("group", "drop", "Family", item.line)
      #expect(unknown.status == 1 && unknown.complaint.contains("has no item"), "\(unknown)")
    }
  }

  @Test("what an editor makes of an item takes its place, and what stays as it was changes nothing")
  func editor() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      try await alice.succeed("key", "create", "family", "--threshold", "2", "--to", "bob")
      let note = try bench.file("note.txt", Array("words\n".utf8))
      let item = try await alice.succeed("item", "add", "family", note, "--description", "a word").line
      let missing = try await alice.run("item", "edit", item, "--from", bench.folder + "/nothing")
      #expect(missing.status != 0)
      #expect(try await alice.succeed("item", "list", "--json").json().array.map { $0["id"].string } == [item])
      let other = try bench.file("other.txt", Array("more\n".utf8))
      let changed = try await alice.succeed("item", "edit", item, "--from", other, "--json").json()
      #expect(changed["name"].string == "other.txt" && changed["description"].string == "a word")
      let list = try await alice.succeed("item", "list", "--json").json().array
      #expect(list.count == 1 && list[0]["id"].string == changed["id"].string && changed["id"].string != item)
    }
  }

  @Test(
    "Ctrl-C says what a group has; of two changes that didn't know of each other all see both, and which one counts")
  func interruptedAndPushedAside() async throws {
    try await Bench.run { bench in
      let servers = try await ShareServer.three(bench)
      let (alice, bob) = try await bench.family(servers)
      let note = try bench.file("note.txt", Array("words".utf8))
      let item = try await alice.succeed("item", "add", "family", note, "--group", "Family").line
      let other = try await alice.succeed("item", "add", "family", try bench.file("other.txt", [1])).line
      try await bench.wait(upTo: 180, every: 200, for: "bob's daemon to bring the item") {
        try await bob.succeed("item", "list", "--json").json().array.first?["id"].string == item
      }

      func entries(_ peer: Peer) async throws -> [JSON] {
        try await peer.succeed("group", "items", "--json").json().array
      }
      /// The command itself knows what the group has before it asks servers, for which it waits for long.
      func waitForServers(_ command: Child) async throws {
        try await bench.wait(for: "the command to ask servers") { command.isConnected(to: servers[0].port) }
      }
      /// What a command says that is interrupted when the group has something new, while no server says anything.
      func interrupt(_ peer: Peer, _ arguments: [String]) async throws -> (id: String, outcome: Outcome) {
        let before = try await entries(peer).map { $0["id"].string }
        let command = try peer.start(arguments)
        var new: String?
        try await bench.wait(every: 100, for: "the group to have something new") {
          new = try await entries(peer).map { $0["id"].string }.first { !before.contains($0) } ?? nil
          return new != nil || !command.isRunning
        }
        try await waitForServers(command)
        command.signal(SIGINT)
        return (try #require(new), try await command.end(within: 90))
      }
      for server in servers { server.child.signal(SIGSTOP) }
      let added = try await interrupt(alice, ["group", "add", "Family", other])
      #expect(added.outcome.status == 130, "\(added)")
      #expect(added.outcome.complaint.contains("interrupted: the group Family has it, and what servers"), "\(added)")
      let texts = [try bench.file("alice.txt", Array("hers".utf8)), try bench.file("bob.txt", Array("his".utf8))]
      var changes: [String] = []
      for (peer, text) in zip([alice, bob], texts) {
        let (id, outcome) = try await interrupt(peer, ["item", "edit", item, "--from", text])
        #expect(outcome.status == 130 && outcome.output.contains(id), "\(outcome)")
        let words = "interrupted: the changed item is here, as \(id.prefix(12)); the group Family has it"
        #expect(outcome.complaint.contains(words), "\(outcome)")
        changes.append(id)
      }
      let dropping = try alice.start(["group", "drop", "Family", other])
      try await bench.wait(every: 100, for: "the group to have it no more") {
        try await !entries(alice).contains { $0["id"].string == other } || !dropping.isRunning
      }
      try await waitForServers(dropping)
      dropping.signal(SIGINT)
      let dropped = try await dropping.end(within: 90)
      #expect(dropped.status == 130, "\(dropped)")
      #expect(
        dropped.complaint.contains("interrupted: the group Family has it no more, and what servers"), "\(dropped)")
      for server in servers { server.child.signal(SIGCONT) }

      for peer in [alice, bob] {
        try await bench.wait(upTo: 180, every: 500, for: "both changes to be there") {
          Set(try await entries(peer).compactMap { $0["id"].string }) == Set(changes)
        }
        let all = try await entries(peer)
        let aside = all.filter { $0["aside"].bool == true }
        #expect(aside.map { $0["id"].string } == [changes[0]] && aside.map { $0["counts"].string } == [changes[1]])
        let table = try await peer.succeed("group", "items").output
        #expect(table.contains("pushed aside by \(changes[1].prefix(12))"))
        #expect(try await peer.succeed("item", "show", changes[0], "-o", "-").output == "hers")
      }
    }
  }
}
