import ChatServers
import SecretVault
import Sodium
import Testing
import VaultProtocol
import VaultStore
import XMPPRequests

@testable import VaultXMPP

extension AccountTests {
  @Suite(.enabled(if: ChatServer.isAvailable, reason), .serialized, .timeLimit(.minutes(10)))
  struct SealedTests {
    /// Two peers with accounts, of whom the first knows where the second is.
    private func pair(_ kind: ChatServer.Kind) async throws -> (Person, Person) {
      let server = try ChatServer.shared(kind)
      let (ada, bob) = (try Person("Ada"), try Person("Bob"))
      try ada.meet(bob)
      for person in [ada, bob] { try await person.register(at: server) }
      try ada.vault.accounts.setAccountAddress("Bob", to: bob.address)
      return (ada, bob)
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `a message goes by the account, is answered there, and its sender hears that it has arrived`(
      _ kind: ChatServer.Kind
    ) async throws {
      let (ada, bob) = try await pair(kind)
      try await ada.online {
        try await bob.online {
          let message = try ada.send("hello, Bob", to: bob)
          // What a server gets while its recipient logs in may be lost, and is sent again after half a minute.
          try await eventually("it comes", seconds: 180) { try bob.received(from: "Ada") == ["hello, Bob"] }
          try await eventually("it is confirmed") { try ada.state(message) == "delivered" }
          #expect(try ada.vault.messages.message(message.number).route == "account")
          try bob.vault.messages.markRead([#require(try bob.vault.messages.messages().first).number])
          try await eventually("it is read") { try ada.state(message) == "read" }
          try await eventually("that is acknowledged") { try bob.vault.messages.outbox().parcels.isEmpty }
          // Its sender's address came with it.
          let answer = try bob.send("hello, Ada", to: ada)
          try await eventually("the answer comes") { try ada.received(from: "Bob") == ["hello, Ada"] }
          try await eventually("the answer is confirmed") { try bob.state(answer) == "delivered" }
        }
      }
    }

    @Test func `what a server puts aside while its recipient logs in comes a little later, not with the next login`()
      async throws
    {
      let (ada, bob) = try await pair(.ejabberd)
      try await bob.exchanging { exchange in
        // To somebody who isn't to be disturbed it gives nothing, as to somebody who isn't quite there yet.
        try await exchange.connection.announce(priority: -1)
        try await exchange.reach()
        try await ada.online {
          try ada.send("hello, Bob", to: bob)
          try await eventually("it comes") { try bob.received() == ["hello, Bob"] }
        }
      }
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `who is away gets it later, once, and nobody has to be there at the same time`(_ kind: ChatServer.Kind)
      async throws
    {
      let (ada, bob) = try await pair(kind)
      let messages = try (0..<5).map { try ada.send("number \($0)", to: bob) }
      try await ada.online {
        try await eventually("the server has them") { try messages.allSatisfy { try ada.state($0) == "underway" } }
      }
      try await bob.online {
        try await eventually("they come") { try bob.received(from: "Ada").count == 5 }
        try await eventually("the receipts go") { try bob.hasSentAll(receipts: 5) }
      }
      try await ada.online {
        try await eventually("the receipts come") { try messages.allSatisfy { try ada.state($0) == "delivered" } }
      }
      #expect(Set(try bob.received(from: "Ada")) == Set((0..<5).map { "number \($0)" }))
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `a file of several megabytes goes by the account`(_ kind: ChatServer.Kind) async throws {
      let (ada, bob) = try await pair(kind)
      let bytes = (0..<2_500_000).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) }
      try await ada.online {
        try await bob.online {
          let message = try ada.vault.messages.send(.file(photo(bytes)), to: "Bob")
          try await eventually("it comes", seconds: 180) {
            try bob.vault.messages.messages(unreadOnly: true).first?.state == "new"
          }
          let came = try #require(try bob.vault.messages.messages().first)
          #expect(came.kind == .photo && came.byteCount == Int64(bytes.count))
          var got: [UInt8] = []
          try bob.vault.messages.messageFile(came.number) { part in
            got += part.bytes.withUnsafeBytes { Array($0) }
          }
          #expect(got == bytes)
          try await eventually("it is confirmed") { try ada.state(message) == "delivered" }
        }
      }
    }

    @Test func `a round of a command hands over what waits and takes what has come`() async throws {
      let (ada, bob) = try await pair(.prosody)
      let message = try ada.send("hello", to: bob)
      let sending = await AccountRound.run(ada.vault, limit: .seconds(60))
      #expect(sending.problem == nil && sending.traffic.parcelsSent == 1)
      let taking = await AccountRound.run(bob.vault, limit: .seconds(60))
      #expect(taking.problem == nil && taking.traffic.parcelsTaken == 1 && taking.traffic.parcelsSent == 1)
      #expect(try bob.received(from: "Ada") == ["hello"])
      _ = await AccountRound.run(ada.vault, limit: .seconds(60)) { (try? ada.state(message)) == "delivered" }
      #expect(try ada.state(message) == "delivered")
    }

    @Test func `a round leaves the account to a daemon that runs, and does nothing without an account`() async throws {
      let (ada, bob) = try await pair(.prosody)
      let lock = try ada.takeDaemonLock()
      try ada.send("hello", to: bob)
      #expect(await AccountRound.run(ada.vault, limit: .seconds(60)).traffic == AccountReport())
      withExtendedLifetime(lock) {}
      let carol = try Person("Carol")
      let report = await AccountRound.run(carol.vault, limit: .seconds(60))
      #expect(report.problem == nil && report.traffic == AccountReport())
    }

    @Test func `a captured parcel that a stranger sends again is not acknowledged`() async throws {
      let server = try ChatServer.shared(.prosody)
      let (ada, bob) = try await pair(.prosody)
      let eve = try Person("Eve")
      try await eve.register(at: server)
      for text in ["one", "two"] { try ada.send(text, to: bob) }
      let captured = try ada.vault.post.outgoingParcels(way: .account).map(\.post)
      #expect(captured.count == 2)
      #expect(try bob.vault.intake.takeParcel(captured[0].bytes, by: ParcelArrival(way: .account)).isNew)
      try await bob.online {
        try await eventually("bob is there") { try bob.vault.accounts.currentAccount() != nil }
        let account = try #require(try eve.vault.accounts.currentAccount())
        try await eve.accounts.connected(account) { (connection) throws(XMPPError) in
          let to = try JID(bob.address)
          try await connection.announce()
          // Known, and then new: what comes first is answered first.
          for post in captured {
            try await connection.send(parcel: post.bytes, to: to, id: post.id.description)
          }
          for await event in connection.events {
            guard case .receipt(let id, _) = event else { continue }
            #expect(id == captured[1].id.description)
            break
          }
        }
      }
      #expect(try bob.received() == ["one", "two"])
      // The one that came a second time isn't counted.
      let bobs = try #require(try bob.vault.accounts.currentAccount())
      let taken = try #require(try bob.vault.accounts.accountTraffic(bobs.id)).taken
      #expect(taken.parcels == 1 && taken.bytes == Int64(captured[1].bytes.count))
    }

    @Test func `what isn't for this device, or makes no sense, is neither kept nor answered`() async throws {
      let server = try ChatServer.shared(.prosody)
      let (ada, bob) = try await pair(.prosody)
      let stranger = try Person("Eve")
      try await stranger.register(at: server)
      try await bob.online {
        try await eventually("bob is there") { try bob.vault.accounts.currentAccount() != nil }
        let account = try #require(try stranger.vault.accounts.currentAccount())
        try await stranger.accounts.connected(account) { (connection) throws(XMPPError) in
          let to = try JID(bob.address)
          try await connection.announce()
          for number in 0..<5 {
            try await connection.send(
              parcel: [UInt8](repeating: UInt8(number), count: 1000), to: to, id: "junk-\(number)")
          }
          try await connection.ping()
        }
        // What comes behind it is taken.
        let message = try ada.send("hello", to: bob)
        try await ada.online {
          try await eventually("it is confirmed") { try ada.state(message) == "delivered" }
        }
        #expect(try bob.received() == ["hello"])
      }
    }
  }
}
