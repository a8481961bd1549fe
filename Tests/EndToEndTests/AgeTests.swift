import Foundation
import Testing

@Suite("Shared keys as recipients of age", .enabled(if: AgeBench.isAvailable, "age isn't installed"))
struct AgeTests {
  /// A key of three, of which any two recover; its identity file is Alice's, and a file is encrypted to its recipient by somebody
  /// who has nothing of ours.
  private func family(
    _ bench: Bench, _ location: SourceLocation = #_sourceLocation
  ) async throws -> (age: AgeBench, alice: Peer, bob: Peer, carol: Peer, recipient: String) {
    let (alice, bob, carol) = try await bench.trio(location)
    try await alice.succeed("key", "create", "family", "--threshold", "2", at: location)
    let recipient = try await bob.succeed("key", "recipient", "family", at: location).line
    try alice.write(Array(try await alice.succeed("key", "identity", "family", at: location).bytes), to: "identity.txt")
    let age = try AgeBench(bench)
    try alice.write(Array("hello\n".utf8), to: "plain")
    let sealed = try await age.run(alice, "-r", recipient, "-o", "sealed.age", "plain", at: location)
    try #require(sealed.status == 0, "\(sealed)", sourceLocation: location)
    return (age, alice, bob, carol, recipient)
  }

  /// Recoveries that this peer has tried.
  private func recoveries(_ peer: Peer) async throws -> Int {
    try await peer.succeed("log", "--json").json().array.count { $0["event"].string?.hasPrefix("recover") == true }
  }

  @Test("every holder prints the same recipient, and an identity file that age takes and that names the key")
  func texts() async throws {
    try await Bench.run { bench in
      let (_, alice, bob, carol, recipient) = try await family(bench)
      #expect(recipient.wholeMatch(of: /age1[02-9ac-hj-np-z]{58}/) != nil)
      let known = try await carol.succeed("key", "recipient", "family", "--json").json()
      #expect(known.keys == ["id", "name", "recipient"])
      #expect(known["recipient"].string == recipient && known["name"].string == "family")
      let identity = try await bob.succeed("key", "identity", "family", "--json").json()
      #expect(identity.keys == ["id", "name", "recipient", "identity"])
      let text = try #require(identity["identity"].string)
      #expect(text.wholeMatch(of: /AGE-PLUGIN-QUORUM-1[02-9AC-HJ-NP-Z]+/) != nil)
      let lines = try await alice.succeed("key", "identity", "family").lines
      #expect(lines == ["# key: family", "# public key: \(recipient)", text])
      #expect(try await alice.run("key", "recipient", "nobody").status == 1)
      try await alice.succeed("key", "create", "others", "--threshold", "2", "--no-own-share")
      try await alice.succeed("key", "recipient", "others")
      #expect(try await alice.run("key", "identity", "others").status == 5)
    }
  }

  @Test("with the key unlocked age decrypts, and nobody is asked, neither at a terminal nor by it")
  func unlocked() async throws {
    try await Bench.run { bench in
      let (age, alice, bob, carol, _) = try await family(bench)
      try await alice.succeed("unlock", "family")
      try await bob.stopDaemon()
      try await carol.stopDaemon()
      let opened = try await age.run(alice, "-d", "-i", "identity.txt", "sealed.age")
      #expect(opened.status == 0 && opened.output == "hello\n", "\(opened)")
      try await alice.succeed("lock", "family")
      #expect(try await age.run(alice, "-d", "-i", "identity.txt", "sealed.age").status == 1)
    }
  }

  @Test("at a terminal it asks before people are, recovers after a yes, and leaves all in peace after a no")
  func question() async throws {
    try await Bench.run { bench in
      let (age, alice, bob, carol, _) = try await family(bench)
      let refusal = try age.terminal(alice, "-d -i identity.txt -o out sealed.age")
      try await refusal.expect("Ask the holders? 2 of 3 shares are needed")
      try await refusal.expect("leave them in peace")
      refusal.type("2")
      #expect(try await refusal.end() == 1)
      #expect(!alice.has("out"))
      let before = try await recoveries(alice)
      #expect(before == 0)
      let consent = try age.terminal(alice, "-d -i identity.txt -o out sealed.age")
      try await consent.expect("Ask the holders?")
      consent.type("1")
      #expect(try await consent.end() == 0, "\(consent.screen)")
      try alice.expect("out", toHold: Array("hello\n".utf8))
      #expect(consent.screen.contains("share verified, 2 of 2"), "\(consent.screen)")
      let after = try await recoveries(alice)
      #expect(after == 1)
      // Too few: why, and what to do.
      try await bob.stopDaemon()
      try await carol.stopDaemon()
      let alone = try age.terminal(alice, "-d -i identity.txt -o other sealed.age")
      try await alone.expect("Ask the holders?")
      alone.type("1")
      #expect(try await alone.end() == 1)
      #expect(!alice.has("other") && alone.screen.contains("1 of 2"), "\(alone.screen)")
    }
  }

  @Test("where nobody can be asked for a yes nobody is asked for a share, and age says to unlock the key before")
  func noTerminal() async throws {
    try await Bench.run { bench in
      let (age, alice, _, _, _) = try await family(bench)
      let outcome = try await age.run(alice, "-d", "-i", "identity.txt", "sealed.age")
      #expect(outcome.status == 1 && outcome.complaint.contains("vault unlock"), "\(outcome)")
      let count = try await recoveries(alice)
      #expect(count == 0)
    }
  }

  @Test("files without an ordinary recipient, and those that another identity opens first, are never asked about")
  func foreign() async throws {
    try await Bench.run { bench in
      let (age, alice, _, _, recipient) = try await family(bench)
      let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGTH4plZJMrbZ0H77MBgbk9mOwa+sZh3BuRCA40rGioc"
      #expect(try await age.run(alice, "-r", key, "-o", "ssh.age", "plain").status == 0)
      let terminal = try age.terminal(alice, "-d -i identity.txt ssh.age")
      #expect(try await terminal.end() == 1)
      #expect(terminal.screen.contains("no identity matched") && !terminal.screen.contains("Ask"), "\(terminal.screen)")
      // The identity of age's specification.
      let own = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
      let ownRecipient = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj"
      try alice.write(Array((own + "\n").utf8), to: "own.txt")
      let both = try await age.run(alice, "-r", ownRecipient, "-r", recipient, "-o", "both.age", "plain")
      #expect(both.status == 0, "\(both)")
      let opened = try await age.run(alice, "-d", "-i", "own.txt", "-i", "identity.txt", "both.age")
      #expect(opened.status == 0 && opened.output == "hello\n", "\(opened)")
      // One of several recipients is the key.
      try await alice.succeed("unlock", "family")
      let shared = try await age.run(alice, "-d", "-i", "identity.txt", "both.age")
      #expect(shared.status == 0 && shared.output == "hello\n", "\(shared)")
    }
  }

  @Test("a locked vault asks whether to unlock it, then for its passphrase at the terminal, which age doesn't hear")
  func locked() async throws {
    try await Bench.run { bench in
      let (age, alice, _, _, _) = try await family(bench)
      try await alice.stopDaemon()
      try await alice.succeed("device", "passphrase", "--new-passphrase-fd", "0", input: Array("correct horse".utf8))
      let refusal = try age.terminal(alice, "-d -i identity.txt -o other sealed.age")
      try await refusal.expect("The vault is locked")
      refusal.type("2")
      #expect(try await refusal.end() == 1)
      #expect(!refusal.screen.contains("Passphrase"), "\(refusal.screen)")
      let terminal = try age.terminal(alice, "-d -i identity.txt -o out sealed.age")
      try await terminal.expect("The vault is locked")
      terminal.type("1")
      try await terminal.expect("Passphrase: ")
      terminal.type("correct horse\n")
      try await terminal.expect("Ask the holders?")
      terminal.type("1")
      #expect(try await terminal.end() == 0, "\(terminal.screen)")
      try alice.expect("out", toHold: Array("hello\n".utf8))
      #expect(!terminal.screen.contains("correct horse"))
      let wrong = try age.terminal(alice, "-d -i identity.txt -o other sealed.age")
      try await wrong.expect("The vault is locked")
      wrong.type("1")
      try await wrong.expect("Passphrase: ")
      wrong.type("wrong horse\n")
      #expect(try await wrong.end() == 1)
      #expect(wrong.screen.contains("passphrase") && !wrong.screen.contains("Ask the holders"), "\(wrong.screen)")
    }
  }

  @Test("the plugin refuses what it isn't for, and whoever doesn't speak as age does")
  func misuse() async throws {
    try await Bench.run { bench in
      let (age, alice, _, _, _) = try await family(bench)
      let plugin = bench.folder + "/plugins/age-plugin-quorum"
      for argument in ["--age-plugin=recipient-v1", "--age-plugin=identity-v2", "--age-plugin"] {
        let outcome = try await bench.start(plugin, [argument], environment: alice.environment).end(within: 60)
        #expect(outcome.status == 64 && outcome.output.isEmpty, "\(outcome)")
      }
      for input in ["", "hello\n", "-> add-identity x\n\n", "-> done\n"] {
        let file = try bench.file("said", Array(input.utf8))
        let outcome = try await bench.start(
          plugin, ["--age-plugin=identity-v1"], environment: alice.environment, input: .file(file)
        ).end(within: 60)
        #expect(outcome.status != 0 && outcome.output.hasPrefix("-> error internal\n"), "\(outcome)")
      }
    }
  }

  @Test(
    "rage's library decrypts by the same plugin, and shows the same question",
    .enabled(if: AgeBench.isPythonAvailable, "pyrage isn't installed"))
  func rage() async throws {
    try await Bench.run { bench in
      let (age, alice, _, _, recipient) = try await family(bench)
      let script = """
        import sys, pyrage
        class Callbacks:
            def __init__(self, yes): self.yes = yes
            def display_message(self, message): print("message:", message)
            def confirm(self, message, yes, no):
                print("confirm:", message, "/", yes, "/", no)
                return self.yes
            def request_public_string(self, description): return None
            def request_passphrase(self, description): return None
        lines = [line.strip() for line in open("identity.txt") if not line.startswith("#")]
        sealed = pyrage.encrypt(b"from rage", [pyrage.x25519.Recipient.from_str(sys.argv[2])])
        identities = [pyrage.plugin.Identity.from_str(line) for line in lines]
        plugin = pyrage.plugin.IdentityPluginV1("quorum", identities, Callbacks(sys.argv[1] == "yes"))
        print("opened:", pyrage.decrypt(sealed, [plugin]).decode())
        """
      try alice.write(Array(script.utf8), to: "script.py")
      let refused = try await age.run(alice, "script.py", "no", recipient, program: AgeBench.python)
      #expect(refused.status == 1 && refused.output.contains("confirm: This file may be for"), "\(refused)")
      let count = try await recoveries(alice)
      #expect(count == 0)
      let opened = try await age.run(alice, "script.py", "yes", recipient, program: AgeBench.python)
      #expect(opened.status == 0 && opened.output.contains("opened: from rage"), "\(opened)")
      try await alice.succeed("unlock", "family")
      let unlocked = try await age.run(alice, "script.py", "no", recipient, program: AgeBench.python)
      #expect(unlocked.status == 0 && !unlocked.output.contains("confirm"), "\(unlocked)")
    }
  }
}
