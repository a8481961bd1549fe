import ChatServers
import NetLink
import SecretVault
import Testing
import VaultProtocol
import VaultStore

@testable import VaultXMPP
@testable import XMPPLink
@testable import XMPPRequests

extension AccountTests {
  /// Messages to which their sender's program gives no name.
  @Suite(.enabled(if: ChatServer.isAvailable, reason), .serialized, .timeLimit(.minutes(10)))
  struct PlainNameTests {
    private func open(_ person: Person) async throws -> AccountExchange {
      let account = try #require(try person.vault.accounts.currentAccount())
      let password = try #require(try person.vault.accounts.accountPassword(account.id))
      return try await AccountExchange.open(
        AccountRooms(person.vault), account, password: password, resource: nil, answers: true)
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `a nameless text comes once by whatever way, and the same text said again comes again`(
      _ kind: ChatServer.Kind
    ) async throws {
      let server = try ChatServer.shared(kind)
      let (ada, bob) = (try Person("Ada"), try Person("Bob"))
      for person in [ada, bob] { try await person.register(at: server) }
      _ = try ada.accounts.sendPlain(held("hello"), to: bob.address)
      let account = try #require(try bob.vault.accounts.currentAccount())
      func say(_ count: Int) async throws {
        let to = ada.address
        let connection = try await bob.otherProgram(account)
        for _ in 0..<count {
          try await connection.say { writer in
            writer.begin("message", nil, [("type", "chat"), ("to", to)])
            writer.element("body", text: "ping")
          }
        }
        try await connection.ping()
        connection.logout()
      }
      try await ada.online {
        try await eventually("ada's goes") { try ada.state(ada.vault.messages.messages()[0]) == "underway" }
        try await say(2)
        try await eventually("both come") { try ada.received() == ["ping", "ping"] }
      }
      try await say(1)
      for _ in 0..<2 {
        let report = await AccountRound.run(ada.vault, limit: .seconds(20))
        #expect(report.problem == nil)
        #expect(try ada.received() == ["ping", "ping", "ping"])
      }
    }

    @Test func `where live texts have no name at all, the archive brings none of them again`() async throws {
      let (ada, bob) = (try Person("Ada"), try Person("Bob"))
      for person in [ada, bob] { try await person.register(at: ChatServer.shared(.prosody)) }
      _ = try ada.accounts.sendPlain(held("hello"), to: bob.address)
      let from = try JID(bob.address)
      func message(_ archived: String? = nil) -> XMPPMessage {
        XMPPMessage(
          id: nil, from: from, to: nil, body: "ping", stamp: nil, wantsReceipt: false, archiveID: archived)
      }
      let first = try await open(ada)
      for _ in 0..<2 { #expect(await first.take(message(), isArchived: false)) }
      #expect(try ada.received().count == 2)
      for name in ["a", "b"] { #expect(await first.take(message(name), isArchived: true)) }
      #expect(try ada.received().count == 2)
      #expect(await first.take(message("c"), isArchived: true))
      #expect(try ada.received().count == 3)
      first.connection.close()
      let second = try await open(ada)
      for name in ["a", "b", "c"] { #expect(await second.take(message(name), isArchived: true)) }
      #expect(try ada.received().count == 3)
      #expect(await second.take(message("d"), isArchived: true))
      #expect(try ada.received().count == 4)
      second.connection.close()
      // What other connections took under names of its own isn't taken for this.
      let third = try await open(ada)
      #expect(await third.take(message("e"), isArchived: true))
      #expect(try ada.received().count == 5)
      third.connection.close()
      // Nor is what has no name at all, and comes only now.
      let fourth = try await open(ada)
      #expect(await fourth.take(message(), isArchived: false))
      #expect(try ada.received().count == 6)
      fourth.connection.close()
    }

    /// Somebody to whom bob may write, connected.
    private func reader(_ bob: Person) async throws -> (Person, AccountExchange) {
      let ada = try Person("Ada")
      for person in [ada, bob] { try await person.register(at: ChatServer.shared(.prosody)) }
      _ = try ada.accounts.sendPlain(held("hello"), to: bob.address)
      return (ada, try await open(ada))
    }

    private func message(
      _ id: String?, from: Person, _ stamp: String?, archived: String? = nil, to: Person? = nil
    ) throws -> XMPPMessage {
      XMPPMessage(
        id: id, from: try JID(from.address), to: try to.map { try JID($0.address) }, body: "ok", stamp: stamp,
        wantsReceipt: false, archiveID: archived)
    }

    @Test func `what its sender named is no repeat of what has no name`() async throws {
      let bob = try Person("Bob")
      let (ada, exchange) = try await reader(bob)
      let time = "2026-11-16T10:00:00Z"
      for _ in 0..<2 { #expect(await exchange.take(try message("5", from: bob, time), isArchived: false)) }
      #expect(try ada.received() == ["ok"])
      #expect(await exchange.take(try message(nil, from: bob, time, archived: "a"), isArchived: true))
      #expect(try ada.received() == ["ok", "ok"])
      exchange.connection.close()
    }

    @Test(arguments: [false, true])
    func `a name that its sender's program uses again later is another message`(_ isNamed: Bool) async throws {
      let bob = try Person("Bob")
      let (ada, exchange) = try await reader(bob)
      let times = ["2026-11-16T10:00:00Z", isNamed ? "2026-11-16T10:05:00Z" : "2026-11-20T10:00:00Z"]
      for _ in 0..<2 {
        for (number, time) in times.enumerated() {
          let again = try message("5", from: bob, time, archived: isNamed ? "name \(number)" : nil)
          #expect(await exchange.take(again, isArchived: isNamed))
        }
        #expect(try ada.received() == ["ok", "ok"])
      }
      exchange.connection.close()
    }

    @Test func `who has sent as much in a day as is kept keeps nothing of other days from being read`() async throws {
      let bob = try Person("Bob")
      let (ada, exchange) = try await reader(bob)
      let account = try #require(try ada.vault.accounts.currentAccount())
      let (text, sentAt) = (try held("text"), try #require(AccountStamp.milliseconds("2026-11-16T09:00:00Z")))
      for number in 0..<Messages.plainDayLimit {
        let id = [UInt8](repeating: 0, count: 14) + [UInt8(number >> 8), UInt8(number & 255)]
        let one = PlainMessage(id: id, contact: bob.address, isMine: false, text: text, sentAt: sentAt)
        #expect(try ada.vault.messages.keepPlain(one, account: account.id) != nil)
      }
      #expect(await exchange.take(try message("5", from: bob, "2026-11-16T10:00:00Z"), isArchived: true))
      // Its sender may have chosen this time.
      #expect(await exchange.take(try message("6", from: bob, "2026-11-18T10:00:00Z"), isArchived: false))
      #expect(try ada.received().contains("ok") == false)
      #expect(await exchange.take(try message("7", from: bob, "2026-11-17T10:00:00Z"), isArchived: true))
      #expect(try ada.received().contains("ok"))
      exchange.connection.close()
    }

    @Test func `two devices with one name at the server don't push each other out for ever`() async throws {
      let ada = try Person("Ada")
      try await ada.register(at: try ChatServer.shared(.prosody))
      let account = try #require(try ada.vault.accounts.currentAccount())
      let password = try #require(try ada.vault.accounts.accountPassword(account.id))
      let lock = try ada.takeDaemonLock()
      try await ada.online {
        try await eventually("it is connected") { try ada.vault.accounts.accountConnection()?.state == .connected }
        let other = try await NetHelper.shared.connect(
          account.place, password: password.bytes, resource: account.resource)
        try await eventually("it takes another name") {
          guard let now = try ada.vault.accounts.currentAccount() else { return false }
          return now.resource != account.resource
        }
        try await eventually("it is connected again") {
          try ada.vault.accounts.accountConnection()?.state == .connected
        }
        try await other.ping()
        other.close()
      }
      withExtendedLifetime(lock) {}
    }
  }
}
