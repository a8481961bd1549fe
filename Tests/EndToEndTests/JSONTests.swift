import Foundation
import Testing

@Suite("Results as JSON")
struct JSONTests {
  @Test("every command's keys are those that scripts rely on")
  func keys() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(100), to: "note.txt")
      let peer: Set = [
        "name", "label", "state", "fingerprint", "cardDigest", "addresses", "card", "addedAt", "lastSeenAt",
        "deviceOf",
      ]
      let secret: Set = [
        "id", "description", "kind", "origin", "dealer", "threshold", "shareCount", "ownIndex", "createdAt",
        "delivered", "waiting", "unlocked",
      ]
      let delivery: Set = ["peer", "index", "state", "reason", "onItsWay", "probe"]
      let identity = try await alice.succeed("id", "--json").json()
      #expect(identity.keys == ["label", "fingerprint", "addresses", "text", "qrText"])
      let licences = try await alice.succeed("licences", "--json").json()
      #expect(licences[0].keys == ["name", "licence", "holder", "home"])
      let ping = try await alice.succeed("peer", "ping", "bob", "--json").json()
      #expect(ping.keys == ["peer", "address", "handshakeMilliseconds", "roundTripMilliseconds"])
      #expect(try await alice.succeed("peer", "list", "--json").json()[0].keys == peer)
      #expect(try await alice.succeed("peer", "show", "bob", "--json").json().keys == peer)
      let added = try await bob.succeed("peer", "add", try await alice.card(), "--json").json()
      #expect(added.keys == ["change", "peer"])
      let shared = try await alice.succeed("share", "note.txt", "--threshold", "2", "--json").json()
      #expect(
        shared.keys == [
          "id", "description", "threshold", "shareCount", "placed", "recoverable", "finished", "keepsOwnShare",
          "deliveries", "leftOut", "sourceRemoved", "listensNowhere", "introduced",
        ])
      #expect(shared["deliveries"][0].keys == delivery)
      #expect(try await bob.succeed("list", "--json").json()[0].keys == secret)
      let id = try #require(shared["id"].string)
      let info = try await alice.succeed("secret", "show", id, "--json").json()
      #expect(
        info.keys == [
          "secret", "ciphertextBytes", "fragmentBytes", "labels", "deliveries", "headerDigest",
          "conflictingHeadersFrom", "listensNowhere", "lastCheck", "change",
        ])
      #expect(info["secret"].keys == secret)
      #expect(info["deliveries"][0].keys == delivery)
      let recovered = try await bob.succeed("recover", id, "--json").json()
      #expect(recovered.keys == ["secret", "path", "suggestedName", "bytes", "originalName", "holders"])
      #expect(recovered["holders"][0].keys == ["peer", "state", "reason"])
      #expect(recovered["bytes"].int == 100)
      #expect(
        try await bob.succeed("device", "log", "--json").json()[0].keys == ["at", "event", "peer", "secret", "detail"])
      #expect(try await alice.succeed("secret", "deliver", "--json").json().isArray)
      let checked = try await alice.succeed("check", "--json").json()[0]
      #expect(
        checked.keys == [
          "secret", "checkedAt", "answered", "needed", "recoverable", "withoutThisDevice", "allAnswered", "own",
          "holders", "possible",
          "unknownHolders", "introductionsOff", "otherPeers", "pieces", "onePercentNoticed", "problem", "repairable",
          "repair",
        ])
      #expect(checked["secret"].keys == secret)
      #expect(
        checked["holders"][0].keys == [
          "peer", "index", "state", "provedShare", "piecesSeen", "reason", "listensNowhere", "knowsHolders",
          "canDialHolders",
        ])
      let status = try await alice.succeed("status", "--json").json()
      #expect(
        status.keys == [
          "label", "fingerprint", "addresses", "daemon", "peers", "secrets", "damaged", "damagedIntroductions",
          "requests", "settings", "bluetooth", "groups", "invitations", "messages", "lost", "lostItems",
          "changes",
        ])
      #expect(status["messages"].keys == ["new", "waiting", "carried"])
      #expect(status["daemon"].keys == ["running", "locked", "since", "listening", "process", "elsewhere"])
      #expect(
        status["peers"][0].keys == [
          "name", "state", "lastSeenAt", "holds", "waiting", "onItsWay", "saysReplacedSince",
        ])
      #expect(status["secrets"][0].keys == ["secret", "lastCheck"])
      #expect(
        status["secrets"][0]["lastCheck"].keys == ["at", "answered", "needed", "recoverable", "withoutThisDevice"])
      let deleted = try await bob.succeed("secret", "delete", id, "--yes", "--json").json()
      #expect(deleted.keys == ["secret", "makesUnrecoverable", "explanation", "waitingDeliveries", "items"])
      let removed = try await bob.succeed("peer", "remove", "alice", "--yes", "--json").json()
      #expect(removed.keys == ["peer", "destroyedDeliveries", "stillHolds"])
    }
  }

  @Test("wherever the clock's zone is, texts say UTC behind a time of day, and JSON ends it with Z")
  func times() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(1000), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2", "--to", "bob").line
      try await alice.succeed("key", "create", "family", "--threshold", "2")
      let item = try await alice.succeed("item", "add", "family", "note.txt").line
      try await alice.succeed("send", "bob", "hello")
      let file = try await alice.succeed("backup", "create", "b").line
      var count = (texts: 0, json: 0)
      for command in [
        ["secret", "show", id], ["list"], ["device", "log"], ["status"], ["peer", "list"], ["peer", "show", "bob"],
        ["item", "show", item],
        ["item", "list"], ["message", "outbox"], ["message"], ["key", "list"],
        ["backup", "restore", file, "--force", "--yes"],
      ] {
        if command.first == "backup" { try await alice.stopDaemon() }
        for json in [[], ["--json"]] {
          let outcome = try await bench.start(
            "/usr/bin/env", ["TZ=Pacific/Kiritimati", "LC_ALL=C.UTF-8", Bench.vault] + command + json,
            environment: alice.environment, folder: alice.folder
          ).end(within: 240)
          #expect(outcome.status == 0, "\(outcome)")
          for time in (outcome.output + outcome.complaint).matches(
            of: /\d{4}-\d\d-\d\d(?<gap>[ T])\d\d:\d\d[0-9:.]*(?<zone> UTC|Z|)/)
          {
            #expect(time.gap == " " ? time.zone == " UTC" : time.zone == "Z", "\(command): \(time.output)")
            if time.gap == " " { count.texts += 1 } else { count.json += 1 }
          }
        }
      }
      #expect(count.texts > 9 && count.json > 9, "\(count)")
      _ = bob
    }
  }

  @Test("the keys of messages are those that scripts rely on")
  func messageKeys() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let message: Set = [
        "number", "id", "direction", "kind", "peer", "contact", "state", "name", "mediaType", "bytes", "parts",
        "partsDone", "sentAt", "storedAt", "deliveredAt", "readAt", "expiresAt", "route", "hops", "carriers", "sealed",
        "late",
      ]
      #expect(try await alice.succeed("send", "bob", "hello", "--json").json().keys == message)
      for command in [["message", "inbox"], ["message"], ["message", "alice"]] {
        let shown = try await bob.run(command + ["--json"])
        #expect(try shown.json()[0].keys == message.union(["text"]), "\(shown)")
      }
      #expect(try await bob.succeed("message", "show", "1", "--json").json().keys == message.union(["text"]))
      #expect(
        try await bob.succeed("message", "save", "1", "f", "--json").json().keys == [
          "message", "path", "suggestedName", "bytes", "originalName",
        ])
      try await bob.stopDaemon()
      try await alice.succeed("send", "bob", "later")
      let outbox = try await alice.succeed("message", "outbox", "--json").json()
      #expect(outbox.keys == ["messages", "parcels", "carried"])
      #expect(outbox["messages"][0].keys == message)
      #expect(outbox["parcels"][0].keys == ["kind", "peer", "bytes", "createdAt", "expiresAt", "ways"])
      #expect(outbox["carried"].keys == ["count", "bytes", "oldestAt", "nextExpiry", "sizes"])
      let status: Set = ["on", "paused", "battery", "carried", "limits", "overFairShare", "counters"]
      let carry = try await alice.succeed("carry", "--json").json()
      #expect(carry.keys == status)
      #expect(carry["carried"].keys == ["count", "bytes", "leftToday"])
      #expect(carry["limits"].keys == ["bytes", "bytesADay", "bytesPerGiver", "leastBattery", "fairShare"])
      #expect(
        carry["counters"].keys == [
          "sentDirectly", "sentByCarriers", "deliveredForOthers", "carriedForOthersBytes", "carriedForMeBytes",
        ])
      let seen = try await alice.succeed("carry", "status", "--diagnostics", "--json").json()
      #expect(seen.keys == status.union(["encounters", "meetings"]))
      #expect(seen["encounters"][0].keys == ["name", "isNetwork", "lastAt", "predictability"])
      #expect(
        seen["meetings"][0].keys == [
          "peer", "beganAt", "milliseconds", "link", "begunHere", "end", "given", "taken",
        ])
      #expect(
        seen["meetings"][0]["given"].keys == ["delivered", "handedOver", "toCarry", "passedOn", "receipts", "bytes"])
      #expect(seen["meetings"][0]["taken"].keys == ["received", "toCarry", "receipts", "bytes"])
      for command in [["carry", "on"], ["carry", "off"]] {
        #expect(try await alice.run(command + ["--json"]).json().keys == status)
      }
      #expect(
        try await alice.succeed("carry", "limits", "--json").json()[0].keys == [
          "key", "value", "default", "explanation",
        ])
    }
  }

  @Test("empty lists are empty arrays")
  func empty() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      for command in [
        ["list"], ["peer", "list"], ["secret", "deliver"], ["check"], ["message", "inbox"], ["message"],
      ] {
        let outcome = try await alice.run(command + ["--json"])
        #expect(outcome.status == 0)
        #expect(outcome.line == "[]", "\(outcome)")
      }
    }
  }

  @Test("errors are JSON on standard error, with a code that is stable and the exit code")
  func errors() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await bob.stopDaemon()
      let cases: [([String], String, Int)] = [
        (["secret", "show", "nothing"], "notFound", 1), (["peer", "ping", "bob"], "unreachable", 6),
        (["share", "x", "--threshold", "1"], "usage", 64), (["peer", "add", "vaultpeer1qq"], "damaged", 8),
      ]
      for (arguments, code, exit) in cases {
        let outcome = try await alice.run(arguments + ["--json"])
        #expect(Int(outcome.status) == exit, "\(outcome)")
        #expect(outcome.output.isEmpty)
        let error = try outcome.jsonError()
        #expect(error.keys == ["code", "exit", "reason", "hint"])
        #expect(error["code"].string == code)
        #expect(error["exit"].int == exit)
      }
    }
  }

  @Test("what peers wrote can't break out of a line, in tables and in JSON")
  func hostileText() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let nasty = "a\u{1b}[2Jb\u{202e}c\"\\ d\n e"
      try alice.write(sample(100), to: "note.txt")
      try await alice.succeed("share", "note.txt", "--threshold", "2", "--description", nasty)
      let table = try await bob.succeed("list")
      #expect(table.lines.count == 2)
      #expect(!table.output.unicodeScalars.contains { $0.value == 0x1b || $0.value == 0x202e }, "\(table)")
      let json = try await bob.succeed("list", "--json")
      #expect(json.lines.count == 1)
      #expect(!json.output.unicodeScalars.contains { $0.value == 0x1b || $0.value == 0x202e })
      #expect(try json.json()[0]["description"].string == nasty)
    }
  }
}
