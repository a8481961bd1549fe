import Foundation
import Glibc
import Testing

@Suite("Parcels through groups")
struct ParcelTests {
  /// Alice, Bob and Carol, who have met, in the group Family. Their daemons don't run any more.
  private func family(_ bench: Bench) async throws -> (people: [Peer], servers: [ShareServer]) {
    let (alice, bob, carol) = try await bench.trio()
    let people = [alice, bob, carol]
    let servers = try await ShareServer.three(bench)
    let made = try await alice.run(["group", "create", "Family"] + servers.options)
    try #require(made.status == 0, "\(made)")
    for peer in [bob, carol] {
      try await alice.succeed("group", "invite", peer.name)
      try await peer.succeed("group", "join")
    }
    for peer in people {
      for other in people where other.name != peer.name { try await peer.succeed("peer", "ping", other.name) }
    }
    for peer in people { try await peer.stopDaemon() }
    for peer in people + people { try await peer.succeed("group", "sync") }
    return (people, servers)
  }

  private func delivery(of id: String, to peer: String, at dealer: Peer) async throws -> JSON {
    try await dealer.succeed("secret", "show", id, "--json").json()["deliveries"].first(where: "peer", is: peer)
  }

  private func isDelivered(_ id: String, to peer: String, at dealer: Peer) async throws -> Bool {
    try await delivery(of: id, to: peer, at: dealer)["state"].string == "delivered"
  }

  /// Waits until a daemon has put up so many parcels since it began, and servers have everything.
  private func waitForAnswer(of peer: Peer, _ bench: Bench, count: Int = 1) async throws {
    try await bench.wait(upTo: 180, every: 100, for: "\(peer.name)'s daemon to answer") {
      peer.daemonLog.components(separatedBy: "a parcel goes out").count > count
    }
    try await bench.wait(upTo: 180, every: 100, for: "servers to have \(peer.name)'s answer") {
      try await peer.succeed("group", "status", "--json").json()["unsent"].int == 0
    }
  }

  @Test("people who are never online together share a file and recover it, by their daemons")
  func apart() async throws {
    try await Bench.run { bench in
      let (people, servers) = try await family(bench)
      let (alice, bob, carol) = (people[0], people[1], people[2])
      let note = sample(5000)
      try alice.write(note, to: "note.txt")
      let shared = try await alice.run(
        "share", "note.txt", "--threshold", "3", "--to", "bob", "--to", "carol", "--description", "the marked words",
        "--json")
      #expect(shared.status == 3, "\(shared)")
      #expect(shared.complaint.contains("is on its way to bob through the group Family"), "\(shared)")
      let id = try #require(try shared.json()["id"].string)
      #expect(try shared.json()["deliveries"].array.map { $0["onItsWay"]["group"].string } == ["Family", "Family"])
      #expect(
        try await alice.succeed("secret", "show", id).output.contains("on its way through the group Family, since "))
      #expect(try await alice.succeed("status").output.contains("1 share, 1 on the way"))

      for peer in [bob, carol] {
        try await peer.startDaemon()
        try await waitForAnswer(of: peer, bench)
        #expect(try await peer.succeed("list", "--json").json().first(where: "id", is: id)["ownIndex"].int != nil)
        try await peer.stopDaemon()
      }
      try await alice.startDaemon()
      for peer in [bob, carol] {
        try await bench.wait(upTo: 180, every: 200, for: "alice to hear of \(peer.name)'s share") {
          try await isDelivered(id, to: peer.name, at: alice)
        }
      }
      try await alice.stopDaemon()

      let asking = try await alice.run("recover", id, "-o", "out", "--wait", "1s")
      #expect(asking.status == 4 && !alice.has("out"), "\(asking)")
      for peer in [bob, carol] {
        try await peer.startDaemon()
        try await waitForAnswer(of: peer, bench)
        try await peer.stopDaemon()
      }
      try await alice.succeed("recover", id, "-o", "out", "--wait", "170s")
      try alice.expect("out", toHold: note)
      for server in servers { #expect(!server.holds("the marked words") && !server.holds(id)) }
    }
  }

  @Test("shares are renewed while no device answers another's calls: their daemons speak through the group")
  func changing() async throws {
    try await Bench.run { bench in
      let (people, servers) = try await family(bench)
      let (alice, bob, carol) = (people[0], people[1], people[2])
      for peer in [bob, carol] { try await peer.startDaemon() }
      let note = sample(5000)
      try alice.write(note, to: "note.txt")
      let id = try await alice.succeed(
        "share", "note.txt", "--threshold", "2", "--to", "bob", "--to", "carol", "--description", "the marked words"
      ).line
      for peer in [bob, carol] { try await peer.stopDaemon() }

      try await alice.succeed("secret", "refresh", id)
      #expect(try await alice.succeed("message", "outbox").output.contains("word of a secret's holders"))
      for peer in people { _ = try peer.start(["daemon", "--listen", "off"]) }
      try await bench.wait(upTo: 180, every: 200, for: "bob to be asked") {
        let requests = try await bob.succeed("requests", "--json").json().array
        guard let request = requests.first(where: { $0["kind"].string == "change" })?["id"].int else { return false }
        try await bob.succeed("requests", "approve", "\(request)")
        return true
      }
      // All three have their new shares, and the two who have said yes only those.
      for peer in [alice, bob] {
        try await bench.wait(upTo: 180, every: 200, for: "\(peer.name) to have a new share alone") {
          let change = try await peer.succeed("secret", "show", id, "--json").json()["change"]
          return change["state"].string == "complete" && change["hasOldShare"].bool == false
        }
      }
      try await bob.succeed("recover", id, "-o", "out", "--wait", "170s")
      try bob.expect("out", toHold: note)
      for server in servers { #expect(!server.holds("the marked words") && !server.holds(id)) }
    }
  }

  @Test("`vault group sync` is enough, without any daemon, and whom a share isn't for has nothing of it")
  func byHand() async throws {
    try await Bench.run { bench in
      let (people, _) = try await family(bench)
      let (alice, bob, carol) = (people[0], people[1], people[2])
      let note = sample(700_000)
      try alice.write(note, to: "note")
      let shared = try await alice.run("share", "note", "--threshold", "2", "--to", "bob")
      #expect(shared.status == 3, "\(shared)")
      let id = shared.line
      try await carol.succeed("group", "sync")
      try await bob.succeed("group", "sync")
      try await carol.succeed("group", "sync")
      #expect(try await bob.succeed("list", "--json").json().array.map { $0["id"].string } == [id])
      #expect(try await carol.succeed("list", "--json").line == "[]")
      #expect(try StoredHome(carol).parcelCount == 0 && StoredHome(carol).secrets.isEmpty)
      try await alice.succeed("group", "sync")
      #expect(try await isDelivered(id, to: "bob", at: alice))
      #expect(try await alice.succeed("secret", "deliver", id, "--json").json()[0]["finished"].bool == true)

      // Bob asks, and Alice answers when she looks in.
      let asking = try bob.start(["recover", id, "-o", "out", "--wait", "170s"])
      try await bench.wait(upTo: 180, every: 500, for: "bob to have the file") {
        try await alice.succeed("group", "sync")
        return !asking.isRunning
      }
      let asked = try await asking.end(within: 90)
      #expect(asked.status == 0, "\(asked)")
      try bob.expect("out", toHold: note)
    }
  }

  @Test("`vault secret deliver` hands what waits to the group, and a session that comes first takes it out again")
  func session() async throws {
    try await Bench.run { bench in
      let (people, servers) = try await family(bench)
      let (alice, bob) = (people[0], people[1])
      try alice.write(sample(100), to: "note")
      for server in servers { server.child.signal(SIGSTOP) }
      let shared = try await alice.run("share", "note", "--threshold", "2", "--to", "bob")
      #expect(shared.status == 3 && shared.complaint.contains("too few servers of Family have taken it"), "\(shared)")
      for server in servers { server.child.signal(SIGCONT) }
      let retried = try await alice.run("secret", "deliver")
      #expect(retried.status == 3 && retried.complaint.contains("through the group Family"), "\(retried)")
      try await bob.startDaemon()
      try await bench.wait(upTo: 180, every: 200, for: "alice to hear of it") {
        try await alice.succeed("group", "sync")
        return try await isDelivered(shared.line, to: "bob", at: alice)
      }
      #expect(try await bob.succeed("list", "--json").json().array.count == 1)
    }
  }

  @Test("whoever asks his user answers when the user has agreed, whenever that is")
  func consent() async throws {
    try await Bench.run { bench in
      let (people, _) = try await family(bench)
      let (alice, bob) = (people[0], people[1])
      let note = sample(300)
      try alice.write(note, to: "note")
      let shared = try await alice.run("share", "note", "--threshold", "2", "--to", "bob")
      try await bob.succeed("group", "sync")
      try await alice.succeed("group", "sync")
      #expect(try await isDelivered(shared.line, to: "bob", at: alice))
      try await bob.succeed("secret", "policy", shared.line, "ask")
      let asking = try await alice.run("recover", shared.line, "-o", "out", "--wait", "1s")
      #expect(asking.status == 4 || asking.status == 11, "\(asking)")
      try await bob.succeed("group", "sync")
      let request = try await bob.succeed("requests", "--json").json()[0]
      #expect(request["kind"].string == "release" && request["peer"].string == "alice")
      let early = try await alice.run("recover", shared.line, "-o", "out", "--wait", "1s")
      #expect(early.status != 0 && !alice.has("out"))
      try await bob.succeed("requests", "approve", "\(try #require(request["id"].int))")
      try await bob.succeed("group", "sync")
      try await alice.succeed("recover", shared.line, "-o", "out", "--wait", "170s")
      try alice.expect("out", toHold: note)
    }
  }

  @Test("a member who is killed while he syncs loses nothing", .enabled(if: Fault.isPossible))
  func killed() async throws {
    try await Bench.run { bench in
      let (people, _) = try await family(bench)
      let (alice, bob) = (people[0], people[1])
      var random = SplitMix(seed: Effort.seed)
      for member in [bob, alice] {
        let steps = try await deliver(alice, bob, killing: member, Fault(deed: .kill)).steps.count
        try #require(steps > 10)
        let count = Effort.isSoak ? steps : 6
        for part in 0..<count {
          // One in each part of the way, so that all of it is seen.
          let step = Int.random(in: part * steps / count..<(part + 1) * steps / count, using: &random) + 1
          _ = try await deliver(alice, bob, killing: member, Fault(deed: .kill, step: step))
        }
      }
    }
  }

  /// Alice shares something with Bob through the group, while a sync of one of them meets a fault.
  private func deliver(
    _ alice: Peer, _ bob: Peer, killing member: Peer, _ fault: Fault
  ) async throws -> FaultTrace {
    try alice.write(sample(200, seed: UInt64(fault.step + 1)), to: "note")
    let id = try await alice.run("share", "note", "--threshold", "2", "--to", "bob").line
    if member === alice { try await bob.succeed("group", "sync") }
    let (outcome, trace) = try await FaultyRun(member, ["group", "sync"], fault).end()
    #expect(outcome.status == 0 || outcome.status == 137, "\(outcome)")
    try alice.makeSweepDue()
    try bob.makeSweepDue()
    // What was being answered is left alone for a moment: somebody might be at it.
    try await alice.bench.wait(upTo: 180, every: 500, for: "the share to arrive; \(member.name) met \(fault)") {
      for peer in [bob, alice] { try await peer.succeed("group", "sync") }
      return try await isDelivered(id, to: "bob", at: alice)
    }
    try await bob.succeed("group", "sync")
    let homes = [try StoredHome(alice), try StoredHome(bob)]
    for home in homes {
      let found = try home.contradictions()
      #expect(found == [], "\(member.name) met \(fault)")
    }
    #expect(homes[1].secrets[id]?.ownIndex != nil, "\(member.name) met \(fault)")
    #expect(homes[0].waitingParcelCount == 0, "\(member.name) met \(fault)")
    return trace
  }
}
