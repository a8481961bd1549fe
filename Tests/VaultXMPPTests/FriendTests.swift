import ChatServers
import SecretVault
import Testing
import VaultStore

@testable import VaultXMPP
@testable import XMPPLink

extension AccountTests {
  @Suite(.enabled(if: ChatServer.isAvailable, reason), .serialized, .timeLimit(.minutes(10)))
  struct FriendTests {
    @Test(arguments: ChatServer.Kind.allCases)
    func `a friend is asked, accepts, is seen to come and go, and is removed`(_ kind: ChatServer.Kind) async throws {
      let server = try ChatServer.shared(kind)
      let (ada, bob) = (try Person("Ada"), try Person("Bob"))
      for person in [ada, bob] { try await person.register(at: server) }
      let lock = try ada.vault.takeDaemonLock(DaemonFacts(process: 1, startedAt: 0, listening: []))
      defer { withExtendedLifetime(lock) {} }
      let asked = try await ada.accounts.addFriend(bob.address, name: "Bobby", peer: nil)
      #expect(asked.subscription == "none" && asked.name == "Bobby")
      try await ada.online {
        try await bob.online {
          try await eventually("bob is asked") { try bob.accounts.friends().contains { $0.asks } }
          _ = try await bob.accounts.acceptFriend(ada.address, name: nil, peer: nil)
          // Ada has asked, so her account accepts in turn without a word of hers.
          try await eventually("both are friends") {
            try ada.accounts.friends().first?.subscription == "both"
              && bob.accounts.friends().first?.subscription == "both"
          }
          try await eventually("ada sees bob") { try ada.accounts.friends().first?.presence == "available" }
        }
        try await eventually("ada sees bob go") { try ada.accounts.friends().first?.presence == nil }
        #expect(try ada.accounts.friends().first?.name == "Bobby")
        // Asked again without a name, it keeps the one it has.
        #expect(try await ada.accounts.addFriend(bob.address, name: nil, peer: nil).name == "Bobby")
        try await ada.accounts.removeFriend(bob.address)
        #expect(try ada.accounts.friends().map(\.subscription) == ["blocked"])
      }
    }

    @Test func `what a command is answered undoes nothing that was told to somebody who listens`() async throws {
      let ada = try Person("Ada")
      try await ada.register(at: try ChatServer.shared(.prosody))
      let account = try #require(try ada.vault.currentAccount()).id
      func contact(_ name: String, _ subscription: XMPPContact.Subscription) throws -> XMPPContact {
        XMPPContact(address: try JID("\(name)@localhost"), name: nil, subscription: subscription, isAsking: false)
      }
      func subscriptions() throws -> [FriendRecord.Subscription] {
        try ada.vault.friendRecords(account).sorted { $0.address < $1.address }.map(\.subscription)
      }
      try ada.vault.keepFriend(account, "bob@localhost") { $0.asks = true }
      let before = try ada.vault.friendRecords(account)
      // While a command accepts Bob, he accepts too, and Cy becomes a friend.
      for name in ["bob", "cy"] { try ada.vault.keepContact(account, try contact(name, .both)) }
      try ada.vault.keepRoster(account, [try contact("bob", .from)], unlessChangedSince: before)
      #expect(try subscriptions() == [.both, .both])
      // Where nobody has listened, the answer counts.
      let known = try ada.vault.friendRecords(account)
      try ada.vault.keepRoster(account, [try contact("bob", .from)], unlessChangedSince: known)
      #expect(try subscriptions() == [.from])
    }

    @Test func `who is asked back while away has accepted at the next look, and waits for nobody`() async throws {
      let server = try ChatServer.shared(.ejabberd)
      let (ada, bob) = (try Person("Ada"), try Person("Bob"))
      for person in [ada, bob] { try await person.register(at: server) }
      _ = try await ada.accounts.addFriend(bob.address, name: nil, peer: nil)
      try await bob.online {
        try await eventually("bob is asked") { try bob.accounts.friends().contains { $0.asks } }
        _ = try await bob.accounts.acceptFriend(ada.address, name: nil, peer: nil)
        try await ada.online {
          try await eventually("both are friends") {
            try ada.accounts.friends().map(\.asks) == [false] && bob.accounts.friends().first?.subscription == "both"
          }
        }
      }
    }

    @Test func `who asks first isn't accepted by itself`() async throws {
      let server = try ChatServer.shared(.prosody)
      let (ada, bob) = (try Person("Ada"), try Person("Bob"))
      for person in [ada, bob] { try await person.register(at: server) }
      _ = try await ada.accounts.addFriend(bob.address, name: nil, peer: nil)
      try await bob.online {
        try await eventually("bob is asked") { try bob.accounts.friends().contains { $0.asks } }
        try await ada.online { try await eventually("ada is online") { try ada.accounts.friends().count == 1 } }
        #expect(try bob.accounts.friends().map(\.asks) == [true])
      }
    }

    @Test func `who isn't wanted is refused, and is no friend`() async throws {
      let server = try ChatServer.shared(.prosody)
      let (ada, bob) = (try Person("Ada"), try Person("Bob"))
      for person in [ada, bob] { try await person.register(at: server) }
      _ = try await ada.accounts.addFriend(bob.address, name: nil, peer: nil)
      try await bob.online {
        try await eventually("bob is asked") { try bob.accounts.friends().contains { $0.asks } }
        try await bob.accounts.removeFriend(ada.address)
        #expect(try bob.accounts.friends().map(\.subscription) == ["blocked"])
      }
      #expect { try bob.vault.setAccountAddress("Nobody", to: nil) } throws: {
        ($0 as? VaultError)?.code == .notFound
      }
    }

    @Test func `nobody can be accepted who hasn't asked`() async throws {
      let ada = try Person("Ada")
      try await ada.register(at: try ChatServer.shared(.prosody))
      await #expect {
        try await ada.accounts.acceptFriend("bob@localhost", name: nil, peer: nil)
      } throws: {
        ($0 as? VaultError)?.code == .notFound
      }
    }

    @Test func `a friend who is a peer is written to sealed, until it is removed`() async throws {
      let server = try ChatServer.shared(.prosody)
      let (ada, bob) = (try Person("Ada"), try Person("Bob"))
      try ada.meet(bob)
      try await ada.register(at: server)
      let friend = try await ada.accounts.addFriend(bob.address, name: nil, peer: "Bob")
      #expect(friend.peer == "Bob")
      let digest = try ada.vault.peerDigest("Bob")
      #expect(try ada.vault.accountAddress(of: digest) == bob.address)
      #expect(try ada.vault.peer(at: bob.address)?.name == "Bob")
      try await ada.accounts.removeFriend(bob.address)
      #expect(try ada.vault.accountAddress(of: digest) == nil)
    }
  }
}
