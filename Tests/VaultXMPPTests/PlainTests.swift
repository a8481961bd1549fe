import ChatServers
import SecretVault
import Testing
import VaultProtocol

@testable import XMPPRequests
@testable import VaultXMPP

extension AccountTests {
  @Suite(.enabled(if: ChatServer.isAvailable, reason), .serialized, .timeLimit(.minutes(10)))
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
        let message = try ada.accounts.sendPlain(held("hello <&> é"), to: bob.address)
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
      _ = try ada.accounts.sendPlain(held("first"), to: bob.address)
      try await ada.online {
        try await eventually("it goes") { try ada.state(ada.vault.messages.messages()[0]) == "underway" }
      }
      // Another device of ada's takes what comes, and answers.
      try await bob.online {
        _ = try bob.accounts.sendPlain(held("second"), to: ada.address)
        try await eventually("it goes") { try bob.vault.messages.messages().first { $0.isMine }?.state == "underway" }
      }
      let account = try #require(try ada.vault.accounts.currentAccount())
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
      let mine = try ada.vault.messages.messages().filter(\.isMine)
      #expect(Set(try mine.compactMap { try ada.text($0) }) == ["first", "third"])
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `what is said in the moment of a login is read from the archive a little later, once`(_ kind: ChatServer.Kind)
      async throws
    {
      let server = try ChatServer.shared(kind)
      let (ada, bob) = (try Person("Ada"), try Person("Bob"))
      for person in [ada, bob] { try await person.register(at: server) }
      let first = try bob.accounts.sendPlain(held("first"), to: ada.address)
      try await bob.exchanging { exchange in
        try await eventually("it goes") { try bob.state(first) == "underway" }
        // To somebody who isn't to be disturbed a server gives nothing, as to somebody who isn't quite there yet.
        try await exchange.connection.announce(priority: -1)
        try await exchange.reach()
        try await ada.online {
          _ = try ada.accounts.sendPlain(held("second"), to: bob.address)
          try await eventually("it comes") { try bob.received() == ["second"] }
        }
      }
      #expect(await AccountRound.run(bob.vault, limit: .seconds(60)).problem == nil)
      #expect(try bob.received() == ["second"])
    }

    @Test func `an archive that doesn't go back as far any more is read from its beginning`() async throws {
      let server = try ChatServer.shared(.prosody)
      let (ada, bob) = (try Person("Ada"), try Person("Bob"))
      for person in [ada, bob] { try await person.register(at: server) }
      _ = try ada.accounts.sendPlain(held("first"), to: bob.address)
      #expect(await AccountRound.run(ada.vault, limit: .seconds(60)).traffic.plainSent == 1)
      // More than a page, while another device of ada's is there.
      let (account, other) = (
        try #require(try ada.vault.accounts.currentAccount()), try #require(try bob.vault.accounts.currentAccount())
      )
      let (to, texts) = (try JID(ada.address), (0..<120).map { "number \($0)" })
      try await ada.accounts.connected(account) { (connection) throws(XMPPError) in
        try await connection.announce()
        try await connection.ping()
        do {
          try await bob.accounts.connected(other) { (sender) throws(XMPPError) in
            for (number, text) in texts.enumerated() { try await sender.send(text, to: to, id: "more-\(number)") }
            try await sender.ping()
          }
        } catch { throw .unreachable(VaultError(error).reason) }
      }
      try ada.vault.accounts.noteArchive(of: account.id, to: "an entry that has expired")
      #expect(await AccountRound.run(ada.vault, limit: .seconds(60)).problem == nil)
      #expect(try ada.received() == texts)
    }

    @Test func `only what an archive has no more is looked for elsewhere`() {
      let refused = { AccountExchange.place($0, refused: XMPPCondition($1)) }
      #expect(refused(.after("gone"), "item-not-found") == .beginning)
      #expect(refused(.after("there"), "internal-server-error") == nil)
      #expect(refused(.after("there"), "resource-constraint") == nil)
      for place in [XMPPArchivePlace.beginning, .end] { #expect(refused(place, "item-not-found") == nil) }
    }

    @Test func `what was said in a long absence isn't counted as of the day of return`() async throws {
      let server = try ChatServer.shared(.prosody)
      let (ada, bob) = (try Person("Ada"), try Person("Bob"))
      for person in [ada, bob] { try await person.register(at: server) }
      _ = try ada.accounts.sendPlain(held("first"), to: bob.address)
      #expect(await AccountRound.run(ada.vault, limit: .seconds(60)).traffic.plainSent == 1)
      // As read from an archive: all stored now, and sent two days ago.
      let (account, day) = (try #require(try ada.vault.accounts.currentAccount()), Int64(86_400_000))
      let (text, now) = (try held("before"), ada.vault.core.surroundings.now())
      for number in 0..<Messages.plainDayLimit {
        let id = [UInt8](repeating: 9, count: 14) + [UInt8(number >> 8), UInt8(number & 255)]
        try ada.vault.messages.keepPlain(
          PlainMessage(id: id, contact: bob.address, isMine: false, text: text, sentAt: now - 2 * day),
          account: account.id)
      }
      #expect(
        try ada.vault.messages.plainDays(account: account.id, contact: bob.address) == [(now - 2 * day) / day: 1000])
      _ = try bob.accounts.sendPlain(held("today"), to: ada.address)
      try await ada.online {
        try await bob.online {
          try await eventually("today's comes") { try ada.received().contains("today") }
        }
      }
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `what was deleted doesn't come back from the archive`(_ kind: ChatServer.Kind) async throws {
      let server = try ChatServer.shared(kind)
      let (ada, bob) = (try Person("Ada"), try Person("Bob"))
      for person in [ada, bob] { try await person.register(at: server) }
      _ = try ada.accounts.sendPlain(held("first"), to: bob.address)
      try await ada.online {
        try await bob.online {
          _ = try bob.accounts.sendPlain(held("second"), to: ada.address)
          try await eventually("ada has it") { try ada.received() == ["second"] }
          try await eventually("hers goes") {
            try ada.vault.messages.messages().first { $0.isMine }.map { $0.state != "waiting" } == true
          }
        }
      }
      // With nothing that she has written, he would be a stranger.
      _ = try ada.accounts.sendPlain(held("kept"), to: bob.address)
      for message in try ada.vault.messages.messages() where try ada.text(message) != "kept" {
        try ada.vault.messages.deleteMessage(message.number)
      }
      _ = try bob.accounts.sendPlain(held("third"), to: ada.address)
      _ = await AccountRound.run(bob.vault, limit: .seconds(20))
      let report = await AccountRound.run(ada.vault, limit: .seconds(20))
      #expect(report.problem == nil)
      // What is new shows that the archive was read.
      // A server may tell times in whole seconds, so either can stand first.
      #expect(Set(try ada.vault.messages.messages().map { try ada.text($0) }) == ["kept", "third"])
    }

    @Test func `texts of strangers aren't kept, those of who was written to are`() async throws {
      let server = try ChatServer.shared(.prosody)
      let (ada, eve) = (try Person("Ada"), try Person("Eve"))
      for person in [ada, eve] { try await person.register(at: server) }
      _ = try eve.accounts.sendPlain(held("buy this"), to: ada.address)
      try await eve.online {
        try await eventually("it goes") { try eve.state(eve.vault.messages.messages()[0]) == "underway" }
      }
      _ = await AccountRound.run(ada.vault, limit: .seconds(20))
      #expect(try ada.vault.messages.messages().isEmpty)
      _ = try ada.accounts.sendPlain(held("who are you?"), to: eve.address)
      try await ada.online {
        try await eve.online {
          try await eventually("eve reads") { try eve.received() == ["who are you?"] }
          _ = try eve.accounts.sendPlain(held("eve"), to: ada.address)
          try await eventually("ada reads") { try ada.received().contains("eve") }
        }
      }
    }

    @Test func `a text for nobody is lost, and that is said`() async throws {
      let ada = try Person("Ada")
      try await ada.register(at: try ChatServer.shared(.prosody))
      let message = try ada.accounts.sendPlain(held("hello"), to: "nobody-at-all@localhost")
      try await ada.online { try await eventually("it comes back") { try ada.state(message) == "lost" } }
    }

    @Test func `a text that can't be sent is refused before it is kept`() async throws {
      let ada = try Person("Ada")
      #expect { try ada.accounts.sendPlain(held("hello"), to: "bob@localhost") } throws: {
        VaultError(known: $0)?.code == .notFound
      }
      try await ada.register(at: try ChatServer.shared(.prosody))
      for (text, to) in [
        ("", "bob@localhost"), ("\u{1B}[2J", "bob@localhost"), ("a\u{FFFE}", "bob@localhost"), ("hello", ada.address),
        ("hello", "bob"),
      ] {
        #expect { try ada.accounts.sendPlain(held(text), to: to) } throws: { VaultError(known: $0)?.code == .usage }
      }
      #expect(try ada.vault.messages.messages().isEmpty)
    }
  }
}
