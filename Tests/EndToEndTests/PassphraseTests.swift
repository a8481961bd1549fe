import Foundation
import Testing

@Suite("A vault with a passphrase")
struct PassphraseTests {
  private func protected(_ bench: Bench, _ name: String = "alice") async throws -> Peer {
    let peer = try Peer(name, bench)
    try Data("correct horse\n".utf8).write(to: URL(fileURLWithPath: peer.home + ".pass"))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: peer.home + ".pass")
    let made = try await peer.run(
      "init", "--label", name, "--passphrase-fd", "7", descriptors: [7: peer.home + ".pass"])
    try #require(made.status == 0, "\(made)")
    return peer
  }

  @Test("is opened by the passphrase from a descriptor or a file")
  func ways() async throws {
    try await Bench.run { bench in
      let alice = try await protected(bench)
      let byDescriptor = try await alice.run(
        "id", "--text", "--passphrase-fd", "9", descriptors: [9: alice.home + ".pass"])
      #expect(byDescriptor.status == 0 && byDescriptor.complaint.isEmpty, "\(byDescriptor)")
      let byFile = try await alice.succeed("id", "--text", "--passphrase-file", alice.home + ".pass")
      #expect(byFile.line == byDescriptor.line)
      let byInput = try await alice.succeed("id", "--text", "--passphrase-fd", "0", input: Array("correct horse".utf8))
      #expect(byInput.line == byDescriptor.line)
    }
  }

  @Test("shows its own card without it, until somebody else's lies in its place")
  func card() async throws {
    try await Bench.run { bench in
      let (alice, mallory) = (try await protected(bench), try await protected(bench, "mallory"))
      let key = ["--passphrase-file", alice.home + ".pass"]
      let card = try await alice.run(["id", "--text", "--address", "192.0.2.7:4721"] + key).line
      #expect(try await alice.succeed("id", "--text").line == card)
      #expect(try await alice.succeed("id").line == card)
      // What else it shows has the key by which nearby peers find it, which is sealed.
      for form in [["--json"], ["--png", "alice.png"], ["--svg", "alice.svg"]] {
        #expect(try await alice.run(["id"] + form).status == 7)
        #expect(try await alice.run(["id"] + form + key).status == 0)
      }

      try FileManager.default.removeItem(atPath: alice.home + "/data/card")
      try FileManager.default.copyItem(atPath: mallory.home + "/data/card", toPath: alice.home + "/data/card")
      let refused = try await alice.run("id", "--text")
      #expect(refused.status == 7 && refused.output.isEmpty && refused.complaint.contains("data/card"), "\(refused)")
      let mended = try await alice.run(["list"] + key)
      #expect(mended.status == 0 && mended.complaint.contains("data/card was not as this device"), "\(mended)")
      #expect(try await alice.succeed("id", "--text").line == card)
      #expect(try await alice.run(["device", "log", "--json"] + key).json()[0]["event"].string == "card-replaced")
      #expect(try await !alice.run(["list"] + key).complaint.contains("data/card"))
    }
  }

  @Test("refuses a wrong passphrase with 7")
  func wrong() async throws {
    try await Bench.run { bench in
      let alice = try await protected(bench)
      for wrong in ["correct horsf", "correct horse ", "", "x"] {
        let outcome = try await alice.run("list", "--passphrase-fd", "0", input: Array(wrong.utf8))
        #expect(outcome.status == 7, "\(outcome)")
        #expect(outcome.complaint.contains("passphrase"))
        #expect(!outcome.complaint.contains("hors"))
      }
    }
  }

  @Test("says how to give the passphrase where there is no terminal to ask on")
  func noTerminal() async throws {
    try await Bench.run { bench in
      let alice = try await protected(bench)
      let outcome = try await alice.run("list")
      #expect(outcome.status == 7, "\(outcome)")
      #expect(outcome.complaint.contains("--passphrase-fd") && outcome.complaint.contains("--passphrase-file"))
      let fresh = try Peer("bob", bench)
      let made = try await fresh.run("init", "--label", "bob")
      #expect(made.status == 64, "\(made)")
      #expect(made.complaint.contains("--no-passphrase"), "\(made)")
      #expect(!FileManager.default.fileExists(atPath: fresh.home + "/data/master.key"))
    }
  }

  @Test("takes no empty passphrase and none that is too long")
  func unusable() async throws {
    try await Bench.run { bench in
      let fresh = try Peer("bob", bench)
      for input in [[], [10], sample(5000)] {
        let made = try await fresh.run("init", "--label", "bob", "--passphrase-fd", "0", input: input)
        #expect(made.status == 64, "\(made)")
      }
      let closed = try await fresh.run("init", "--label", "bob", "--passphrase-fd", "42")
      #expect(closed.status == 64, "\(closed)")
    }
  }

  @Test("warns of a passphrase file that others can read")
  func openFile() async throws {
    try await Bench.run { bench in
      let alice = try await protected(bench)
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: alice.home + ".pass")
      let outcome = try await alice.succeed("id", "--text", "--passphrase-file", alice.home + ".pass")
      #expect(outcome.complaint.contains("warning"))
    }
  }

  @Test("shares, answers and recovers like any other")
  func wholeStory() async throws {
    try await Bench.run { bench in
      let alice = try await protected(bench)
      let bob = try await bench.peer("bob")
      let key = ["--passphrase-file", alice.home + ".pass"]
      try await alice.startDaemon("--passphrase-file", alice.home + ".pass")
      try await bob.startDaemon()
      let card = try await alice.run(["id", "--text", "--address", alice.address] + key).line
      try await bob.succeed("peer", "add", card)
      #expect(try await alice.run(["peer", "add", try await bob.card()] + key).status == 0)
      try alice.write(sample(9000), to: "note.txt")
      let shared = try await alice.run(["share", "note.txt", "--threshold", "2"] + key)
      #expect(shared.status == 0, "\(shared)")
      try await bob.succeed("recover")
      try bob.expect("note.txt", toHold: sample(9000))
    }
  }

  @Test("looking at a picture never asks for the passphrase")
  func scan() async throws {
    try await Bench.run { bench in
      let alice = try await protected(bench)
      let bob = try await bench.peer("bob")
      try await bob.succeed("id", "--png", "bob.png")
      #expect(
        try await alice.succeed("peer", "scan", bob.folder + "/bob.png").line.lowercased().hasPrefix("vaultpeer1"))
    }
  }

  @Test("is set, changed and removed; the one from before opens nothing then but backups from before")
  func change() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      for word in ["one", "two"] {
        let path = try bench.file(word, Array("\(word) of several words\n".utf8))
        chmod(path, 0o600)
      }
      let (one, two) = (bench.folder + "/one", bench.folder + "/two")
      let set = try await alice.succeed("device", "passphrase", "--new-passphrase-file", one, "--json")
      #expect(try set.json()["passphrase"].string == "set" && !set.complaint.contains("weak"), "\(set)")
      #expect(try await alice.run("list").status == 7)
      try await alice.succeed("backup", "create", "b", "--passphrase-file", one)

      // Not without the one that there is, and not by a wrong one.
      for given in [[], ["--passphrase-file", two]] {
        #expect(try await alice.run(["device", "passphrase", "--new-passphrase-file", two] + given).status == 7)
      }
      let empty = try await alice.run(
        "device", "passphrase", "--passphrase-file", one, "--new-passphrase-fd", "0", input: [10])
      #expect(empty.status == 64 && empty.complaint.contains("--remove"), "\(empty)")
      let changed = try await alice.succeed(
        "device", "passphrase", "--passphrase-file", one, "--new-passphrase-file", two, "--json")
      #expect(try changed.json()["passphrase"].string == "changed" && changed.complaint.contains("backup"))
      #expect(try await alice.run("list", "--passphrase-file", one).status == 7)
      try await alice.succeed("list", "--passphrase-file", two)

      let refused = try await alice.run("backup", "restore", "b", "--force", "--yes", "--passphrase-file", two)
      #expect(refused.status == 7, "\(refused)")
      try await alice.succeed("backup", "restore", "b", "--force", "--yes", "--passphrase-file", one)
      try await alice.succeed("list", "--passphrase-file", one)

      let removed = try await alice.succeed("device", "passphrase", "--remove", "--passphrase-file", one, "--json")
      #expect(try removed.json()["passphrase"].string == "removed")
      try await alice.succeed("list")
      #expect(
        try await alice.succeed("device", "passphrase", "--remove", "--json").json()["passphrase"].string == "none")
    }
  }

  @Test("locks what was unlocked when it changes, and leaves the daemon at work")
  func changeUnderTheDaemon() async throws {
    try await Bench.run { bench in
      let alice = try await protected(bench)
      let old = alice.home + ".pass"
      let new = try bench.file("new", Array("another of several words\n".utf8))
      chmod(new, 0o600)
      try await alice.startDaemon("--passphrase-file", old)
      try await alice.succeed("unlock", "--passphrase-file", old)
      // What the agent keeps is not enough.
      #expect(try await alice.run("device", "passphrase", "--new-passphrase-file", new).status == 7)
      try await alice.succeed("device", "passphrase", "--passphrase-file", old, "--new-passphrase-file", new)
      #expect(try await alice.run("list").status == 7)
      try await alice.succeed("unlock", "--passphrase-file", new)
      try await alice.succeed("list")
    }
  }

  @Test("is asked for at the terminal before it changes, then twice, and a weak one is told so")
  func changeAtTheTerminal() async throws {
    try await Bench.run { bench in
      let alice = try await protected(bench)
      let terminal = try PseudoTerminal(alice, ["device", "passphrase"])
      try await terminal.expect("Passphrase: ")
      terminal.type("correct horse\n")
      try await terminal.expect("New passphrase: ")
      terminal.type("alice1234\n")
      try await terminal.expect("confirm: ")
      terminal.type("alice1234\n")
      #expect(try await terminal.end() == 0)
      #expect(terminal.screen.contains("weak") && terminal.screen.contains("is changed"), "\(terminal.screen)")
      #expect(!terminal.screen.contains("1234") && !terminal.screen.contains("horse"))
      #expect(try await alice.run("list", "--passphrase-fd", "0", input: Array("alice1234".utf8)).status == 0)

      let wrong = try PseudoTerminal(alice, ["device", "passphrase", "--remove"])
      try await wrong.expect("Passphrase: ")
      wrong.type("correct horse\n")
      #expect(try await wrong.end() == 7)
    }
  }
}
