import Foundation
import Testing

@Suite("A secret under a password of its own")
struct SecretPasswordTests {
  private func share(_ bench: Bench, _ bytes: [UInt8]) async throws -> (alice: Peer, bob: Peer, password: String) {
    let (alice, bob) = try await bench.pair()
    try alice.write(bytes, to: "letter")
    let password = try bench.file("password", Array("open sesame\n".utf8))
    chmod(password, 0o600)
    let shared = try await alice.run(
      "share", "letter", "--threshold", "2", "--password-file", password, "--password-cost", "15")
    #expect(shared.status == 0, "\(shared)")
    #expect(shared.complaint.contains("N = 32768") && shared.complaint.contains("N = 65536"))
    return (alice, bob, password)
  }

  @Test("it opens with the password from a file or a descriptor, and the vault's passphrase is another matter")
  func opens()
    async throws
  {
    try await Bench.run { bench in
      let bytes = sample(300_000)
      let (_, bob, password) = try await share(bench, bytes)
      try await bob.succeed("recover", "--password-file", password)
      try bob.expect("letter", toHold: bytes)
      let again = try await bob.run("recover", "-o", "again", "--password-fd", "5", descriptors: [5: password])
      #expect(again.status == 0, "\(again)")
      try bob.expect("again", toHold: bytes)
      let closed = try await bob.run("recover", "--password-fd", "7")
      #expect(closed.status == 64 && closed.complaint.contains("--password-fd 7"))
    }
  }

  @Test("a wrong password has a code of its own and leaves nothing")
  func wrong() async throws {
    try await Bench.run { bench in
      let (_, bob, _) = try await share(bench, sample(1000))
      let wrong = try bench.file("wrong", Array("open barley".utf8))
      let outcome = try await bob.run("recover", "--json", "--password-file", wrong)
      #expect(outcome.status == 10)
      let last = try #require(outcome.complaints.last)
      #expect(try JSON(parsing: Data(last.utf8))["error"]["code"].string == "wrongPassword")
      let nobody = try await bob.run("recover")
      #expect(nobody.status == 10 && nobody.complaint.contains("--password-fd"))
      #expect(try bob.files() == [])
    }
  }

  @Test("a terminal is asked when the shares are in, three times, unseen")
  func asked() async throws {
    try await Bench.run { bench in
      let (_, bob, _) = try await share(bench, Array("letter".utf8))
      let terminal = try PseudoTerminal(bob, ["recover", "-o", "out"])
      try await terminal.expect("share verified, 2 of 2")
      try await terminal.expect("Password of this secret: ")
      terminal.type("no\n")
      // What is typed before the next question is thrown away.
      try await terminal.expect("2 tries left\r\nPassword of this secret: ")
      terminal.type("nope\n")
      try await terminal.expect("1 try left\r\nPassword of this secret: ")
      terminal.type("open sesame\n")
      #expect(try await terminal.end() == 0)
      #expect(!terminal.screen.contains("sesame") && !terminal.screen.contains("nope"))
      try bob.expect("out", toHold: Array("letter".utf8))

      let failing = try PseudoTerminal(bob, ["recover", "-o", "other"])
      for _ in 1...3 {
        // The question appears anew each time.
        try await failing.expect("Password of this secret: ")
        failing.forgetScreen()
        failing.type("wrong\n")
      }
      #expect(try await failing.end() == 10)
      #expect(!bob.has("other"))
    }
  }

  @Test("nobody is asked while shares are missing")
  func missing() async throws {
    try await Bench.run { bench in
      let (alice, bob, password) = try await share(bench, sample(1000))
      try await alice.stopDaemon()
      let outcome = try await bob.run("recover", "--password-file", password)
      #expect(outcome.status == 4)
      let terminal = try PseudoTerminal(bob, ["recover"])
      #expect(try await terminal.end() == 4)
      #expect(!terminal.screen.contains("Password"))
    }
  }

  @Test("damage is no wrong password")
  func damage() async throws {
    try await Bench.run { bench in
      let (alice, bob, password) = try await share(bench, sample(1000))
      for peer in [alice, bob] {
        let id = try await peer.succeed("list", "--json").json()[0]["id"].string
        let fragment = try peer.fragment(of: try #require(id))
        try Peer.flipBit(of: fragment, at: 100)
      }
      let outcome = try await bob.run("recover", "--password-file", password)
      #expect(outcome.status != 10 && outcome.status != 0 && !outcome.complaint.contains("password of this secret"))
    }
  }

  @Test("a new password is asked for twice, and explained by what it costs here")
  func explained() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write([1, 2, 3], to: "f")
      let terminal = try PseudoTerminal(
        alice, ["share", "f", "--threshold", "2", "--description", "f", "--password", "--password-cost", "17"])
      try await terminal.expect("128 MiB on this machine")
      try await terminal.expect("New password for this secret: ")
      terminal.type("one\n")
      try await terminal.expect("to confirm: ")
      terminal.type("two\n")
      #expect(try await terminal.end() == 64)
      #expect(try await bob.succeed("list", "--json").json().array.isEmpty)
    }
  }
}
