import Foundation
import Testing

/// Holders' users who want to be asked, or to have time, before their share goes or before one comes.
@Suite("Consent")
struct ConsentTests {
  /// Alice's file, shared among the three, all of whom are needed.
  private func share(_ alice: Peer, _ arguments: String...) async throws -> String {
    try alice.write(sample(1000), to: "note.txt")
    return try await alice.succeed("share", "note.txt", "--threshold", "3", "--description", "plans").line
  }

  @Test("a holder that asks its user releases nothing before it is approved, and the recovery's code says why")
  func ask() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      let id = try await share(alice)
      let file = bob.folder + "/events"
      try await bob.succeed("settings", "set", "notify-command", "cat >> '\(file)'")
      #expect(try await bob.succeed("secret", "policy", "plans").line == "auto (default)")
      let set = try await bob.succeed("secret", "policy", "plans", "ask", "--json").json()
      #expect(set["policy"].string == "ask" && set["isDefault"].bool == false && set["secret"].string == id)

      let early = try await carol.run("recover", id, "-o", "copy")
      #expect(early.status == 11 && !carol.has("copy"), "\(early)")
      #expect(early.complaint.contains("bob asks its user; run it again later"))
      let quiet = try await carol.run("recover", id, "-o", "copy", "--json", "--quiet")
      #expect(try quiet.jsonError()["code"].string == "awaitingConsent")

      let request = try await bob.succeed("requests", "--json").json()[0]
      #expect(
        request.keys == [
          "id", "kind", "peer", "fingerprint", "secret", "description", "bytes", "state", "askedAt", "releasesAt",
          "endsAt", "change",
        ])
      let fingerprint = try #require(try await carol.succeed("id", "--json").json()["fingerprint"].string)
      #expect(request["peer"].string == "carol" && request["fingerprint"].string == fingerprint)
      #expect(request["kind"].string == "release" && request["state"].string == "waiting")
      #expect(request["secret"].string == id && request["description"].string == "plans")
      #expect(try await bob.succeed("status", "--json").json()["requests"].int == 1)
      let table = try await bob.succeed("requests")
      #expect(table.lines.count == 2 && table.output.contains(fingerprint), "\(table)")
      try await bench.wait(for: "the notification") {
        let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        return text.contains("\"release-requested\"") && text.contains(fingerprint)
      }
      let number = try #require(request["id"].int)
      let approved = try await bob.succeed("requests", "approve", "\(number)", "--for", "1h")
      #expect(approved.complaint.contains(fingerprint), "\(approved)")
      try await carol.succeed("recover", id, "-o", "copy")
      try carol.expect("copy", toHold: sample(1000))
      // The approval is carol's.
      #expect(try await alice.run("recover", id, "-o", "copy").status == 11)
      try await bob.succeed("requests", "refuse", "\(number)")
      #expect(try await carol.run("recover", id, "-o", "again").status == 4)
    }
  }

  @Test("a delay ends by itself while the requester waits, and a veto ends the waiting for good")
  func delay() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      let id = try await share(alice)
      try await bob.succeed("settings", "set", "release-policy", "delay:4s")
      let outcome = try await carol.succeed("recover", id, "-o", "copy", "--wait", "170s")
      #expect(outcome.complaint.contains("unless vetoed") && outcome.seconds >= 3.5, "\(outcome)")
      try carol.expect("copy", toHold: sample(1000))
      try await bob.succeed("secret", "policy", id, "delay:1d")
      let early = try await alice.run("recover", id, "-o", "copy")
      #expect(
        early.status == 11 && early.complaint.contains(/bob releases it at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/),
        "\(early)")
      let request = try await bob.succeed("requests", "list", "--json").json().first(where: "peer", is: "alice")
      #expect(request["releasesAt"].string != nil)
      try await bob.succeed("requests", "refuse", "\(try #require(request["id"].int))")
      try await bob.succeed("secret", "policy", id, "auto")
      #expect(try await alice.run("recover", id, "-o", "copy").status == 4)
      #expect(try await bob.run("requests", "approve", "99").status == 1)
    }
  }

  @Test("a command that needs a shared key waits for its holders as a recovery does, and so does unlocking")
  func key() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try await alice.succeed("key", "create", "family", "--threshold", "3")
      try await bob.succeed("settings", "set", "release-policy", "delay:3s")
      try carol.write(sample(5000), to: "photo")
      #expect(try await carol.run("item", "add", "family", "photo").status == 11)
      let item = try await carol.succeed("item", "add", "family", "photo", "--wait", "170s").line
      try await carol.succeed("item", "show", item, "-o", "copy", "--wait")
      try carol.expect("copy", toHold: sample(5000))
      // Bob's delay begins anew for another peer.
      let early = try await alice.run("unlock", "family", "--wait", "soon")
      #expect(early.status == 64, "\(early)")
      let late = try await alice.succeed("unlock", "family", "--wait", "170s")
      #expect(late.complaint.contains("asking again"), "\(late)")
      #expect(try await alice.succeed("unlock", "--list", "--json").json()["secrets"].array.count == 1)
      #expect(try await alice.run("unlock", "--wait").status == 64)
    }
  }

  @Test("a recovery that waits is ended by Ctrl-C, or by its time, and leaves nothing")
  func interruptedWait() async throws {
    try await Bench.run { bench in
      let (alice, bob, _) = try await bench.trio()
      let id = try await share(alice)
      try await bob.succeed("settings", "set", "release-policy", "ask")
      let before = try alice.files()
      let waiting = try alice.start(["recover", id, "-o", "copy", "--wait"])
      try await bench.wait(for: "the wait") { waiting.written.contains("asking again") }
      waiting.signal(SIGINT)
      #expect(try await waiting.end(within: 90).status == 130)
      let short = try await alice.run("recover", id, "-o", "copy", "--wait=1s")
      #expect(short.status == 11, "\(short)")
      #expect(try alice.files() == before)
      #expect(try FileManager.default.contentsOfDirectory(atPath: alice.home + "/data/staging").isEmpty)
    }
  }

  @Test(
    "a share is kept once its holder's user has said yes; refused and discarded after a no, or when nobody is there")
  func confirmSharing() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await bob.succeed("settings", "set", "confirm-sharing", "on")
      try alice.write(sample(100), to: "note.txt")
      let sharing = try alice.start(["share", "note.txt", "--threshold", "2", "--description", "plans"])
      func request() async throws -> Int? {
        try await bob.succeed("requests", "--json").json().array.first { $0["kind"].string == "deposit" }?["id"].int
      }
      try await bench.wait(for: "the request") { try await request() != nil }
      #expect(try await bob.succeed("list", "--json").json().array.isEmpty)
      try await bob.succeed("requests", "approve", "\(try #require(try await request()))")
      let shared = try await sharing.end(within: 90)
      #expect(shared.status == 0 && shared.complaint.contains("bob's user is asked"), "\(shared)")
      #expect(try await bob.succeed("list", "--json").json().array.count == 1)

      let second = try alice.start(["share", "note.txt", "--threshold", "2"])
      try await bench.wait(for: "the request") { try await request() != nil }
      try await bob.succeed("requests", "refuse", "\(try #require(try await request()))")
      let refused = try await second.end(within: 90)
      #expect(
        refused.status == 3 && refused.complaint.contains("bob refused share 2: its user did not accept it"),
        "\(refused)")
      try await bob.succeed("settings", "set", "confirm-time", "5s")
      let third = try await alice.run("share", "note.txt", "--threshold", "2")
      #expect(third.status == 3 && third.seconds >= 4.5, "\(third)")
      #expect(try await bob.succeed("list", "--json").json().array.count == 1)
      try await bench.wait(for: "the request to go") { try await request() == nil }
      try await bob.succeed("settings", "set", "confirm-time", "5m")
      let again = try alice.start(["secret", "deliver", third.line])
      try await bench.wait(for: "the request") { try await request() != nil }
      try await bob.succeed("requests", "approve", "\(try #require(try await request()))")
      #expect(try await again.end(within: 90).status == 0)
    }
  }

  @Test(
    "a daemon follows the setting listen: off, it answers nobody, and delivers; the only device that can recover is the one that nobody can ask"
  )
  func listenOff() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await alice.stopDaemon()
      try await alice.succeed("settings", "set", "listen", alice.address)
      let daemon = try alice.start(["daemon"])
      bench.expectToLive("alice", daemon)
      try await bench.wait(for: "the daemon") { daemon.written.contains("listening on \(alice.address)\n") }
      try alice.write(sample(100), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      try await bob.succeed("recover", id, "-o", "first")

      try await alice.succeed("settings", "set", "listen", "off")
      try await bench.wait(for: "the daemon to stop listening") { daemon.written.contains("not listening\n") }
      #expect(try await bob.run("peer", "ping", "alice").status == 6)
      let status = try await alice.succeed("status", "--json").json()
      #expect(status["daemon"]["running"].bool == true && status["daemon"]["listening"].strings.isEmpty)
      // All of the shares are needed, and only alice can get at them.
      #expect(try await bob.run("recover", id, "-o", "second").status == 4)
      try await alice.succeed("recover", id, "-o", "mine")
      try alice.expect("mine", toHold: sample(100))
      // What waits is delivered.
      try await bob.stopDaemon()
      let waiting = try await alice.run("share", "note.txt", "--threshold", "2")
      #expect(waiting.status == 3, "\(waiting)")
      try await bob.startDaemon()
      try await bench.wait(upTo: 180, every: 250, for: "the delivery") {
        try await bob.succeed("list", "--json").json().array.count == 2
      }
      try await alice.succeed("settings", "set", "listen", alice.address)
      try await bench.wait(for: "the daemon to listen again") {
        daemon.written.components(separatedBy: "listening on \(alice.address)\n").count == 3
      }
      #expect(try await bob.run("peer", "ping", "alice").status == 0)
      // Where somebody else listens, nobody is answered, and nobody is told that he is.
      try await alice.succeed("settings", "set", "listen", bob.address)
      try await bench.wait(for: "the daemon to find the place taken") {
        daemon.written.components(separatedBy: "not listening\n").count == 3
      }
      #expect(try await alice.succeed("status", "--json").json()["daemon"]["listening"].strings.isEmpty)
      bench.expectEnd(of: daemon)
      daemon.signal(SIGTERM)
      #expect(try await daemon.end(within: 90).status == 0)
    }
  }

  @Test("settings and policies that make no sense are usage errors, and change nothing")
  func nonsense() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      try alice.write(sample(100), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      for (key, value) in [
        ("listen", "of"), ("confirm-sharing", "yes"), ("confirm-time", "1s"), ("confirm-time", "11m"),
        ("release-policy", "delay"), ("release-policy", "delay:2"), ("release-limit", "-1"), ("release-limit", "many"),
      ] {
        #expect(try await alice.run("settings", "set", key, value).status == 64, "\(key) \(value)")
      }
      #expect(try await alice.run("secret", "policy", id, "never").status == 64)
      #expect(try await alice.run("secret", "policy", "nothing", "ask").status == 1)
      #expect(try await alice.run("requests", "approve", "x").status == 64)
      #expect(try await alice.run("requests", "approve", "1", "--for", "soon").status == 64)
      #expect(try await alice.succeed("secret", "policy", id).line == "auto (default)")
    }
  }
}
