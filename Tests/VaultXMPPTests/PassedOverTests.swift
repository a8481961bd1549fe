import ChatServers
import SecretVault
import Testing
import VaultProtocol
import VaultStore

@testable import VaultXMPP
@testable import XMPPRequests

extension AccountTests {
  /// What is counted of texts that aren't kept.
  @Suite(.enabled(if: ChatServer.isAvailable, reason), .serialized, .timeLimit(.minutes(10)))
  struct PassedOverTests {
    private let (ada, eve): (Person, Person)

    init() async throws {
      (ada, eve) = (try Person("Ada"), try Person("Eve"))
      try await ada.register(at: try ChatServer.shared(.prosody))
    }

    private var account: AccountRecord { get throws { try #require(try ada.vault.accounts.currentAccount()) } }
    private var passedOver: Int64? { get throws { try ada.vault.accounts.accountTraffic(account.id)?.passedOver } }

    /// A text of eve's comes, at once or from the archive.
    private func hear(
      _ exchange: AccountExchange, _ id: String?, archived: String? = nil, isArchived: Bool = false
    ) async throws {
      let text = XMPPMessage(
        id: id, from: try JID(eve.address), to: nil, body: "buy this", stamp: nil, wantsReceipt: false,
        archiveID: archived)
      #expect(await exchange.take(text, isArchived: isArchived))
    }

    /// A connection of ada's while which only `body` runs.
    private func connection(_ body: (AccountExchange) async throws -> Void) async throws {
      let account = try account
      let password = try #require(try ada.vault.accounts.accountPassword(account.id))
      let exchange = try await AccountExchange.open(
        AccountRooms(ada.vault), account, password: password, resource: nil, answers: true)
      defer { exchange.connection.close() }
      try await body(exchange)
      exchange.count()
    }

    @Test func `one text counts once, whichever connections hear of it`() async throws {
      try await connection { exchange in
        try await hear(exchange, "5", archived: "a")
        try await hear(exchange, "5", archived: "a", isArchived: true)
      }
      #expect(try passedOver == 1)
      for _ in 0..<2 {
        try await connection { exchange in
          try await hear(exchange, "5", archived: "a", isArchived: true)
          #expect(exchange.report.passedOver == 0)
        }
      }
      #expect(try passedOver == 1)
      try await connection { exchange in try await hear(exchange, "6", archived: "b", isArchived: true) }
      #expect(try passedOver == 2)
      let id = try account.id
      #expect(try !ada.vault.accounts.passedTexts(id).isEmpty)
      _ = try ada.accounts.logout(nil, forgets: true)
      #expect(try ada.vault.accounts.passedTexts(id).isEmpty)
    }

    @Test func `what is here isn't passed over when its sender may write no more`() async throws {
      let (id, address) = (try account.id, eve.address)
      try ada.vault.accounts.keepFriend(id, address) { $0.asks = true }
      try await connection { exchange in
        try await hear(exchange, "5", archived: "a")
        try await hear(exchange, nil, archived: "b")
      }
      for blocks in [true, false] {
        if blocks {
          try ada.vault.accounts.blockContact(id, address)
        } else {
          try ada.vault.accounts.changeFriend(id, address) { $0 = nil }
        }
        try await connection { exchange in
          try await hear(exchange, "5", archived: "a", isArchived: true)
          try await hear(exchange, nil, archived: "b", isArchived: true)
        }
      }
      #expect(try ada.received().count == 2)
      #expect(try passedOver == 0)
    }

    @Test(arguments: [false, true])
    func `a text whose sender asks later is kept, and isn't counted any more`(_ isOtherConnection: Bool) async throws {
      let (id, address) = (try account.id, eve.address)
      try await connection { exchange in
        try await hear(exchange, "5", archived: "a")
        exchange.count()
        #expect(try passedOver == 1)
        guard !isOtherConnection else { return }
        try ada.vault.accounts.keepFriend(id, address) { $0.asks = true }
        await exchange.takeHeld(of: try JID(address))
      }
      if isOtherConnection {
        try ada.vault.accounts.keepFriend(id, address) { $0.asks = true }
        try await connection { exchange in
          try await hear(exchange, "5", archived: "a", isArchived: true)
        }
      }
      #expect(try ada.received() == ["buy this"])
      let traffic = try #require(try ada.vault.accounts.accountTraffic(id))
      #expect(traffic.passedOver == 0 && traffic.taken.texts == 1)
    }
  }
}
