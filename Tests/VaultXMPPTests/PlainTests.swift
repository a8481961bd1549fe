import ChatServers
import SecretVault
import Testing
import XMPPLink

@testable import VaultXMPP

extension AccountTests {
  @Suite(.enabled(if: ChatServer.isAvailable, reason), .serialized, .timeLimit(.minutes(3)))
  struct PlainTests {
    @Test(
      .enabled(if: IndependentClient.isAvailable, "slixmpp isn't installed"), arguments: ChatServer.Kind.allCases)
    func `plain texts go to another program and come back, and its receipt is noted`(_ kind: ChatServer.Kind)
      async throws
    {
      let server = try ChatServer.shared(kind)
      let (ada, bob) = (try Person("Ada"), try Person("Bob"))
      for person in [ada, bob] { try await person.register(at: server) }
      let other = try IndependentClient(address: try JID(bob.address), name: bob.local, on: server)
      defer { other.kill() }
      try await ada.online {
        let message = try ada.vault.sendPlain(held("hello <&> é"), to: bob.address)
        #expect(!message.isSealed && message.contact == bob.address && message.state == "waiting")
        try await eventually("the answer comes") { try ada.received() == ["hello <&> é to you"] }
        try await eventually("it is confirmed") { try ada.state(message) == "delivered" }
      }
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `what was said while this device was away is read from the archive, once`(_ kind: ChatServer.Kind) async throws
    {
      let server = try ChatServer.shared(kind)
      let (ada, bob) = (try Person("Ada"), try Person("Bob"))
      for person in [ada, bob] { try await person.register(at: server) }
      _ = try ada.vault.sendPlain(held("first"), to: bob.address)
      try await ada.online { try await eventually("it goes") { try ada.state(ada.vault.messages()[0]) == "underway" } }
      // Another device of ada's takes what comes, and answers.
      try await bob.online {
        _ = try bob.vault.sendPlain(held("second"), to: ada.address)
        try await eventually("it goes") { try bob.vault.messages().first { $0.isMine }?.state == "underway" }
      }
      let account = try #require(try ada.vault.currentAccount())
      try await ada.accounts.connected(account) { (connection) throws(XMPPError) in
        try await connection.announce()
        try await connection.send("third", to: try JID(bob.address), id: "elsewhere")
        try await connection.ping()
      }
      for _ in 0..<2 {
        let report = await AccountRound.run(ada.vault, limit: .seconds(20))
        #expect(report.problem == nil)
      }
      #expect(try ada.received() == ["second"])
      let mine = try ada.vault.messages().filter(\.isMine)
      #expect(Set(try mine.compactMap { try ada.text($0) }) == ["first", "third"])
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `what was deleted doesn't come back from the archive`(_ kind: ChatServer.Kind) async throws {
      let server = try ChatServer.shared(kind)
      let (ada, bob) = (try Person("Ada"), try Person("Bob"))
      for person in [ada, bob] { try await person.register(at: server) }
      _ = try ada.vault.sendPlain(held("first"), to: bob.address)
      try await ada.online {
        try await bob.online {
          _ = try bob.vault.sendPlain(held("second"), to: ada.address)
          try await eventually("ada has it") { try ada.received() == ["second"] }
          try await eventually("hers goes") {
            try ada.vault.messages().first { $0.isMine }.map { $0.state != "waiting" } == true
          }
        }
      }
      // With nothing that she has written, he would be a stranger.
      _ = try ada.vault.sendPlain(held("kept"), to: bob.address)
      for message in try ada.vault.messages() where try ada.text(message) != "kept" {
        try ada.vault.deleteMessage(message.number)
      }
      _ = try bob.vault.sendPlain(held("third"), to: ada.address)
      _ = await AccountRound.run(bob.vault, limit: .seconds(20))
      let report = await AccountRound.run(ada.vault, limit: .seconds(20))
      #expect(report.problem == nil)
      // What is new shows that the archive was read.
      #expect(try ada.vault.messages().map { try ada.text($0) } == ["third", "kept"])
    }

    @Test func `texts of strangers aren't kept, those of who was written to are`() async throws {
      let server = try ChatServer.shared(.prosody)
      let (ada, eve) = (try Person("Ada"), try Person("Eve"))
      for person in [ada, eve] { try await person.register(at: server) }
      _ = try eve.vault.sendPlain(held("buy this"), to: ada.address)
      try await eve.online { try await eventually("it goes") { try eve.state(eve.vault.messages()[0]) == "underway" } }
      _ = await AccountRound.run(ada.vault, limit: .seconds(20))
      #expect(try ada.vault.messages().isEmpty)
      _ = try ada.vault.sendPlain(held("who are you?"), to: eve.address)
      try await ada.online {
        try await eve.online {
          try await eventually("eve reads") { try eve.received() == ["who are you?"] }
          _ = try eve.vault.sendPlain(held("eve"), to: ada.address)
          try await eventually("ada reads") { try ada.received().contains("eve") }
        }
      }
    }

    @Test func `a text for nobody is lost, and that is said`() async throws {
      let ada = try Person("Ada")
      try await ada.register(at: try ChatServer.shared(.prosody))
      let message = try ada.vault.sendPlain(held("hello"), to: "nobody-at-all@localhost")
      try await ada.online { try await eventually("it comes back") { try ada.state(message) == "lost" } }
    }

    @Test func `a text that can't be sent is refused before it is kept`() async throws {
      let ada = try Person("Ada")
      #expect { try ada.vault.sendPlain(held("hello"), to: "bob@localhost") } throws: {
        ($0 as? VaultError)?.code == .notFound
      }
      try await ada.register(at: try ChatServer.shared(.prosody))
      for (text, to) in [
        ("", "bob@localhost"), ("\u{1B}[2J", "bob@localhost"), ("a\u{FFFE}", "bob@localhost"), ("hello", ada.address),
        ("hello", "bob"),
      ] {
        #expect { try ada.vault.sendPlain(held(text), to: to) } throws: { ($0 as? VaultError)?.code == .usage }
      }
      #expect(try ada.vault.messages().isEmpty)
    }
  }
}
