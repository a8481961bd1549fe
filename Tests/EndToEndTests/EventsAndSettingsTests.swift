import Foundation
import Testing

@Suite("Log, notifications and settings")
struct EventsAndSettingsTests {
  @Test("the notification command gets the facts of each event as JSON on its standard input")
  func notifications() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let file = bob.folder + "/events"
      try await bob.succeed("settings", "set", "notify-command", "cat >> '\(file)'")
      func events() -> [JSON] {
        let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { try? JSON(parsing: Data($0.utf8)) }
      }
      try alice.write(sample(100), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2", "--description", "plans").line
      try await bench.wait(for: "share-received") { events().contains { $0["event"].string == "share-received" } }
      try await alice.succeed("recover", id, "-o", "copy")
      try await bench.wait(for: "share-released") { events().contains { $0["event"].string == "share-released" } }
      try await bob.succeed("peer", "remove", "alice", "--yes")
      #expect(try await alice.run("recover", id, "-o", "again").status == 4)
      try await bench.wait(for: "refused") { events().contains { $0["event"].string == "refused" } }
      for event in events() {
        #expect(event.keys == ["event", "peer", "secret", "description", "detail", "at"], "\(event)")
        #expect(event["at"].string?.contains(/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$/) == true)
      }
      let received = events().first { $0["event"].string == "share-received" }
      #expect(received?["peer"].string == "alice")
      #expect(received?["secret"].string == id)
      #expect(received?["description"].string == "plans")
    }
  }

  @Test("a notification command that fails or hangs holds up nothing")
  func badCommand() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      for (number, command) in ["sleep 600", "exit 3", "/nonexistent/command", "yes"].enumerated() {
        let begun = "\(bob.folder)/begun-\(number)"
        try await bob.succeed("settings", "set", "notify-command", "echo $$ > '\(begun)'; \(command)")
        try alice.write(sample(100), to: "note.txt")
        // The first goes on until it is stopped, after ten seconds: whoever waited for that would end later.
        let isFirst = number == 0 ? "{ [ ! -s '\(begun)' ] || kill -0 $(cat '\(begun)'); }" : "true"
        var shared = try await alice.shell("\"$VAULT\" share note.txt --threshold 2 && \(isFirst)")
        // One that had no turn for ten seconds says nothing about that.
        for _ in 0..<4 where shared.status != 0 && shared.seconds >= 10 {
          unlink(begun)
          shared = try await alice.shell("\"$VAULT\" share note.txt --threshold 2 && \(isFirst)")
        }
        try #require(shared.status == 0, "\(shared)")
        try await bench.wait(for: "\(command) to have begun") { access(begun, F_OK) == 0 }
      }
    }
  }

  @Test("the log shows who dealt, got, asked for and was refused what")
  func log() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try alice.write(sample(100), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      try await bob.succeed("recover", id)
      func events(_ peer: Peer) async throws -> [JSON] {
        try await peer.succeed("device", "log", "--json").json().array
      }
      func has(_ list: [JSON], _ event: String, _ peer: String?) -> Bool {
        list.contains { $0["event"].string == event && $0["peer"].string == peer && $0["secret"].string == id }
      }
      #expect(has(try await events(alice), "shared", nil))
      for name in ["bob", "carol"] { #expect(has(try await events(alice), "share-delivered", name)) }
      // A daemon commits what peers did in groups, not one by one.
      for holder in [bob, carol] {
        try await bench.wait(for: "the receipt in the log") { has(try await events(holder), "share-received", "alice") }
      }
      #expect(has(try await events(bob), "recovered", nil))
      try await bench.wait(for: "the release in the log") {
        has(try await events(alice) + events(carol), "share-released", "bob")
      }
      let text = try await bob.succeed("device", "log", "--limit", "1")
      #expect(text.lines.count == 2)
    }
  }

  @Test("settings are listed, changed, kept, and put back by an empty value")
  func settings() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let list = try await alice.succeed("settings", "list", "--json").json()
      #expect(Set(list.array.compactMap { $0["key"].string }).isSuperset(of: ["listen", "notify-command"]))
      for setting in list.array {
        #expect(setting.keys == ["key", "value", "default", "explanation"])
        #expect(setting["value"].string == setting["default"].string)
      }
      try await alice.succeed("settings", "set", "listen", "127.0.0.1:4000")
      #expect(try await alice.succeed("settings", "get", "listen").line == "127.0.0.1:4000")
      try await alice.succeed("settings", "set", "listen", "")
      #expect(try await alice.succeed("settings", "get", "listen").line == "[::]:4721")
    }
  }

  @Test("the daemon listens where the setting says")
  func listenSetting() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      try await alice.succeed("settings", "set", "listen", "127.0.0.1:0")
      let daemon = try alice.start(["daemon"])
      try await bench.wait(for: "the daemon") { daemon.written.contains(/listening on 127\.0\.0\.1:[1-9][0-9]*\n/) }
      daemon.signal(15)
      #expect(try await daemon.end(within: 90).status == 0)
    }
  }

  @Test("a quota refuses what is too much, names the peer, and takes it when raised")
  func quota() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await bob.succeed("settings", "set", "quota-bytes", "1K")
      try alice.write(sample(50_000), to: "note.txt")
      let outcome = try await alice.run("share", "note.txt", "--threshold", "2")
      #expect(outcome.status != 0, "\(outcome)")
      #expect(outcome.complaint.contains("bob"), "\(outcome)")
      #expect(try await bob.succeed("list", "--json").json().array.isEmpty)
      try await bob.succeed("settings", "set", "quota-bytes", "1M")
      #expect(try await alice.run("share", "note.txt", "--threshold", "2").status == 0)
      #expect(try await bob.succeed("list", "--json").json().array.count == 1)
    }
  }
}
