import ChatServers
import SecretVault
import Testing

@testable import VaultXMPP

extension AccountTests {
  @Suite(.enabled(if: ChatServer.isAvailable, reason), .serialized, .timeLimit(.minutes(10)))
  struct LoginTests {
    @Test(arguments: ChatServer.Kind.allCases)
    func `an account is made, logged out of, and logged in to again`(_ kind: ChatServer.Kind) async throws {
      let server = try ChatServer.shared(kind)
      let ada = try Person("Ada")
      #expect(try ada.accounts.list() == [])
      #expect(try await ada.register(at: server).state == .current)
      #expect(try ada.accounts.logout(nil, forgets: false) == ada.address)
      #expect(try ada.accounts.list().map(\.state) == [.loggedOut])
      #expect { try ada.accounts.use(ada.address) } throws: { VaultError(known: $0)?.code == .refused }
      let again = try await ada.accounts.login(ada.address, at: .init(server), password: secret(ada.local))
      #expect(again.state == .current)
      // Where the server is was said once.
      _ = try ada.accounts.logout(nil, forgets: false)
      let third = try await ada.accounts.login(ada.address, at: .init(), password: secret(ada.local))
      #expect(third.state == .current && third.port == Int(server.port) && third.certificates == server.certificates)
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `a wrong password is refused, and changes nothing here`(_ kind: ChatServer.Kind) async throws {
      let server = try ChatServer.shared(kind)
      let ada = try Person("Ada")
      try await ada.register(at: server)
      let before = try ada.accounts.list()
      await #expect {
        try await ada.accounts.login(ada.address, at: .init(server), password: secret("wrong"))
      } throws: {
        VaultError(known: $0)?.code == .refused
      }
      #expect(try ada.accounts.list() == before)
      let bob = try Person("Bob")
      await #expect {
        try await bob.accounts.login(ada.address, at: .init(server), password: secret("wrong"))
      } throws: {
        VaultError(known: $0)?.code == .refused
      }
      #expect(try bob.accounts.list() == [])
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `a new password replaces the old one at the server and here`(_ kind: ChatServer.Kind) async throws {
      let server = try ChatServer.shared(kind)
      let ada = try Person("Ada")
      try await ada.register(at: server)
      _ = try await ada.accounts.changePassword(nil, to: held("another one"))
      await #expect {
        try await ada.accounts.login(ada.address, at: .init(server), password: secret(ada.local))
      } throws: {
        VaultError(known: $0)?.code == .refused
      }
      // By what is kept here.
      #expect(try await ada.accounts.addFriend("bob@localhost", name: nil, peer: nil).address == "bob@localhost")
    }

    @Test func `of two accounts one is in use, and the other's friends don't show`() async throws {
      let ada = try Person("Ada")
      try await ada.register(at: try ChatServer.shared(.prosody))
      _ = try await ada.accounts.addFriend("bob@localhost", name: "Bob", peer: nil)
      let other = "other-" + ada.address
      _ = try await ada.accounts.register(
        other, at: .init(try ChatServer.shared(.ejabberd)), password: secret("other"))
      #expect(Set(try ada.accounts.list().map(\.state)) == [.current, .other])
      #expect(try ada.accounts.friends() == [])
      #expect(try ada.accounts.use(ada.address).state == .current)
      #expect(try ada.accounts.friends().map(\.name) == ["Bob"])
      #expect(try ada.accounts.friends(search: "BO").count == 1)
      #expect(try ada.accounts.friends(search: "carol").isEmpty)
    }

    @Test func `an account that is forgotten leaves nothing behind`() async throws {
      let ada = try Person("Ada")
      try await ada.register(at: try ChatServer.shared(.prosody))
      _ = try await ada.accounts.addFriend("bob@localhost", name: "Bob", peer: nil)
      _ = try ada.accounts.sendPlain(held("hello"), to: "bob@localhost")
      let id = try #require(try ada.vault.accounts.currentAccount()?.id)
      _ = try ada.accounts.logout(nil, forgets: true)
      #expect(try ada.accounts.list() == [])
      #expect(try ada.vault.accounts.accountPassword(id) == nil)
      #expect(try ada.vault.accounts.friendRecords(id) == [])
      #expect(try ada.vault.messages.messages().isEmpty)
    }

    @Test func `addresses and places that can't be used are refused before anything is said`() async throws {
      let ada = try Person("Ada")
      for wrong in ["", "ada", "@example.org", "ada@", "ada@example.org/phone", "a b@example.org"] {
        await #expect {
          try await ada.accounts.login(wrong, at: .init(), password: secret("any"))
        } throws: {
          VaultError(known: $0)?.code == .usage
        }
      }
      #expect(try ada.accounts.list() == [])
    }
  }
}
