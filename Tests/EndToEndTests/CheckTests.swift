import Foundation
import Testing

@Suite("A drill of the holders")
struct CheckTests {
  @Test("says how many holders answered, and releases nothing")
  func allAnswer() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try alice.write(sample(300_000), to: "plan.pdf")
      let id = try await alice.succeed("share", "plan.pdf", "--threshold", "2", "--description", "plan").line
      for peer in [alice, bob] {
        let outcome = try await peer.succeed("check", "plan")
        #expect(outcome.lines.first == "recoverable now: 3 of 3 holders answered, 2 needed", "\(outcome)")
        #expect(outcome.output.contains("answered with 3 of 3 pieces"), "\(outcome)")
        #expect(outcome.complaint.contains("a holder may be gone tomorrow"), "\(outcome)")
      }
      let report = try await bob.succeed("check", "--json").json().array
      #expect(report.count == 1)
      #expect(report.first?["secret"]["id"].string == id)
      #expect(report.first?["answered"].int == 3 && report.first?["needed"].int == 2)
      #expect(report.first?["recoverable"].bool == true && report.first?["allAnswered"].bool == true)
      for peer in [alice, bob, carol] {
        let log = try await peer.succeed("device", "log").output
        #expect(!log.contains("share-released"), "\(log)")
      }
      try await bench.wait(every: 250, for: "the drill in carol's log") {
        try await carol.succeed("device", "log").output.contains("share-drilled")
      }
    }
  }

  @Test("names a dead holder, a damaged one, and one that deleted its share, with fitting exit codes")
  func failures() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol, dave) = try await bench.quartet()
      try alice.write(sample(200_000), to: "plan.pdf")
      let id = try await alice.succeed("share", "plan.pdf", "--threshold", "2").line
      try await bob.stopDaemon()
      let dead = try await alice.run("check", id)
      #expect(dead.status == 2, "\(dead)")
      #expect(dead.lines.first == "recoverable now: 3 of 4 holders answered, 2 needed", "\(dead)")
      #expect(dead.output.contains(/bob +2 +unreachable/), "\(dead)")
      try Peer.flipBit(of: try carol.fragment(of: id), at: 1000)
      let damaged = try await alice.run("check", id)
      #expect(damaged.status == 2, "\(damaged)")
      #expect(damaged.output.contains(/carol +3 +DAMAGED: refused: its fragment of the file is damaged/), "\(damaged)")
      try await dave.succeed("secret", "delete", id, "--yes")
      let gone = try await alice.run("check", id)
      #expect(gone.status == 4, "\(gone)")
      #expect(gone.lines.first == "NOT recoverable now: 1 of 4 holders answered, 2 needed", "\(gone)")
      #expect(gone.output.contains(/dave +4 +doesn't know the secret/), "\(gone)")
      let json = try await alice.run("check", id, "--json")
      let states = try json.json().array.first?["holders"].array.compactMap { $0["state"].string }
      #expect(states == ["unreachable", "damaged", "unknown"], "\(json)")
    }
  }

  @Test("rebuilds this device's own fragment from pieces of others, if it is told to")
  func repair() async throws {
    try await Bench.run { bench in
      let (alice, _, _) = try await bench.trio()
      try alice.write(sample(200_000), to: "plan.pdf")
      let id = try await alice.succeed("share", "plan.pdf", "--threshold", "2").line
      let whole = try Data(contentsOf: URL(fileURLWithPath: alice.fragment(of: id)))
      try Peer.flipBit(of: try alice.fragment(of: id), at: 1000)
      let found = try await alice.run("check", id)
      #expect(found.status == 2, "\(found)")
      #expect(found.output.contains("this device's fragment can be made anew: vault check --repair"), "\(found)")
      let json = try await alice.run("check", id, "--json")
      #expect(try json.json()[0]["repairable"].string == "fragment", "\(json)")
      let repaired = try await alice.succeed("check", id, "--repair", "--json").json()[0]
      #expect(repaired["repairable"].isNull && repaired["own"]["state"].string == "answered")
      #expect(repaired["repair"].keys == ["part", "state", "reason", "change", "notUsed"])
      #expect(repaired["repair"]["part"].string == "fragment" && repaired["repair"]["state"].string == "done")
      #expect(try Data(contentsOf: URL(fileURLWithPath: alice.fragment(of: id))) == whole)
    }
  }

  @Test("asks at a terminal whether to repair what it has found, and does it for a yes alone")
  func repairQuestion() async throws {
    try await Bench.run { bench in
      let (alice, _, _) = try await bench.trio()
      try alice.write(sample(200_000), to: "plan.pdf")
      let id = try await alice.succeed("share", "plan.pdf", "--threshold", "2", "--description", "plan").line
      let path = try alice.fragment(of: id)
      let whole = try Data(contentsOf: URL(fileURLWithPath: path))
      try Peer.flipBit(of: path, at: 1000)
      let damaged = try Data(contentsOf: URL(fileURLWithPath: path))
      for (answer, code, found, after) in [
        ("no", Int32(2), "this device's fragment can be made anew: vault check --repair", damaged),
        ("yes", 0, "repaired: this device's fragment is rebuilt", whole),
      ] {
        let terminal = try PseudoTerminal(alice, ["check", "plan"])
        try await terminal.expect("Rebuild it from pieces of other holders? Type yes to go on: ")
        #expect(terminal.screen.contains("This device's fragment of 'plan' (\(id.prefix(12))) is damaged or missing"))
        terminal.type(answer + "\n")
        #expect(try await terminal.end() == code, "\(terminal.screen)")
        #expect(terminal.screen.contains(found), "\(terminal.screen)")
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == after)
      }
    }
  }

  @Test("shows no more pieces than were asked for, and says what that is worth")
  func pieces() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      try alice.write(sample(9_000_000), to: "film")
      try await alice.succeed("share", "film", "--threshold", "2")
      let outcome = try await alice.succeed("check", "--pieces", "3")
      #expect(outcome.output.contains(/answered with 3 of [0-9]+ pieces/), "\(outcome)")
      #expect(outcome.output.contains(/noticed with a probability of [0-9.]+ %/), "\(outcome)")
      for wrong in ["0", "4097", "some"] { #expect(try await alice.run("check", "--pieces", wrong).status == 64) }
    }
  }

  @Test("is cut short by Ctrl-C, whatever a holder does")
  func interrupted() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(100), to: "note")
      try await alice.succeed("share", "note", "--threshold", "2")
      bob.freezeDaemon()
      let check = try alice.start(["check"])
      try await bench.atOnce(for: "bob to be asked") {
        check.isConnected(to: bob.daemonPort)
      } then: {
        check.signal(SIGINT)
      }
      let outcome = try await check.end(within: 90)
      bob.thawDaemon()
      #expect(outcome.status == 130, "\(outcome)")
    }
  }

  @Test("is run by the daemon when the user wants it, which warns when holders are gone")
  func scheduled() async throws {
    try await Bench.run { bench in
      let (alice, bob, _) = try await bench.trio()
      let file = alice.folder + "/events"
      try await alice.succeed("settings", "set", "notify-command", "cat >> '\(file)'")
      try alice.write(sample(100), to: "note")
      let id = try await alice.succeed("share", "note", "--threshold", "2").line
      try await bob.stopDaemon()
      try await alice.succeed("settings", "set", "check-interval", "1m")
      try await alice.stopDaemon()
      try await alice.startDaemon()
      // The first drills come within a tenth of the interval.
      try await bench.wait(for: "a warning") {
        (try? String(contentsOfFile: file, encoding: .utf8))?.contains("holders-low") == true
      }
      let text = try String(contentsOfFile: file, encoding: .utf8)
      let event = try #require(text.split(separator: "\n").first { $0.contains("holders-low") })
      let json = try JSON(parsing: Data(event.utf8))
      #expect(json["secret"].string == id && json["detail"].string == "2 of 3 holders answered, 2 needed")
      // It warns before it notes what it found.
      try await bench.wait(every: 250, for: "the drill to be noted") {
        let status = try await alice.succeed("status", "--json").json()
        return status["secrets"].array.first?["lastCheck"]["answered"].int == 2
      }
    }
  }
}

@Suite("Where a device stands")
struct StatusTests {
  @Test("is told without a daemon and with one")
  func daemon() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let without = try await alice.succeed("status")
      #expect(without.output.contains("not running: peers get no answer"), "\(without)")
      try await alice.startDaemon()
      let with = try await alice.succeed("status", "--json").json()
      #expect(with["daemon"]["running"].bool == true)
      #expect(with["daemon"]["process"].int == Int(try alice.daemonProcess))
      #expect(with["daemon"]["listening"].array.compactMap(\.string) == [alice.address])
      // What a killed daemon leaves behind is not believed.
      try await alice.stopDaemon(SIGKILL)
      let killed = try await alice.succeed("status", "--json").json()
      #expect(killed["daemon"]["running"].bool == false && killed["daemon"]["listening"].array.isEmpty)
    }
  }

  @Test("names peers, secrets, what waits, and settings that differ")
  func contents() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try alice.write(sample(100), to: "note")
      try await alice.succeed("share", "note", "--threshold", "2")
      try await carol.stopDaemon()
      // Else it would deliver, and carol would be found gone sooner or later.
      try await alice.stopDaemon()
      let outcome = try await alice.run("share", "note", "--threshold", "2", "--description", "keys")
      #expect(outcome.status == 2, "\(outcome)")
      try await alice.succeed("settings", "set", "quota-shares", "7")
      let text = try await alice.succeed("status")
      #expect(
        text.output.contains("secrets:") && text.output.contains("2: 2 shared here, 0 kept for others"), "\(text)")
      #expect(text.output.contains("quota-shares = 7"), "\(text)")
      let status = try await alice.succeed("status", "--json").json()
      let peers = status["peers"].array
      #expect(peers.first { $0["name"].string == "bob" }?["holds"].array.count == 2)
      #expect(peers.first { $0["name"].string == "carol" }?["waiting"].int == 1)
      #expect(text.output.contains("1 share for carol"), "\(text)")
      #expect(status["settings"].array.first?["key"].string == "quota-shares")
      #expect(status["secrets"].array.allSatisfy { $0["lastCheck"].isNull })
      let kept = try await bob.succeed("status").output
      #expect(kept.contains("2: 0 shared here, 2 kept for others"), "\(kept)")
    }
  }

  @Test("a second daemon for the same vault is refused")
  func secondDaemon() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      try await alice.startDaemon()
      let second = try await alice.run("daemon", "--listen", "\(alice.host):0", timeLimit: 90)
      #expect(second.status == 1, "\(second)")
      #expect(second.complaint.contains("another daemon (process \(try alice.daemonProcess)) runs"), "\(second)")
      // Also where it would listen at the same place, and before it says anything else or changes a setting.
      for options in [["--listen", alice.address, "--ble"], ["--background"]] {
        let same = try await alice.run(["daemon"] + options, timeLimit: 90)
        #expect(same.status == 1 && same.output.isEmpty, "\(same)")
        #expect(
          same.complaint.hasPrefix("vault: another daemon (process \(try alice.daemonProcess)) runs"), "\(same)")
      }
      #expect(try await alice.succeed("settings", "get", "ble").line == "off")
    }
  }
}
