import ChatServers
import SecretVault
import Testing
import VaultProtocol
import VaultStore

@testable import VaultXMPP
@testable import XMPPLink
@testable import XMPPRequests

/// Texts that were lost without a word, and such that should have been.
extension AccountTests {
  @Suite(.enabled(if: ChatServer.isAvailable, reason), .serialized, .timeLimit(.minutes(10)))
  struct VanishingTests {
    private func people(at server: ChatServer) async throws -> (ada: Person, bob: Person) {
      let (ada, bob) = (try Person("Ada"), try Person("Bob"))
      for person in [ada, bob] { try await person.register(at: server) }
      return (ada, bob)
    }

    /// Writes as another program does.
    private func speak(
      _ person: Person, _ body: @escaping @Sendable (XMPPConnection) async throws(XMPPError) -> Void
    ) async throws {
      let account = try #require(try person.vault.accounts.currentAccount())
      let connection = try await person.otherProgram(account)
      try await connection.announce()
      try await body(connection)
      try await connection.ping()
      connection.logout()
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `a text of more than 64 KiB and one with a subject come whole`(_ kind: ChatServer.Kind) async throws {
      let (ada, bob) = try await people(at: try ChatServer.shared(kind))
      _ = try ada.accounts.sendPlain(held("first"), to: bob.address)
      let (to, long) = (try JID(ada.address), String(repeating: "line\n", count: 20_000))
      try await ada.online {
        try await speak(bob) { (connection) throws(XMPPError) in
          try await connection.say { writer in
            writer.begin("message", nil, [("type", "chat"), ("to", to.description), ("id", "long")])
            writer.element("body", text: long)
          }
          try await connection.say { writer in
            writer.begin("message", nil, [("type", "normal"), ("to", to.description), ("id", "subject")])
            writer.element("subject", text: "the bridge")
            writer.element("body", text: "at eight")
          }
        }
        try await eventually("both come") { try ada.received().count == 2 }
      }
      #expect(Set(try ada.received()) == [long, "Subject: the bridge\n\nat eight"])
      // Read again from the archive they are known.
      _ = await AccountRound.run(ada.vault, limit: .seconds(60))
      #expect(try ada.received().count == 2)
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `what somebody writes who asks to be a friend is there when it is accepted, on both sides`(
      _ kind: ChatServer.Kind
    ) async throws {
      let (ada, bob) = try await people(at: try ChatServer.shared(kind))
      _ = try await bob.accounts.addFriend(ada.address, name: nil, peer: nil)
      _ = try bob.accounts.sendPlain(held("it is me, from the station"), to: ada.address)
      #expect(await AccountRound.run(bob.vault, limit: .seconds(60)).problem == nil)
      let report = await AccountRound.run(ada.vault, limit: .seconds(60)) {
        (try? ada.received())?.isEmpty == false
      }
      #expect(report.problem == nil && report.traffic.friendRequests == 1, "\(report)")
      #expect(try ada.received() == ["it is me, from the station"])
      // Whoever was added and hasn't accepted yet may answer.
      try await speak(ada) { (connection) throws(XMPPError) in
        try await connection.send("which station?", to: try JID(bob.address), id: "answer", wantsReceipt: false)
      }
      try bob.vault.messages.messages().forEach { try bob.vault.messages.deleteMessage($0.number) }
      _ = await AccountRound.run(bob.vault, limit: .seconds(60)) { (try? bob.received())?.isEmpty == false }
      #expect(try bob.received() == ["which station?"])
    }

    @Test func `of somebody who asks no more than a few texts are kept, and nobody is told of them`() async throws {
      let (ada, bob) = try await people(at: try ChatServer.shared(.prosody))
      _ = try await bob.accounts.addFriend(ada.address, name: nil, peer: nil)
      let to = try JID(ada.address)
      try await ada.online {
        try await eventually("ada is asked") { try ada.accounts.friends().contains { $0.asks } }
        try await speak(bob) { (connection) throws(XMPPError) in
          for number in 0..<20 { try await connection.send("text \(number)", to: to, id: "id-\(number)") }
        }
        try await eventually("some come") { try ada.received().count == 16 }
      }
      let account = try #require(try ada.vault.accounts.currentAccount())
      #expect(try ada.vault.accounts.accountTraffic(account.id)?.passedOver == 4)
      #expect(try ada.vault.overview.log(limit: 100).filter { $0.event == "message-received" }.isEmpty)
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `a friend that was removed writes in vain, also when it was written to, until it is wanted again`(
      _ kind: ChatServer.Kind
    ) async throws {
      let (ada, bob) = try await people(at: try ChatServer.shared(kind))
      _ = try ada.accounts.sendPlain(held("hello"), to: bob.address)
      _ = try await ada.accounts.addFriend(bob.address, name: nil, peer: nil)
      try await ada.online {
        try await bob.online {
          try await eventually("bob is asked") { try bob.accounts.friends().contains { $0.asks } }
          _ = try await bob.accounts.acceptFriend(ada.address, name: nil, peer: nil)
          try await eventually("both are friends") { try ada.accounts.friends().first?.subscription == "both" }
          try await ada.accounts.removeFriend(bob.address)
          #expect(try ada.accounts.friends().map(\.subscription) == ["blocked"])
          _ = try bob.accounts.sendPlain(held("why?"), to: ada.address)
          // He asks to be a friend again.
          try await eventually("bob has lost a friend") { try bob.accounts.friends().first?.subscription != "both" }
          _ = try await bob.accounts.addFriend(ada.address, name: nil, peer: nil)
          try await eventually("it goes") { try bob.vault.messages.messages().first { $0.isMine }?.state == "underway" }
        }
      }
      let report = await AccountRound.run(ada.vault, limit: .seconds(60))
      #expect(report.problem == nil && report.traffic.friendRequests == 0)
      #expect(try ada.received() == [] && ada.accounts.friends().map(\.asks) == [false])
      let account = try #require(try ada.vault.accounts.currentAccount())
      #expect(try ada.vault.accounts.accountTraffic(account.id)?.passedOver ?? 0 >= 1)
      // Blocked by this program, and until its user writes to it.
      #expect(throws: VaultError.self) { try ada.accounts.unblockFriend("nobody@localhost") }
      _ = try ada.accounts.sendPlain(held("come back"), to: bob.address)
      #expect(try ada.accounts.friends() == [])
      try await speak(bob) { (connection) throws(XMPPError) in
        try await connection.send("here I am", to: try JID(ada.address), id: "back")
      }
      _ = await AccountRound.run(ada.vault, limit: .seconds(60)) { (try? ada.received())?.isEmpty == false }
      #expect(try ada.received().contains("here I am"))
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `what another program of the account says and gets is there at once, without an archive`(
      _ kind: ChatServer.Kind
    ) async throws {
      let (ada, bob) = try await people(at: try ChatServer.shared(kind))
      _ = try ada.accounts.sendPlain(held("first"), to: bob.address)
      try await ada.online {
        try await eventually("it goes") { try ada.vault.messages.messages().first?.state != "waiting" }
        let to = try JID(bob.address)
        try await speak(ada) { (connection) throws(XMPPError) in
          try await connection.send("from the telephone", to: to, id: "elsewhere")
        }
        try await eventually("it shows", seconds: 20) {
          try ada.vault.messages.messages().filter(\.isMine).map { try ada.text($0) }.contains("from the telephone")
        }
      }
      // The archive says nothing new.
      _ = await AccountRound.run(ada.vault, limit: .seconds(60))
      #expect(try ada.vault.messages.messages().filter(\.isMine).count == 2)
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `texts stay at the server while as much of the disk is to stay free`(_ kind: ChatServer.Kind) async throws {
      let (ada, bob) = try await people(at: try ChatServer.shared(kind))
      _ = try ada.accounts.sendPlain(held("hello"), to: bob.address)
      _ = await AccountRound.run(ada.vault, limit: .seconds(60))
      _ = try ada.vault.core.set("keep-free", to: "100000T")
      let to = try JID(ada.address)
      try await speak(bob) { (connection) throws(XMPPError) in
        try await connection.send("a long answer", to: to, id: "answer")
      }
      let full = await AccountRound.run(ada.vault, limit: .seconds(60))
      #expect(try full.problem == nil && full.traffic.plainTaken == 0 && ada.received() == [])
      _ = try ada.vault.core.set("keep-free", to: "0")
      _ = await AccountRound.run(ada.vault, limit: .seconds(60)) { (try? ada.received())?.isEmpty == false }
      #expect(try ada.received() == ["a long answer"])
    }

    @Test func `with pigeons-only no plain text goes, and a connection ends and comes back with the setting`()
      async throws
    {
      let (ada, bob) = try await people(at: try ChatServer.shared(.prosody))
      let lock = try ada.takeDaemonLock()
      defer { withExtendedLifetime(lock) {} }
      try await ada.online {
        try await eventually("connected") { try ada.accounts.list().first?.connection?.state == .connected }
        _ = try ada.vault.core.set("pigeons-only", to: "on")
        try await eventually("not connected") { try ada.accounts.list().first?.connection == nil }
        #expect { try ada.accounts.sendPlain(held("hello"), to: bob.address) } throws: {
          VaultError(known: $0)?.code == .refused
        }
        #expect(try ada.vault.messages.messages().isEmpty)
        _ = try ada.vault.core.set("pigeons-only", to: "off")
        try await eventually("connected again") { try ada.accounts.list().first?.connection?.state == .connected }
      }
    }

    @Test func `what went and came by an account is counted, and goes with it`() async throws {
      let (ada, bob) = try await people(at: try ChatServer.shared(.prosody))
      let account = try #require(try ada.vault.accounts.currentAccount())
      #expect(try ada.accounts.list().first?.traffic == nil)
      _ = try ada.accounts.sendPlain(held("12345"), to: bob.address)
      _ = await AccountRound.run(ada.vault, limit: .seconds(60))
      try await speak(bob) { (connection) throws(XMPPError) in
        try await connection.send("123", to: try JID(ada.address), id: "three")
      }
      _ = await AccountRound.run(ada.vault, limit: .seconds(60)) { (try? ada.received())?.isEmpty == false }
      let traffic = try #require(try ada.accounts.list().first?.traffic)
      #expect(traffic.sent.texts == 1 && traffic.sent.bytes == 5 && traffic.sent.parcels == 0)
      #expect(traffic.taken.texts == 1 && traffic.taken.bytes == 3 && traffic.since > 0)
      _ = try ada.accounts.logout(nil, forgets: true)
      #expect(try ada.vault.accounts.accountTraffic(account.id) == nil)
    }
  }
}
