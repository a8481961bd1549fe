import Foundation
import Testing

/// What commands about accounts do where there is none, or no server.
@Suite("Accounts without a server")
struct NoAccountTests {
  @Test("without an account nothing is sent in the clear, and nothing kept")
  func none() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let sent = try await alice.run("send", "eve@example.org", "hello", "--plain")
      #expect(sent.status == 1 && sent.complaint.contains("vault account login"), "\(sent)")
      #expect(try await alice.succeed("message", "--json").line == "[]")
      #expect(try await alice.succeed("message", "outbox", "--json").json()["messages"].array.isEmpty)
      for words in [
        ["account", "friend", "add", "eve@example.org"], ["account", "friend", "remove", "eve@example.org"],
        ["account", "sync"],
      ] {
        let outcome = try await alice.run(words)
        #expect(outcome.status == 1 && outcome.complaint.contains("no account is in use"), "\(outcome)")
      }
    }
  }

  @Test("an account whose server can't be reached isn't kept, and its password isn't either")
  func unreachable() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      for command in ["login", "register"] {
        let outcome = try await alice.run(
          "account", command, "alice@localhost", "--host", "127.0.0.1", "--port", "1", "--password-fd", "0",
          input: Array("correct horse".utf8))
        #expect(outcome.status == 6, "\(outcome)")
      }
      #expect(try await alice.succeed("account", "list", "--json").line == "[]")
      #expect(try await alice.run("send", "eve@example.org", "hello", "--plain").status == 1)
    }
  }

  @Test(
    "what is no address is refused before anything is read or kept", arguments: ["eve", "eve@", "@x", "a b@x", "e@x/y"])
  func addresses(address: String) async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let sent = try await alice.run("send", address, "hello", "--plain")
      #expect(sent.status != 0 && sent.status != 6, "\(sent)")
      #expect(try await alice.succeed("message", "--json").line == "[]")
    }
  }
}
