import Foundation
import Glibc
import Testing

@Suite("Groups that were lost and come back")
struct GroupReturnTests {
  private func add(_ words: String, _ peer: Peer, _ bench: Bench) async throws -> String {
    let file = try bench.file("note.txt", Array(words.utf8))
    return try await peer.succeed("item", "add", "family", file, "--public", "--group", "Family").line
  }

  private func items(_ peer: Peer) async throws -> Set<String?> {
    Set(try await peer.succeed("group", "items", "--json").json().array.map { $0["id"].string })
  }

  @Test("a home that is put back in place says so, counts anew, and has again what came in between")
  func putBack() async throws {
    try await Bench.run { bench in
      let servers = try await ShareServer.three(bench)
      let (alice, bob) = try await bench.family(servers)
      let first = try await add("first", bob, bench)
      try await bob.stopDaemon()
      let copy = bench.folder + "/copy"
      try await bob.succeed("group", "sync")
      try await alice.stopDaemon()
      try await alice.succeed("group", "sync")
      _ = try await alice.shell("cp -a '\(bob.home)' '\(copy)'")
      let second = try await add("second", bob, bench)
      try await alice.succeed("group", "sync")
      #expect(try await items(alice) == [first, second])
      _ = try await alice.shell("cp -a '\(copy)/.' '\(bob.home)/'")
      let status = try await bob.succeed("group", "status", "--json").json()
      #expect(status["missingKnown"].bool == false && status["putBackAt"].string != nil)
      #expect(try await bob.succeed("group", "status").output.contains("not known until another member answers"))
      let third = try await add("third", bob, bench)
      let sync = try await bob.succeed("group", "sync")
      #expect(sync.complaint.contains("put back from a copy"), "\(sync)")
      try await bench.wait(upTo: 180, every: 500, for: "both to have everything") {
        for peer in [alice, bob] { try await peer.succeed("group", "confirm") }
        let (here, there) = (try await items(alice), try await items(bob))
        return here == [first, second, third] && there == here
      }
      #expect(try await bob.succeed("group", "status", "--json").json()["missingKnown"].bool == true)
    }
  }

  @Test("what a group had brought since the copy was made is in step again in a home that is put back in place")
  func broughtSinceTheCopy() async throws {
    try await Bench.run { bench in
      let servers = try await ShareServer.three(bench)
      let (alice, bob) = try await bench.family(servers)
      for peer in [alice, bob] { try await peer.stopDaemon() }
      for peer in [alice, bob, alice] { try await peer.succeed("group", "sync") }
      let copy = bench.folder + "/copy"
      _ = try await alice.shell("cp -a '\(bob.home)' '\(copy)'")
      let brought = try await add("brought", alice, bench)
      try await bob.succeed("group", "sync")
      #expect(try await items(bob) == [brought])
      _ = try await alice.shell("cp -a '\(copy)/.' '\(bob.home)/'")
      try await bench.wait(upTo: 180, every: 500, for: "the item's place to come again") {
        for peer in [bob, alice] { try await peer.succeed("group", "confirm") }
        return try await items(bob) == [brought]
      }
      let entry = try await bob.succeed("group", "items", "--json").json()[0]
      #expect(entry["inStep"].bool == true && entry["item"]["origin"].string == "group", "\(entry)")
      let other = try bench.file("other.txt", Array("changed".utf8))
      // It takes bob's share.
      try await bob.startDaemon()
      let edited = try await alice.succeed("item", "edit", brought, "--from", other).line
      try await bob.stopDaemon()
      try await bob.succeed("group", "sync")
      func list(_ peer: Peer) async throws -> [String?] {
        try await peer.succeed("item", "list", "--json").json().array.map { $0["id"].string }
      }
      #expect(try await list(bob) == [edited])
      try await alice.succeed("group", "drop", edited)
      try await bob.succeed("group", "sync")
      #expect(try await list(bob).isEmpty)
    }
  }

  @Test("all servers are lost: an invitation takes a member to the new ones, with all that was typed meanwhile")
  func allLost() async throws {
    try await Bench.run { bench in
      let old = try await ShareServer.three(bench)
      let (alice, bob) = try await bench.family(old)
      for server in old {
        server.child.signal(SIGKILL)
        _ = try await server.child.end(within: 90)
      }
      let typed = try await add("typed by bob", bob, bench)
      let own = try await add("typed by alice", alice, bench)
      let none = try await bob.run("group", "sync")
      #expect(none.status == 6, "\(none)")
      let new = try await ShareServer.three(bench)
      let moved = try await alice.run(["group", "servers", "Family"] + new.options)
      #expect(moved.status == 0, "\(moved)")
      let stranded = try await bob.run("group", "join", "Family")
      #expect(stranded.status == 64 && stranded.complaint.contains("vault group invite"), "\(stranded)")
      let invited = try await alice.run("group", "invite", "bob")
      #expect(invited.status == 0 && invited.complaint.contains("bob is a member"), "\(invited)")
      try await bench.wait(upTo: 180, every: 500, for: "bob to be on the new servers") {
        let status = try await bob.succeed("group", "status", "--json").json()
        let current = status["servers"].array.filter { $0["isCurrent"].bool == true }
        return Set(current.map { $0["address"].string }) == Set(new.map { $0.address })
      }
      try await bench.wait(upTo: 180, every: 500, for: "what was typed to arrive") {
        let (here, there) = (try await items(alice), try await items(bob))
        return here == [typed, own] && there == here
      }
      let members = try await alice.succeed("group", "members", "--json").json().array
      #expect(members.compactMap { $0["state"].string } == ["owner", "member"])
    }
  }

  @Test("all servers are lost, and there is no session: a file takes a member to the new ones")
  func allLostWithoutSession() async throws {
    try await Bench.run { bench in
      let old = try await ShareServer.three(bench)
      let (alice, bob) = try await bench.family(old)
      try await alice.stopDaemon()
      try await bob.stopDaemon()
      for server in old {
        server.child.signal(SIGKILL)
        _ = try await server.child.end(within: 90)
      }
      let new = try await ShareServer.three(bench)
      let moved = try await alice.run(["group", "servers", "Family"] + new.options)
      #expect(moved.status == 0, "\(moved)")
      let request = try await bob.succeed("group", "join", "Family", "--request", "-")
      let file = try bench.file("request", request.bytes)
      let answer = try await alice.succeed("group", "invite", "Family", "--request", file, "--answer", "-")
      let joined = try await bob.run("group", "join", "--answer", "-", input: answer.bytes)
      #expect(joined.status == 0, "\(joined)")
      #expect(try await bob.succeed("group", "sync").line.contains("3 of 3 servers answered"))
    }
  }

  @Test("a full server is called full, and a sync that could leave nothing says so")
  func full() async throws {
    try await Bench.run { bench in
      let servers = [
        try await ShareServer(bench), try await ShareServer(bench), try await ShareServer(bench, "--group-shares", "0"),
      ]
      let (alice, _) = try await bench.pair()
      try await alice.succeed("key", "create", "family", "--threshold", "2", "--to", "bob")
      try await alice.stopDaemon()
      let made = try await alice.run(["group", "create", "Family", "-s", "3"] + servers.options)
      try #require(made.status == 0, "\(made)")
      let file = try bench.file("note.txt", Array("words".utf8))
      let added = try await alice.succeed("item", "add", "family", file, "--public", "--group", "Family")
      #expect(added.complaint.contains("too few servers of Family have taken it"), "\(added)")
      #expect(added.complaint.contains("\(servers[2].address): it is full"), "\(added)")
      let sync = try await alice.run("group", "sync")
      #expect(sync.status == 6 && sync.complaint.contains("could not be left at 3 of 3 servers"), "\(sync)")
      #expect(sync.complaint.contains("\(servers[2].address): it is full"), "\(sync)")
      #expect(try await alice.succeed("group", "status").output.contains("answers, but takes nothing: it is full"))
    }
  }

  @Test("a note that a group has brought is shown when it is opened for the first time")
  func note() async throws {
    try await Bench.run { bench in
      let servers = try await ShareServer.three(bench)
      let (alice, bob) = try await bench.family(servers)
      let words = try bench.file("words", Array("the words of a note".utf8))
      let item = try await alice.run("item", "add", "family", "--note", words, "--group", "Family")
      try #require(item.status == 0, "\(item)")
      try await bench.wait(upTo: 180, every: 500, for: "the note to arrive") {
        try await items(bob) == [item.line]
      }
      #expect(try await bob.succeed("group", "items").output.contains("not opened yet"))
      #expect(try await bob.succeed("item", "show", item.line).output.contains("the words of a note"))
    }
  }

  @Test("Ctrl-C while an item goes into a group says what is done")
  func interrupted() async throws {
    try await Bench.run { bench in
      let servers = try await ShareServer.three(bench)
      let (alice, _) = try await bench.pair()
      try await alice.succeed("key", "create", "family", "--threshold", "2", "--to", "bob")
      let made = try await alice.run(["group", "create", "Family"] + servers.options)
      try #require(made.status == 0, "\(made)")
      // Somebody else has the group for longer than the command waits.
      let lock = "\(alice.home)/data/groups/\(made.line)/user.lock"
      try await alice.stopDaemon()
      let holder = try bench.start("/usr/bin/flock", [lock, "/bin/sh", "-c", "echo held; sleep 600"])
      try await bench.wait(for: "the lock") { holder.written.contains("held") }
      let file = try bench.file("note.txt", Array("words".utf8))
      let adding = try alice.start(["item", "add", "family", file, "--public", "--group", "Family"])
      try await bench.wait(for: "the item to be encrypted") {
        adding.written.contains("encrypted") || !adding.isRunning
      }
      adding.signal(SIGINT)
      let outcome = try await adding.end(within: 180)
      holder.signal(SIGKILL)
      #expect(outcome.complaint.contains("the group Family hasn't got it"), "\(outcome)")
      #expect(outcome.status != 0 && !outcome.line.isEmpty, "\(outcome)")
      let list = try await alice.succeed("item", "list", "--json").json().array.map { $0["id"].string }
      #expect(list == [outcome.line])

      // Where it fails otherwise, an entry's password is still shown, as was asked.
      try FileManager.default.removeItem(atPath: lock)
      try FileManager.default.createDirectory(atPath: lock, withIntermediateDirectories: false)
      let entry = try await alice.run(
        "item", "add", "family", "--password-entry", "--title", "web", "--show", "--public", "--group", "Family")
      #expect(entry.status != 0 && entry.complaint.contains("the item is kept here nevertheless"), "\(entry)")
      #expect(entry.complaint.contains("password: "), "\(entry)")
    }
  }
}
