import Foundation
import QRCode
import Testing

@Suite("Moving, saving and sharing anew")
struct BackupTests {
  @Test("a vault whose data is lost comes back on the same device, and only there")
  func restore() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let bytes = sample(500_000)
      try alice.write(bytes, to: "plan.pdf")
      let id = try await alice.succeed("share", "plan.pdf", "--threshold", "2").line
      // Written while the daemon runs.
      let created = try await alice.succeed("backup", "create", "vault.backup", "--json").json()
      #expect(created.keys == ["path", "files", "bytes"])
      #expect(try await alice.run("backup", "create", "vault.backup").status == 9)
      let running = try await alice.run("backup", "restore", "vault.backup", "--force", "--yes")
      #expect(running.status == 5 && running.complaint.contains("the daemon of this vault is running"), "\(running)")
      try await alice.stopDaemon()
      try FileManager.default.removeItem(atPath: alice.home + "/data")
      #expect(try await alice.run("list").status == 1)
      let restored = try await alice.succeed("backup", "restore", "vault.backup", "--json").json()
      #expect(restored["replaced"].bool == false)
      try await alice.succeed("recover", id, "-o", "copy")
      try alice.expect("copy", toHold: bytes)
      try await alice.startDaemon()
      // Another device has another device key, or none.
      let file = alice.folder + "/vault.backup"
      let other = try await bob.run("--home", bob.base + "/new", "backup", "restore", file)
      #expect(other.status == 5 && other.complaint.contains("made on another device"), "\(other)")
      #expect(other.complaint.contains("vault secret reshare"), "\(other)")
      let taken = try await bob.run("backup", "restore", file, "--force", "--yes")
      #expect(taken.status == 5 && taken.complaint.contains("another vault"), "\(taken)")
      try await bob.succeed("recover", id)
    }
  }

  @Test("with its recovery kit a backup comes back on another device, once the user says that the old one is gone")
  func kit() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let bytes = sample(50_000)
      try alice.write(bytes, to: "plan.pdf")
      let id = try await alice.succeed("share", "plan.pdf", "--threshold", "2").line
      try alice.write(Array("of the kit\n".utf8), to: "pass")
      try alice.write(Array("guess\n".utf8), to: "wrong")
      try await alice.succeed("backup", "create", "b")
      let options = ["--kit-passphrase-file", "pass"]
      let made = try await alice.succeed(
        "backup", "kit", "kit.txt", "--svg", "kit.svg", "--json", "--kit-passphrase-file", "pass"
      ).json()
      #expect(made.keys == ["path", "device", "createdAt", "text"])
      let facts = try FileManager.default.attributesOfItem(atPath: alice.folder + "/kit.txt")
      #expect((facts[.posixPermissions] as? NSNumber)?.intValue == 0o600)
      #expect(try await alice.run(["backup", "kit", "kit.txt"] + options).status == 9)
      try await alice.stopDaemon()
      try FileManager.default.moveItem(atPath: alice.home, toPath: alice.home + "-gone")
      let restore = ["backup", "restore", "b", "--kit", "kit.txt"]
      #expect(try await alice.run(restore + ["--yes", "--kit-passphrase-file", "wrong"]).status == 7)
      let unasked = try await alice.run(restore + options)
      #expect(unasked.status == 64 && unasked.complaint.contains("must be gone for good"), "\(unasked)")
      #expect(try await alice.run("list").status == 1)
      let restored = try await alice.run(restore + options + ["--yes", "--json"])
      #expect(restored.status == 0, "\(restored)")
      let plan = try restored.json()
      #expect(plan["deviceKey"].bool == true && plan["onlyKey"].bool == false)
      try await alice.succeed("recover", id, "-o", "copy")
      try alice.expect("copy", toHold: bytes)
      _ = bob
    }
  }

  @Test("a recovery kit is read back from its picture")
  func kitPicture() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let (card, made) = try await lose(alice)
      let symbol = try QRSymbol(text: try #require(made["text"].string).uppercased(), correction: .medium)
      // The program draws this very symbol, as a page and as a picture.
      #expect(try String(contentsOfFile: alice.folder + "/kit.svg", encoding: .utf8) == symbol.svg())
      #expect(try String(contentsOfFile: alice.folder + "/kit.txt", encoding: .utf8).hasSuffix(symbol.plain()))
      try alice.write(symbol.png(), to: "kit.png")
      try await alice.succeed("backup", "restore", "b", "--kit", "kit.png", "--kit-passphrase-file", "pass", "--yes")
      #expect(try await alice.succeed("id", "--json").json()["fingerprint"].string == card)
    }
  }

  @Test("a recovery kit is typed by hand from its page, in other letters and with other breaks")
  func typedKit() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let (card, made) = try await lose(alice)
      let text = try #require(made["text"].string)
      let page = try String(contentsOfFile: alice.folder + "/kit.txt", encoding: .utf8).split(
        separator: "\n", omittingEmptySubsequences: false)
      let start = try #require(page.firstIndex { $0 == "vaultkit1" })
      let lines = page[start...].prefix { !$0.isEmpty }
      #expect(lines.joined().filter { $0 != " " } == text)
      // A letter that is no letter of the alphabet is mistyped, and nothing is changed.
      let mistyped = try PseudoTerminal(alice, ["backup", "restore", "b", "--kit", "-", "--yes"])
      try await mistyped.expect("type the kit from vaultkit1 on")
      mistyped.type(lines.map { $0 + "\n" }.joined().replacing(/[a-z0-9]\n$/, with: "b\n") + "\n\u{4}")
      #expect(try await mistyped.end() == 8)
      #expect(mistyped.screen.contains("mistyped, cut short or damaged"), "\(mistyped.screen)")
      #expect(try await alice.run("list").status == 1)
      let terminal = try PseudoTerminal(alice, ["backup", "restore", "b", "--kit", "-"])
      try await terminal.expect("type the kit from vaultkit1 on")
      terminal.type(lines.map { $0.uppercased().replacing(" ", with: "-") + "\n" }.joined() + "\n\u{4}")
      for (question, answer) in [
        ("Passphrase of the recovery kit: ", "of the kit"), ("Is the old one gone for good?", "yes"),
      ] {
        try await terminal.expect(question)
        terminal.type(answer + "\n")
      }
      #expect(try await terminal.end() == 0, "\(terminal.screen)")
      #expect(!terminal.screen.contains("of the kit\r"), "\(terminal.screen)")
      #expect(try await alice.succeed("id", "--json").json()["fingerprint"].string == card)
    }
  }

  /// Makes a backup and a kit, and loses the vault. Returns its fingerprint, and what was said of the kit.
  private func lose(_ alice: Peer) async throws -> (card: String?, kit: JSON) {
    let card = try await alice.succeed("id", "--json").json()["fingerprint"].string
    try alice.write(Array("of the kit\n".utf8), to: "pass")
    try await alice.succeed("backup", "create", "b")
    let made = try await alice.succeed(
      "backup", "kit", "kit.txt", "--svg", "kit.svg", "--json", "--kit-passphrase-file", "pass"
    ).json()
    try FileManager.default.moveItem(atPath: alice.home, toPath: alice.home + "-gone")
    return (card, made)
  }

  @Test("an existing vault goes back only after it was said what comes and goes")
  func goingBack() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      try await alice.succeed("backup", "create", "vault.backup")
      try await alice.succeed("peer", "remove", "bob", "--yes")
      try await alice.stopDaemon()
      #expect(try await alice.run("backup", "restore", "vault.backup").status == 1)
      let unasked = try await alice.run("backup", "restore", "vault.backup", "--force")
      #expect(unasked.status == 64, "\(unasked)")
      #expect(unasked.complaint.contains("would be trusted again: bob"), "\(unasked)")
      #expect(try await alice.succeed("peer", "list", "--json").json().array.isEmpty)
      try await alice.succeed("backup", "restore", "vault.backup", "--force", "--yes")
      #expect(try await alice.succeed("peer", "list", "--json").json()[0]["name"].string == "bob")
      try Peer.flipBit(of: alice.folder + "/vault.backup", at: 3000)
      let damaged = try await alice.run("backup", "restore", "vault.backup", "--force", "--yes")
      #expect(damaged.status == 8, "\(damaged)")
    }
  }

  @Test("a backup replaces a database that can't be read, and shares that came since are taken up again")
  func damagedDatabase() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let bytes = sample(9000)
      try alice.write(bytes, to: "plan")
      try await bob.succeed("backup", "create", "vault.backup")
      let id = try await alice.succeed("share", "plan", "--threshold", "2").line
      try await bob.stopDaemon(SIGKILL)
      try Data(repeating: 7, count: 9000).write(to: URL(fileURLWithPath: bob.home + "/data/vault.db"))
      let damaged = try await bob.run("list")
      #expect(damaged.status == 8 && damaged.complaint.contains(id), "\(damaged)")
      try await bob.succeed("backup", "restore", "vault.backup", "--force", "--yes")
      #expect(try await bob.succeed("list", "--json").json()[0]["id"].string == id)
      try await bob.startDaemon()
      try await alice.succeed("recover", id, "-o", "copy")
      try alice.expect("copy", toHold: bytes)
    }
  }

  @Test("a vault with a passphrase needs it to come back")
  func passphrase() async throws {
    try await Bench.run { bench in
      let alice = try Peer("alice", bench)
      try alice.write(Array("open sesame\n".utf8), to: "pass")
      try alice.write(Array("guess\n".utf8), to: "wrong")
      try await alice.succeed("init", "--label", "alice", "--passphrase-file", "pass")
      try await alice.succeed("backup", "create", "b", "--passphrase-file", "pass")
      try FileManager.default.removeItem(atPath: alice.home + "/data")
      #expect(try await alice.run("backup", "restore", "b", "--passphrase-file", "wrong").status == 7)
      #expect(!FileManager.default.fileExists(atPath: alice.home + "/data/master.key"))
      try await alice.succeed("backup", "restore", "b", "--passphrase-file", "pass")
      try await alice.succeed("id", "--text", "--passphrase-file", "pass")
    }
  }

  @Test("a secret is shared anew for others, and the old one's fate is the user's choice")
  func reshare() async throws {
    try await Bench.run { bench in
      let (alice, _, carol) = try await bench.trio()
      let bytes = sample(3_000_000)
      try alice.write(bytes, to: "plan.pdf")
      let old = try await alice.succeed(
        "share", "plan.pdf", "--threshold", "2", "--to", "bob", "--description", "plan"
      ).line
      let outcome = try await alice.succeed(
        "secret", "reshare", "plan", "--to", "bob", "--to", "carol", "--keep-old", "--json")
      let report = try outcome.json()
      #expect(report.keys == ["old", "share", "oldDeleted"])
      #expect(report["old"]["id"].string == old && report["oldDeleted"].bool == false)
      let new = try #require(report["share"]["id"].string)
      #expect(new != old)
      try await carol.succeed("recover", new, "-o", "copy")
      try carol.expect("copy", toHold: bytes)
      let deleting = try await alice.succeed("secret", "reshare", new, "--threshold", "3", "--delete-old")
      #expect(deleting.complaint.contains("whoever else holds one keeps it"), "\(deleting)")
      let ids = try await alice.succeed("list", "--json").json().array.compactMap { $0["id"].string }
      #expect(Set(ids) == [old, deleting.line])
      let log = try await alice.succeed("device", "log").output
      #expect(log.contains("share-deleted"))
      for wrong in [
        ["secret", "reshare", old, "--threshold", "1"], ["secret", "reshare", old, "--keep-old", "--delete-old"],
        ["secret", "reshare"],
      ] {
        #expect(try await alice.run(wrong).status == 64)
      }
    }
  }
}
