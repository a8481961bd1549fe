import Glibc
import Testing

@Suite("Completion") struct CompletionTests {
  /// What a shell is offered behind a command, or behind its first words.
  static func offers(_ command: [String], _ peer: Peer, behind words: [String] = []) async throws -> [String] {
    let line = ["vault"] + command + words + [""]
    let outcome = try await peer.run(
      ["---completion"] + command + ["--", "positional@0", "\(line.count - 1)", "0"] + line)
    #expect(outcome.status == 0 && outcome.complaint.isEmpty, "\(outcome)")
    return outcome.lines
  }

  @Test("peers, secrets and settings are offered by the names that they have here")
  func names() async throws {
    try await Bench.run { bench in
      let (alice, _, _) = try await bench.trio()
      try alice.write(sample(10), to: "f")
      try await alice.succeed("share", "f", "--threshold", "2", "--description", "house keys")
      let id = try await alice.succeed("share", "f", "--threshold", "2").line
      #expect(try await Self.offers(["peer", "show"], alice).sorted() == ["bob", "carol"])
      #expect(try await Self.offers(["recover"], alice).sorted() == ["house keys", String(id.prefix(12))].sorted())
      #expect(try await Self.offers(["group", "status"], alice).isEmpty)
      let script = try await alice.succeed("--generate-completion-script", "bash").output
      #expect(script.contains("notify-command"))
    }
  }

  @Test("a locked vault, and one that isn't there, offer nothing and ask nothing")
  func locked() async throws {
    try await Bench.run { bench in
      let alice = try Peer("alice", bench)
      #expect(try await Self.offers(["peer", "show"], alice).isEmpty)
      let secret = try bench.file("passphrase", Array("open sesame".utf8))
      try await alice.succeed("init", "--label", "alice", "--passphrase-file", secret)
      let terminal = try PseudoTerminal(
        alice, ["---completion", "peer", "show", "--", "positional@0", "3", "0", "vault", "peer", "show", ""])
      #expect(try await terminal.end(within: 60) == 0)
      #expect(!terminal.screen.contains("assphrase"), "\(terminal.screen)")
    }
  }
}
