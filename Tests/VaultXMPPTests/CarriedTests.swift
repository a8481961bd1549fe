import ChatServers
import Courier
import SecretVault
import Testing
import VaultProtocol

@testable import VaultXMPP

extension AccountTests {
  /// A carrier whose account reaches somebody whom it doesn't meet.
  @Suite(.enabled(if: ChatServer.isAvailable, reason), .serialized, .timeLimit(.minutes(10)))
  struct CarriedTests {
    /// Ada, who doesn't know where Cy is, Bob, who does and carries, and Cy.
    private func people(_ kind: ChatServer.Kind) async throws -> (Person, Person, Person) {
      let server = try ChatServer.shared(kind)
      let (ada, bob, cy) = (try Person("Ada"), try Person("Bob"), try Person("Cy"))
      for (one, other) in [(ada, bob), (bob, cy), (ada, cy)] { try one.meet(other) }
      for person in [ada, bob, cy] { try await person.register(at: server) }
      try bob.vault.accounts.setAccountAddress("Cy", to: cy.address)
      return (ada, bob, cy)
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `a carrier's account brings another's parcels, once each, and the sender hears by whom`(
      _ kind: ChatServer.Kind
    ) async throws {
      let (ada, bob, cy) = try await people(kind)
      try cy.vault.accounts.setAccountAddress("Bob", to: bob.address)
      let message = try ada.send("by Bob", to: cy)
      try ada.hand(to: bob)
      try await cy.online {
        try await bob.online {
          try await eventually("it comes", seconds: 180) { try cy.received() == ["by Bob"] }
          try await eventually("it is noted") { try bob.waitingForServers() == 0 }
          try await eventually("the receipt goes") { try cy.hasSentAll(receipts: 1) }
          let came = try #require(try cy.vault.messages.messages().first)
          #expect(came.route == "account" && came.hops == 1 && came.carriers == ["Bob"])
          try await ada.online {
            try await eventually("the receipt comes", seconds: 180) { try ada.state(message) == "delivered" }
          }
          #expect(try ada.vault.messages.message(message.number).carriers == ["Bob"])
          #expect(try ada.vault.carrying.carryStatus().account.sentByCarriers == 1)
          // Another one behind it comes, and nothing twice.
          try ada.send("again by Bob", to: cy)
          try ada.hand(to: bob)
          try await eventually("the other comes", seconds: 180) { try cy.received().count == 2 }
        }
      }
      #expect(try cy.received() == ["by Bob", "again by Bob"])
      #expect(try bob.vault.carrying.carryStatus().encounters.contains { $0.isNetwork })
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `what is cut into parts keeps its carrier's word`(_ kind: ChatServer.Kind) async throws {
      let (ada, bob, cy) = try await people(kind)
      let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) }
      let sent = try ada.vault.messages.send(.file(photo(bytes)), to: "Cy")
      try ada.hand(to: bob)
      try await cy.online {
        try await bob.online {
          try await eventually("it comes", seconds: 180) {
            try cy.vault.messages.messages(unreadOnly: true).first?.state == "new"
          }
          try await eventually("the receipts go") { try cy.hasSentAll(receipts: 1) }
        }
        try await ada.online {
          try await eventually("the receipt comes", seconds: 180) { try ada.state(sent) == "delivered" }
        }
      }
      #expect(try ada.vault.messages.message(sent.number).route == "carriers")
      // Bob isn't known to Cy by his address, but his copy says that it was carried.
      let came = try #require(try cy.vault.messages.messages().first)
      #expect(came.hops == 1 && came.carriers.isEmpty && came.byteCount == Int64(bytes.count))
    }

    @Test func `what wants no server isn't given to one, also by a round of a command`() async throws {
      let (ada, bob, cy) = try await people(.prosody)
      _ = try ada.vault.messages.send(.text(held("hidden")), to: "Cy", pigeonsOnly: true)
      try ada.send("open", to: cy)
      try ada.hand(to: bob)
      for person in [bob, cy] { #expect(await AccountRound.run(person.vault, limit: .seconds(20)).problem == nil) }
      // What was left there has gone by the account.
      let account = try #require(try bob.vault.accounts.currentAccount())
      let sent = try #require(try bob.vault.accounts.accountTraffic(account.id)).sent
      #expect(try sent.parcels == 1 && bob.carriedSizes().contains(Int(sent.bytes)))
      try await cy.online {
        try await eventually("the other comes", seconds: 180) { try cy.received() == ["open"] }
      }
      #expect(try bob.vault.carrying.carryStatus().carried == 2)
      #expect(try bob.waitingForServers() == 0)
      #expect(try cy.received() == ["open"])
    }

    @Test(arguments: ChatServer.Kind.allCases)
    func `what comes back undelivered doesn't count as left, and is left again some time`(
      _ kind: ChatServer.Kind
    ) async throws {
      let (ada, bob, cy) = try await people(kind)
      try bob.vault.accounts.setAccountAddress("Cy", to: "nobody-\(cy.address)")
      try bob.outlastMidnight()
      try ada.send("where to", to: cy)
      try ada.hand(to: bob)
      let before = try bob.vault.carrying.carryStatus().leftToday
      let memory = SendingMemory()
      for _ in 0..<2 {
        try await bob.exchanging(memory) { exchange in
          try await eventually("it has come back") {
            try exchange.hasLookedForBoth && memory.resting(at: exchange.now).count == 1 && bob.waitingForServers() == 1
          }
        }
      }
      // It has cost its bytes, once.
      let cost = try #require(try bob.carriedSizes().first)
      #expect(try before - bob.vault.carrying.carryStatus().leftToday == cost)
    }
  }
}
