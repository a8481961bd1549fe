import Foundation
import Glibc
import Testing

@Suite("What lies on the disk")
struct AtRestTests {
  @Test("folders and files belong to their owner alone")
  func modes() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(9000), to: "note.txt")
      try await alice.succeed("share", "note.txt", "--threshold", "2")
      for peer in [alice, bob] {
        let open = try await peer.shell("find \"$VAULT_HOME\"/* -perm /077")
        #expect(open.output.isEmpty, "\(open)")
      }
    }
  }

  @Test(
    "folders that others may look into are refused, with the command that helps",
    arguments: ["data", "state", "config"])
  func looseFolders(folder: String) async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: alice.home + "/" + folder)
      let outcome = try await alice.run("list")
      #expect([1, 5].contains(outcome.status), "\(outcome)")
      #expect(outcome.complaint.contains("chmod"), "\(outcome)")
      try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: alice.home + "/" + folder)
      try await alice.succeed("list")
    }
  }

  @Test("a key file that others may read is refused", arguments: ["data/master.key", "state/device.key"])
  func looseKeys(file: String) async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: alice.home + "/" + file)
      let outcome = try await alice.run("list")
      #expect([1, 5].contains(outcome.status), "\(outcome)")
      #expect(outcome.complaint.contains("chmod"), "\(outcome)")
    }
  }

  @Test("a copy of the data folder is refused on another device, and works again on its own")
  func copiedData() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(9000), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      // Of a daemon that runs a copy may be of several moments.
      try await bob.stopDaemon()
      let thief = try Peer("thief", bench)
      let manager = FileManager.default
      try manager.createDirectory(atPath: thief.home, withIntermediateDirectories: true)
      try manager.copyItem(atPath: bob.home + "/data", toPath: thief.home + "/data")
      try manager.copyItem(atPath: bob.home + "/config", toPath: thief.home + "/config")
      let withoutKey = try await thief.run("list")
      #expect(withoutKey.status != 0 && withoutKey.output.isEmpty, "\(withoutKey)")
      // With the state of another vault it is no better.
      let other = try await bench.peer("other")
      try? manager.removeItem(atPath: thief.home + "/state")
      try manager.copyItem(atPath: other.home + "/state", toPath: thief.home + "/state")
      let outcome = try await thief.run("recover", id, "-o", "copy")
      #expect(outcome.status != 0 && !thief.has("copy"), "\(outcome)")
      #expect(outcome.complaint.contains("another device"), "\(outcome)")
      // Restored on the device that it belongs to.
      try manager.removeItem(atPath: bob.home + "/data")
      try manager.copyItem(atPath: thief.home + "/data", toPath: bob.home + "/data")
      try await bob.succeed("recover", id)
      try bob.expect("note.txt", toHold: sample(9000))
    }
  }

  @Test("the state folder is marked so that backups leave it out")
  func cacheTag() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let tag = try alice.read(alice.home + "/state/CACHEDIR.TAG")
      #expect(tag.starts(with: Array("Signature: 8a477f597d28d172789f06886806bc55".utf8)))
    }
  }

  @Test("nothing temporary stays behind")
  func noLitter() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(90_000), to: "note.txt")
      try await alice.succeed("share", "note.txt", "--threshold", "2", "--remove-source")
      try await bob.succeed("recover")
      #expect(try bob.files() == ["note.txt"])
      #expect(try alice.files().isEmpty)
      for peer in [alice, bob] {
        #expect(try FileManager.default.contentsOfDirectory(atPath: peer.home + "/data/staging").isEmpty)
        let litter = try await peer.shell("find \"$VAULT_HOME\" -name '*.part' -o -name '*temporary*' -o -name '*.tmp'")
        #expect(litter.output.isEmpty, "\(litter)")
      }
    }
  }
}

@Suite("Damage on the disk")
struct DamageTests {
  @Test("a flipped byte in a holder's fragment is found, the holder named, and another one used")
  func foreignDamage() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try alice.write(sample(200_000), to: "note.bin")
      let id = try await alice.succeed("share", "note.bin", "--threshold", "2").line
      try Peer.flipBit(of: try bob.fragment(of: id), at: 1000)
      // Alice is slow at first, so that Bob is asked for certain.
      alice.freezeDaemon()
      let recovery = try carol.start(["recover", id])
      try await bench.atOnce(upTo: 180, for: "bob to be named") {
        !recovery.isRunning || recovery.written.contains("warning: bob")
      } then: {
        alice.thawDaemon()
      }
      let outcome = try await recovery.end(within: 90)
      #expect(outcome.status == 0, "\(outcome)")
      #expect(outcome.complaint.contains(/warning: bob/), "\(outcome)")
      try carol.expect("note.bin", toHold: sample(200_000))
    }
  }

  @Test("a damaged fragment that can't be done without is an error that names the holder, and nothing is written")
  func impossible() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(200_000), to: "note.bin")
      let id = try await alice.succeed("share", "note.bin", "--threshold", "2").line
      let fragment = try bob.fragment(of: id)
      for damage in ["flip", "cut", "lose"] {
        switch damage {
        case "flip": try Peer.flipBit(of: fragment, at: 50_000)
        case "cut": truncate(fragment, 70_000)
        default: try FileManager.default.removeItem(atPath: fragment)
        }
        let outcome = try await alice.run("recover", id, "-o", "copy")
        #expect([4, 8].contains(outcome.status), "\(damage): \(outcome)")
        #expect(outcome.complaint.contains("bob"), "\(damage): \(outcome)")
        #expect(try alice.files() == ["note.bin"])
      }
    }
  }

  @Test("a damaged fragment of one's own is replaced by another holder's")
  func ownDamage() async throws {
    try await Bench.run { bench in
      let (alice, _, carol) = try await bench.trio()
      try alice.write(sample(200_000), to: "note.bin")
      let id = try await alice.succeed("share", "note.bin", "--threshold", "2").line
      try Peer.flipBit(of: try carol.fragment(of: id), at: 1000)
      try await carol.succeed("recover", id)
      try carol.expect("note.bin", toHold: sample(200_000))
      try FileManager.default.removeItem(atPath: try carol.fragment(of: id))
      try await carol.succeed("recover", id, "--force")
      try carol.expect("note.bin", toHold: sample(200_000))
    }
  }

  @Test(
    "a damaged store is an error with 8, never a crash",
    arguments: ["data/master.key", "state/device.key", "data/vault.db", "config/settings.json"])
  func damagedStore(file: String) async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      try await alice.succeed("settings", "set", "quota-shares", "7")
      let path = alice.home + "/" + file
      let intact = try alice.read(path)
      let broken: [[UInt8]] = [
        [], Array(intact.prefix(intact.count / 2)), sample(intact.count),
        intact.enumerated().map { $0.offset == intact.count / 2 ? $0.element ^ 1 : $0.element },
      ]
      for (number, bytes) in broken.enumerated() {
        try? FileManager.default.removeItem(atPath: path + "-wal")
        try? FileManager.default.removeItem(atPath: path + "-shm")
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let outcome = try await alice.run("settings", "list")
        // One changed bit in a database may hit a page that nobody reads; a device key has no bit of its own that is wrong.
        if file.hasSuffix("vault.db") && number == 3 && outcome.status == 0 { continue }
        #expect([1, 5, 8].contains(outcome.status), "\(file), damage \(number): \(outcome)")
        #expect(!outcome.complaint.isEmpty)
      }
    }
  }

  @Test(
    "an acknowledged share survives a kill and the loss of, or damage to, the log behind it",
    arguments: ["lost", "flipped", "cut"])
  func damagedLog(damage: String) async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(9000), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      for peer in [alice, bob] {
        try await peer.stopDaemon(SIGKILL)
        let log = peer.home + "/data/vault.db-wal"
        switch damage {
        case "lost": try? FileManager.default.removeItem(atPath: log)
        case "flipped": if FileManager.default.fileExists(atPath: log) { try? Peer.flipBit(of: log, at: 100) }
        default: truncate(log, 40)
        }
        try await peer.startDaemon()
        #expect(try peer.fragment(of: id).contains(id))
      }
      try await bob.succeed("recover", id, "-o", "copy")
      try bob.expect("copy", toHold: sample(9000))
      let status = try await bob.succeed("status", "--json").json()
      #expect(try status["lost"].array.isEmpty)
    }
  }

  @Test("a share whose records are gone altogether is named by status and list, and its fragment stays")
  func lostRecords() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(9000), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      try await bob.stopDaemon()
      let fragment = try bob.fragment(of: id)
      let strange = String(repeating: "5", count: 32)
      try FileManager.default.copyItem(atPath: fragment, toPath: bob.home + "/data/fragments/\(strange).1")
      let list = try await bob.succeed("list")
      #expect(list.complaint.contains(strange), "\(list)")
      let status = try await bob.succeed("status")
      #expect(status.lines.contains { $0.contains("LOST") && $0.contains(strange) }, "\(status)")
      try await bob.startDaemon()
      try await bob.stopDaemon()
      #expect(FileManager.default.fileExists(atPath: bob.home + "/data/fragments/\(strange).1"))
      // The database itself is gone: nothing can be served, and what, is said.
      for suffix in ["", "-wal", "-shm"] {
        try? FileManager.default.removeItem(atPath: bob.home + "/data/vault.db" + suffix)
      }
      let lost = try await bob.run("list")
      #expect(lost.status == 8 && lost.complaint.contains(id), "\(lost)")
      #expect(lost.complaint.contains("vault device rebuild"), "\(lost)")
    }
  }

  @Test(
    "a database that is gone or damaged is made anew, and the share is served again, also for an introduced holder",
    arguments: [true, false])
  func rebuilding(isGone: Bool) async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(9000), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      let whole = try await bob.run("device", "rebuild", "--yes")
      #expect(whole.status == 5, "\(whole)")
      try await bob.stopDaemon(SIGKILL)
      #expect(try await bob.run("device", "rebuild", "--yes").status == 5)
      for suffix in ["", "-wal", "-shm"] {
        let path = bob.home + "/data/vault.db" + suffix
        if isGone { try? FileManager.default.removeItem(atPath: path) } else { truncate(path, 5000) }
      }
      let refused = try await bob.run("list")
      #expect(refused.status == 8 && refused.complaint.contains("vault device rebuild"), "\(refused)")
      let report = try await bob.succeed("device", "rebuild", "--yes", "--json").json()
      #expect(report["label"].string == "bob" && report["peers"].int == 1)
      #expect(try report["secrets"].array.count == 1)
      #expect(isGone || FileManager.default.fileExists(atPath: bob.home + "/data/vault.db.damaged-1"))
      try await bob.startDaemon()
      try await alice.succeed("recover", id, "-o", "copy")
      try alice.expect("copy", toHold: sample(9000))
      try await bob.succeed("recover", id, "-o", "copy")
      try bob.expect("copy", toHold: sample(9000))
    }
  }

  @Test("an item outlives the kill and the loss of the log behind it, and one that can't be shown is named")
  func lostItems() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      _ = bob
      try alice.write(sample(9000), to: "note.txt")
      try await alice.succeed("key", "create", "family", "--threshold", "2")
      try await alice.stopDaemon()
      let item = try await alice.succeed("item", "add", "family", "note.txt").line
      try alice.changeStore("DELETE FROM items")
      try await alice.succeed("item", "show", item, "-o", "copy")
      try alice.expect("copy", toHold: sample(9000))
      try FileManager.default.removeItem(atPath: alice.home + "/data/items/" + item)
      let list = try await alice.succeed("list")
      #expect(list.complaint.contains(item), "\(list)")
      let status = try await alice.succeed("status", "--json").json()
      #expect(try status["lostItems"][0]["reason"].string == "file-lost")
    }
  }

  @Test("a daemon with damaged settings ends with 8 instead of listening where nobody said")
  func daemonWithDamagedSettings() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      try await alice.succeed("settings", "set", "listen", "127.0.0.1:0")
      let path = alice.home + "/config/settings.json"
      let changed = try String(decoding: alice.read(path), as: UTF8.self).replacingOccurrences(
        of: "127.0.0.1", with: "127.0.0.2")
      try Data(changed.utf8).write(to: URL(fileURLWithPath: path))
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
      let outcome = try await alice.run("daemon", timeLimit: 90)
      #expect(outcome.status == 8, "\(outcome)")
      #expect(outcome.output.isEmpty)
    }
  }

  @Test("a changed setting that its owner did not make is not believed")
  func forgedSetting() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      try await alice.succeed("settings", "set", "notify-command", "true")
      let path = alice.home + "/config/settings.json"
      let text = String(decoding: try alice.read(path), as: UTF8.self)
      try #require(text.contains("true"))
      try Data(text.replacingOccurrences(of: "true", with: "evil").utf8).write(to: URL(fileURLWithPath: path))
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
      let outcome = try await alice.run("settings", "get", "notify-command")
      #expect(outcome.status == 8, "\(outcome)")
    }
  }
}
