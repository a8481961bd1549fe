import ChatServers
import SecretVault
import Testing
import VaultStore

@testable import VaultXMPP
@testable import XMPPRequests

extension AccountTests {
  @Suite(.enabled(if: ChatServer.isAvailable, reason), .serialized, .timeLimit(.minutes(10)))
  struct FriendTests {
    @Test(arguments: ChatServer.Kind.allCases)
    func `a friend is asked, accepts, is seen to come and go, and is removed`(_ kind: ChatServer.Kind) async throws {
      let server = try ChatServer.shared(kind)
      let (ada, bob) = (try Person("Ada"), try Person("Bob"))
      for person in [ada, bob] { try await person.register(at: server) }
      let lock = try ada.takeDaemonLock()
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
      let account = try #require(try ada.vault.accounts.currentAccount()).id
      func contact(_ name: String, _ subscription: XMPPContact.Subscription) throws -> XMPPContact {
        XMPPContact(address: try JID("\(name)@localhost"), name: nil, subscription: subscription, isAsking: false)
      }
      func subscriptions() throws -> [FriendRecord.Subscription] {
        try ada.vault.accounts.friendRecords(account).sorted { $0.address < $1.address }.map(\.subscription)
      }
      try ada.vault.accounts.keepFriend(account, "bob@localhost") { $0.asks = true }
      let before = try ada.vault.accounts.friendRecords(account)
      // While a command accepts Bob, he accepts too, and Cy becomes a friend.
      for name in ["bob", "cy"] { try ada.vault.accounts.keepContact(account, try contact(name, .both)) }
      try ada.vault.accounts.keepRoster(account, [try contact("bob", .from)], since: before, stays: false)
      #expect(try subscriptions() == [.both, .both])
      // Where nobody has listened, the answer counts.
      let known = try ada.vault.accounts.friendRecords(account)
      try ada.vault.accounts.keepRoster(account, [try contact("bob", .from)], since: known, stays: false)
      #expect(try subscriptions() == [.from])
    }

    @Test(arguments: [true, false])
    func `who is removed or blocked while the server answers stays so`(_ stays: Bool) async throws {
      let ada = try Person("Ada")
      try await ada.register(at: try ChatServer.shared(.prosody))
      let account = try #require(try ada.vault.accounts.currentAccount()).id
      let addresses = ["bob@localhost", "cy@localhost"]
      let contacts = try addresses.map {
        XMPPContact(address: try JID($0), name: nil, subscription: .both, isAsking: false)
      }
      for contact in contacts { try ada.vault.accounts.keepContact(account, contact) }
      let before = try ada.vault.accounts.friendRecords(account)
      try ada.vault.accounts.blockContact(account, addresses[0])
      try ada.vault.accounts.changeFriend(account, addresses[1]) { $0 = nil }
      // Whoever stays connected hears by itself that Cy was removed.
      let answer = stays ? [contacts[0]] : contacts
      try ada.vault.accounts.keepRoster(account, answer, since: before, stays: stays)
      #expect(try ada.vault.accounts.friendRecords(account).map(\.subscription) == [.blocked])
      // An answer that doesn't name whoever was blocked or has asked since forgets neither.
      try ada.vault.accounts.keepFriend(account, addresses[1]) { $0.asks = true }
      try ada.vault.accounts.keepRoster(account, [], since: before, stays: stays)
      #expect(try ada.vault.accounts.friendRecords(account).count == 2)
      // Added again by another program.
      let known = try ada.vault.accounts.friendRecords(account)
      try ada.vault.accounts.keepRoster(account, contacts, since: known, stays: stays)
      #expect(try ada.vault.accounts.friendRecords(account).map(\.subscription) == [.both, .both])
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
      #expect { try bob.vault.accounts.setAccountAddress("Nobody", to: nil) } throws: {
        VaultError(known: $0)?.code == .notFound
      }
    }

    @Test func `nobody can be accepted who hasn't asked`() async throws {
      let ada = try Person("Ada")
      try await ada.register(at: try ChatServer.shared(.prosody))
      await #expect {
        try await ada.accounts.acceptFriend("bob@localhost", name: nil, peer: nil)
      } throws: {
        VaultError(known: $0)?.code == .notFound
      }
    }

    @Test func `a friend who is a peer is written to sealed, until it is removed`() async throws {
      let server = try ChatServer.shared(.prosody)
      let (ada, bob) = (try Person("Ada"), try Person("Bob"))
      try ada.meet(bob)
      try await ada.register(at: server)
      let friend = try await ada.accounts.addFriend(bob.address, name: nil, peer: "Bob")
      #expect(friend.peer == "Bob")
      let digest = try ada.vault.accounts.peerDigest("Bob")
      #expect(try ada.vault.accounts.accountAddress(of: digest) == bob.address)
      #expect(try ada.vault.accounts.peer(at: bob.address)?.name == "Bob")
      try await ada.accounts.removeFriend(bob.address)
      #expect(try ada.vault.accounts.accountAddress(of: digest) == nil)
    }
  }
}
