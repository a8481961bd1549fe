import Foundation
import Testing

/// Items, requests and backups: what is kept beside secrets.
extension CrashStepTests {
  /// Items that a command has printed are there, whole, and hold the note.
  private func expectItem(_ id: String, at peer: Peer, _ drill: CrashDrill, _ circumstances: String) async throws {
    let outcome = try await peer.run("item", "show", id, "-o", "opened")
    try #require(outcome.status == 0, "after \(circumstances): \(outcome)")
    try peer.expect("opened", toHold: drill.notes["note"] ?? [])
    try FileManager.default.removeItem(atPath: peer.folder + "/opened")
  }

  @Test("adding an item", arguments: Fault.Deed.allCases)
  func addingItem(deed: Fault.Deed) async throws {
    try await CrashDrill.run { drill in
      let alice = drill.alice
      drill.noteSharing(try await alice.run("key", "create", "family", "--threshold", "2"))
      try await alice.succeed("unlock", "family")
      try await visit(deed, thinnedBy: 3) { fault in
        let (outcome, trace) = try await FaultyRun(alice, ["item", "add", "family", "note"], fault).end()
        drill.expectPlain(outcome, codes: [0, 1])
        try await drill.settle(alice, after: "\(fault) of adding an item")
        if outcome.line.utf8.count == 64 {
          let isThere = try StoredHome(alice).items.contains { $0.id == outcome.line }
          #expect(isThere, "\(fault): \(outcome)")
          if fault.step.isMultiple(of: 8) { try await expectItem(outcome.line, at: alice, drill, "\(fault)") }
        }
        return trace
      }
    }
  }

  @Test("taking an item: the daemon of its recipient", arguments: Fault.Deed.allCases)
  func takingItem(deed: Fault.Deed) async throws {
    try await CrashDrill.run { drill in
      let (alice, bob) = (drill.alice, drill.bob)
      drill.noteSharing(try await alice.run("key", "create", "family", "--threshold", "2"))
      try await alice.succeed("unlock", "family")
      try await bob.stopDaemon()
      try await visit(deed, thinnedBy: 3) { fault in
        let item = try await alice.succeed("item", "add", "family", "note").line
        let run = try await bob.startDaemon(meeting: fault)
        let sent = try await alice.run("item", "send", item, "bob", "--json")
        drill.expectPlain(sent, codes: [0, 1, 5, 6])
        run.child.signal(SIGTERM)
        let (daemon, trace) = try await run.end(within: 90)
        drill.expectPlain(daemon, codes: [0, 1])
        try await bob.startDaemon()
        try await drill.settle(bob, after: "\(fault) of taking an item")
        let isThere = try StoredHome(bob).items.contains { $0.name == item && $0.state != "arriving" }
        // Who couldn't be reached gets it by parcel.
        let isOnItsWay = try sent.status == 0 && sent.json()["onItsWay"].bool == true
        #expect(isThere || isOnItsWay || sent.status != 0, "\(fault): \(sent)")
        if fault.step.isMultiple(of: 8) {
          try await alice.succeed("item", "send", item, "bob")
          try await bob.succeed("item", "accept", item)
          try await expectItem(item, at: bob, drill, "\(fault)")
        }
        try await bob.stopDaemon()
        return trace
      }
    }
  }

  @Test("accepting an item", arguments: Fault.Deed.allCases)
  func acceptingItem(deed: Fault.Deed) async throws {
    try await CrashDrill.run { drill in
      let (alice, bob) = (drill.alice, drill.bob)
      drill.noteSharing(try await alice.run("key", "create", "family", "--threshold", "2"))
      try await alice.succeed("unlock", "family")
      try await bob.succeed("unlock", "family")
      let item = try await alice.succeed("item", "add", "family", "note").line
      try await visit(deed, thinnedBy: 3) { fault in
        try await alice.succeed("item", "send", item, "bob")
        let (outcome, trace) = try await FaultyRun(bob, ["item", "accept", item], fault).end()
        drill.expectPlain(outcome, codes: [0, 1])
        try await drill.settle(bob, after: "\(fault) of accepting an item")
        let there = try StoredHome(bob).items
        #expect(there.map(\.name) == [item], "\(fault): \(outcome)")
        #expect(outcome.status != 0 || there.allSatisfy { $0.id == item && $0.state != "waiting" }, "\(fault)")
        if fault.step.isMultiple(of: 8) {
          try await bob.succeed("item", "accept", item)
          try await expectItem(item, at: bob, drill, "\(fault)")
        }
        try await bob.succeed("item", "delete", item, "--yes")
        return trace
      }
    }
  }

  @Test("approving a request, and refusing it again", arguments: Fault.Deed.allCases)
  func deciding(deed: Fault.Deed) async throws {
    try await CrashDrill.run { drill in
      let (alice, bob, carol) = (drill.alice, drill.bob, drill.carol)
      let shared = try await alice.run("share", "note", "--threshold", "3")
      let id = try #require(drill.noteSharing(shared))
      try await bob.succeed("secret", "policy", id, "ask")
      #expect(try await carol.run("recover", id, "-o", "recovered").status == 11)
      let request = try #require(try await bob.succeed("requests", "--json").json()[0]["id"].int)
      try await visit(deed, thinnedBy: 3) { fault in
        let (approval, trace) = try await FaultyRun(bob, ["requests", "approve", "\(request)"], fault).end()
        drill.expectPlain(approval, codes: [0, 1])
        try await drill.settle(bob, after: "\(fault) of approving")
        let state = try await bob.succeed("requests", "--json").json()[0]["state"].string
        let isAsBefore = ["waiting", "refused"].contains(state)
        #expect(state == "approved" || (approval.status != 0 && isAsBefore), "\(fault): \(approval)")
        if state == "approved" { try await drill.recover(id, by: carol, "\(fault)") }
        try await bob.succeed("requests", "refuse", "\(request)")
        #expect(try await carol.run("recover", id, "-o", "recovered").status == 4)
        // A refusal holds until the user changes it: the same request waits no more.
        try await bob.succeed("secret", "policy", id, "ask")
        return trace
      }
    }
  }

  @Test("making a backup", arguments: Fault.Deed.allCases)
  func backingUp(deed: Fault.Deed) async throws {
    try await CrashDrill.run { drill in
      let alice = drill.alice
      drill.noteSharing(try await alice.run("share", "note", "--threshold", "2"))
      try await alice.stopDaemon()
      try await visit(deed, thinnedBy: 3) { fault in
        let (outcome, trace) = try await FaultyRun(alice, ["backup", "create", "kept"], fault).end()
        drill.expectPlain(outcome, codes: [0, 1])
        #expect(alice.has("kept") || outcome.status != 0)
        if alice.has("kept") {
          // What has the name is whole.
          try await alice.succeed("backup", "restore", "kept", "--force", "--yes")
          try FileManager.default.removeItem(atPath: alice.folder + "/kept")
        }
        try await drill.settle(alice, after: "\(fault) of a backup")
        return trace
      }
    }
  }

  @Test(
    "restoring a backup, over a vault and in the place of none",
    arguments: Fault.Deed.allCases.map { ($0, true) } + [(.kill, false), (.error, false)])
  func restoring(deed: Fault.Deed, overwrites: Bool) async throws {
    try await CrashDrill.run { drill in
      let alice = drill.alice
      let id = try #require(drill.noteSharing(try await alice.run("share", "note", "--threshold", "2")))
      try await alice.stopDaemon()
      try await alice.succeed("backup", "create", "kept")
      let data = alice.home + "/data"
      let arguments = ["backup", "restore", "kept", "--yes"] + (overwrites ? ["--force"] : [])
      try await visit(deed, thinnedBy: 3) { fault in
        if !overwrites { try FileManager.default.removeItem(atPath: data) }
        let (outcome, trace) = try await FaultyRun(alice, arguments, fault).end()
        drill.expectPlain(outcome, codes: [0, 1])
        let exists = FileManager.default.fileExists(atPath: data + "/master.key")
        #expect(exists || (!overwrites && outcome.status != 0), "\(fault): \(outcome)")
        if !exists { try await alice.succeed("backup", "restore", "kept", "--yes") }
        try await drill.settle(alice, after: "\(fault) of a restoration")
        if fault.step.isMultiple(of: 8) { try await drill.recover(id, by: alice, "\(fault)") }
        // Another one sweeps up what this one has left.
        try await alice.succeed("backup", "restore", "kept", "--yes", "--force")
        let left = try FileManager.default.contentsOfDirectory(atPath: alice.home).filter { $0.hasPrefix(".vault-") }
        #expect(left.isEmpty, "\(fault): \(left)")
        return trace
      }
    }
  }

  @Test("changing the passphrase", arguments: Fault.Deed.allCases)
  func changingPassphrase(deed: Fault.Deed) async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      var number = 0
      func passphrase() throws -> String {
        number += 1
        let path = try bench.file("pass\(number)", Array("passphrase number \(number) of several".utf8))
        chmod(path, 0o600)
        return path
      }
      var known = try passphrase()
      try await alice.succeed("device", "passphrase", "--new-passphrase-file", known)
      try await visit(deed, thinnedBy: 3) { fault in
        let new = try passphrase()
        let arguments = ["device", "passphrase", "--passphrase-file", known, "--new-passphrase-file", new]
        let (outcome, trace) = try await FaultyRun(alice, arguments, fault).end()
        try #require([0, 1, 137].contains(outcome.status), "\(fault): \(outcome)")
        let byNew = try await alice.run("list", "--passphrase-file", new).status
        let byOld = try await alice.run("list", "--passphrase-file", known).status
        #expect([byNew, byOld].sorted() == [0, 7] && (outcome.status != 0 || byNew == 0), "\(fault): \(outcome)")
        if byNew == 0 { known = new }
        return trace
      }
    }
  }
}
