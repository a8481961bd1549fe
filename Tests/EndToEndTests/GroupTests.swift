import Foundation
import Glibc
import Testing

@Suite("Groups over servers")
struct GroupTests {
  @Test("two people make a group, meet in it, lose a server, and part")
  func life() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      let servers = try await ShareServer.three(bench)
      let events = bob.folder + "/events"
      try await bob.succeed("settings", "set", "notify-command", "cat >> '\(events)'")
      let made = try await alice.run(["group", "create", "Family"] + servers.options + ["--json"])
      try #require(made.status == 0, "\(made)")
      let id = try #require(try made.json()["id"].string)
      #expect(try made.json()["k"].int == 2 && made.json()["s"].int == 2 && made.json()["isOwner"].bool == true)

      let invited = try await alice.succeed("group", "invite", "Family", "bob", "--json").json()
      #expect(invited["isDelivered"].bool == true && invited["group"].string == id)
      try await bench.wait(for: "the notification") {
        (try? String(contentsOfFile: events, encoding: .utf8))?.contains("group-invited") == true
      }
      let waiting = try await bob.succeed("group", "--json").json()["invitations"][0]
      #expect(waiting["name"].string == "Family" && waiting["peer"].string == "alice")
      let before = try await bob.succeed("status", "--json").json()
      #expect(before["invitations"].int == 1 && before["groups"].array.isEmpty)
      let uninvited = try await carol.run("group", "join", "Family")
      #expect(uninvited.status == 1 && uninvited.complaint.contains("nobody has invited this device"))

      let joined = try await bob.succeed("group", "join", "--json").json()
      #expect(joined["state"].string == "member" && joined["members"].int == 2 && joined["isOwner"].bool == false)
      let after = try await bob.succeed("status", "--json").json()
      #expect(after["invitations"].int == 0 && after["groups"][0]["name"].string == "Family")
      #expect(try await bob.succeed("status").output.contains("Family (2 members"))
      for peer in [alice, bob] {
        let members = try await peer.succeed("group", "members", "--json").json()
        #expect(members.array.compactMap { $0["name"].string } == ["alice", "bob"], "\(peer.name)")
      }

      servers[2].child.signal(SIGKILL)
      _ = try await servers[2].child.end(within: 90)
      let sync = try await bob.succeed("group", "sync")
      #expect(sync.line.contains("2 of 3 servers answered"))
      #expect(sync.complaint.contains("warning: \(servers[2].address): no answer"))
      let refused = try await bob.run("group", "remove", "alice", "--yes")
      #expect(refused.status == 5 && refused.complaint.contains("only alice"))
      let removed = try await alice.succeed("group", "remove", "Family", "bob", "--yes", "--json")
      #expect(try removed.json()["keyChanges"].int ?? 0 > 0)
      #expect(try removed.json()["serversAway"].strings == [servers[2].address])
      let status = try await alice.succeed("group", "status", "--json").json()
      #expect(status["key"].int == 2 && status["members"].int == 1 && status["servers"].array.count == 3)
      let out = try await bob.run("group", "sync", "--json")
      #expect(try out.status == 6 && out.json()["success"].bool == false)
      try await bob.succeed("group", "leave", "Family", "--yes")
      #expect(try await bob.succeed("group", "--json").json()["groups"].array.isEmpty)
    }
  }

  @Test("who is away joins later, through two daemons that are killed in between")
  func away() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let servers = try await ShareServer.three(bench)
      let made = try await alice.run(["group", "create", "Family"] + servers.options)
      try #require(made.status == 0, "\(made)")
      try await bob.stopDaemon(SIGKILL)
      let invited = try await alice.run("group", "invite", "bob")
      #expect(invited.status == 0 && invited.complaint.contains("will be told later"), "\(invited)")
      try await bob.startDaemon()
      // Nobody waits in a test for the daemon's next try, which comes after fifteen seconds.
      try await alice.succeed("group", "invite", "bob")
      try await alice.stopDaemon(SIGKILL)
      let asked = try await bob.run("group", "join", "Family")
      #expect(asked.status == 6 && asked.complaint.contains("the daemon tries again"), "\(asked)")
      #expect(try await bob.succeed("group", "--json").json()["groups"][0]["state"].string == "joining")
      try await alice.startDaemon()
      try await bench.wait(upTo: 180, every: 200, for: "bob to be a member") {
        try await bob.succeed("group", "--json").json()["groups"][0]["state"].string == "member"
      }
    }
  }

  @Test("a server's operator decides who makes groups there")
  func token() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let token = try bench.file("token", Array("0123456789abcdef-token\n".utf8))
      let wrong = try bench.file("wrong", Array("0123456789abcdef-wrong\n".utf8))
      chmod(token, 0o600)
      chmod(wrong, 0o600)
      let guarded = try await ShareServer(bench, "--creation-token-file", token)
      let servers = [try await ShareServer(bench), guarded]
      let create = ["group", "create", "Family"] + servers.options
      let without = try await alice.run(create)
      #expect(without.status == 5 && without.complaint.contains(guarded.address), "\(without)")
      let other = try await alice.run(create + ["--token-file", "\(guarded.address)=\(wrong)"])
      #expect(other.status == 5, "\(other)")
      #expect(try await alice.succeed("group", "--json").json()["groups"].array.isEmpty)
      let right = try await alice.run(create + ["--token-file", "\(guarded.address)=\(token)"])
      #expect(right.status == 0, "\(right)")
      let nobodys = try await alice.run(create + ["--token-file", "http://\(bench.host):1=\(token)"])
      #expect(nobodys.status == 64)
      let open = try await alice.run(
        "group", "create", "Open", "--server", "http://192.0.2.1", "--server", "https://b.org")
      #expect(open.status == 64 && open.complaint.contains("it must begin with https://"), "\(open)")
    }
  }

  @Test("the owner moves a group to other servers: members hear of it over the old ones, and nothing is lost")
  func otherServers() async throws {
    try await Bench.run { bench in
      let old = try await ShareServer.three(bench)
      let (alice, bob) = try await bench.family(old)
      var items: [String] = []
      for words in ["words", "more words"] {
        let file = try bench.file("note.txt", Array(words.utf8))
        items.append(try await alice.succeed("item", "add", "family", file).line)
      }
      try await alice.stopDaemon()
      try await bob.stopDaemon()
      try await alice.succeed("group", "add", "Family", items[0])

      // One that stays and two new ones; one of the old ones is lost.
      old[2].child.signal(SIGKILL)
      _ = try await old[2].child.end(within: 90)
      let new = [old[0], try await ShareServer(bench), try await ShareServer(bench)]
      let refused = try await bob.run(["group", "servers", "Family"] + new.options)
      #expect(refused.status == 5 && refused.complaint.contains("only alice"), "\(refused)")
      let moved = try await alice.run(["group", "servers", "Family"] + new.options)
      #expect(moved.status == 0 && moved.complaint.contains("on 3 servers now"), "\(moved)")
      try await alice.succeed("group", "add", "Family", items[1])
      try await alice.succeed("group", "sync")
      // What it hears over the old servers takes it to the new ones at once.
      let heard = try await bob.succeed("group", "sync")
      #expect(heard.line.contains("3 of 3 servers answered"), "\(heard)")
      old[1].child.signal(SIGKILL)
      _ = try await old[1].child.end(within: 90)
      let sync = try await bob.succeed("group", "sync", "--json").json()
      #expect(sync["answered"].int == 3)
      let there = try await bob.succeed("group", "items", "Family", "--json").json().array.map { $0["id"].string }
      #expect(Set(there) == Set(items))
      for peer in [alice, bob] {
        let status = try await peer.succeed("group", "status", "--json").json()
        let current = status["servers"].array.filter { $0["isCurrent"].bool == true }
        #expect(Set(current.map { $0["address"].string }) == Set(new.map { $0.address }), "\(peer.name)")
      }
    }
  }

  @Test("without a network two people come together by files, and nobody else can use them")
  func files() async throws {
    try await Bench.run { bench in
      let (alice, bob) = (try await bench.peer("alice"), try await bench.peer("bob"))
      let eve = try await bench.peer("eve")
      let servers = try await ShareServer.three(bench)
      let made = try await alice.run(["group", "create", "Family"] + servers.options)
      try #require(made.status == 0, "\(made)")
      try await bob.succeed("group", "join", "--request", "../request.txt", "--user-name", "Bobby")
      let answer = try await alice.succeed("group", "invite", "--request", bob.base + "/request.txt", "--answer", "-")
      #expect(answer.complaint.contains("Bobby is a member of Family now"))
      try await eve.succeed("group", "join", "--request", "request.txt")
      let stolen = try await eve.run("group", "join", "--answer", "-", input: answer.bytes)
      #expect(stolen.status == 5 && stolen.complaint.contains("not for a request that waits on this device"))
      var damaged = answer.bytes
      damaged[200] = damaged[200] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      #expect(try await bob.run("group", "join", "--answer", "-", input: damaged).status == 5)
      let joined = try await bob.run("group", "join", "--answer", "-", "--json", input: answer.bytes)
      #expect(try joined.status == 0 && joined.json()["name"].string == "Family", "\(joined)")
      #expect(try await bob.succeed("group", "sync", "--json").json()["answered"].int == 3)
      let garbage = try await alice.run("group", "invite", "--request", "-", input: Array("VAULT-JOIN:AAAA".utf8))
      #expect(garbage.status == 8, "\(garbage)")
    }
  }

  @Test("a group that is in use by another process is waited for, and named")
  func inUse() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let servers = try await ShareServer.three(bench)
      let made = try await alice.run(["group", "create", "Family"] + servers.options)
      try #require(made.status == 0, "\(made)")
      let lock = "\(alice.home)/data/groups/\(made.line)/user.lock"
      let holder = try bench.start("/usr/bin/flock", [lock, "/bin/sh", "-c", "echo held; sleep 600"])
      try await bench.wait(for: "the lock") { holder.written.contains("held") }
      let waiting = try await alice.run("group", "status")
      #expect(waiting.status == 1 && waiting.complaint.contains("the group is in use by"), "\(waiting)")
      #expect(try await alice.succeed("group").output.contains("Family"))
      holder.signal(SIGKILL)
    }
  }

  @Test("a server that says nothing holds up neither commands nor a daemon that is killed and started again")
  func silence() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let servers = try await ShareServer.three(bench)
      let made = try await alice.run(["group", "create", "Family"] + servers.options)
      try #require(made.status == 0, "\(made)")
      servers[2].child.signal(SIGSTOP)
      try await alice.startDaemon()
      let user = "\(alice.home)/data/groups/\(made.line)/user.lock"
      try await bench.wait(for: "a round") {
        (try? String(contentsOfFile: user, encoding: .utf8))?.hasPrefix("vault daemon") == true
      }
      for _ in 0..<3 {
        let members = try await alice.succeed("group", "members")
        #expect(members.seconds < 25, "\(members.seconds) s")
      }
      try await bench.wait(for: "another round") {
        (try? String(contentsOfFile: user, encoding: .utf8))?.hasPrefix("vault daemon") == true
      }
      try await alice.stopDaemon(SIGKILL)
      #expect(try await alice.succeed("group", "status", "--json").json()["members"].int == 1)
      servers[2].child.signal(SIGCONT)
      try await alice.startDaemon()
      #expect(try await alice.succeed("group", "sync", "--json").json()["answered"].int == 3)
      try await alice.stopDaemon()
    }
  }

  @Test("creating is called off by Ctrl-C, and leaves nothing here or there")
  func interrupted() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let servers = try await ShareServer.three(bench)
      servers[2].child.signal(SIGSTOP)
      let create = try alice.start(["group", "create", "Family"] + servers.options)
      let folder = alice.home + "/data/groups"
      try await bench.wait(for: "it to begin") {
        (try? FileManager.default.contentsOfDirectory(atPath: folder))?.isEmpty == false
      }
      try await bench.wait(for: "it to ask the server that doesn't answer") {
        create.isConnected(to: servers[2].port)
      }
      create.signal(SIGINT)
      let ended = try await create.end(within: 90)
      #expect(ended.status == 130 && ended.complaint.contains("no group was made"), "\(ended)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
      servers[2].child.signal(SIGCONT)
    }
  }
}
