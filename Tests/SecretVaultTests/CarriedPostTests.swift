import Sodium
import Testing
import VaultProtocol
import VaultStore

@testable import Courier
@testable import SecretVault

extension VaultTests {
  /// What carriers leave at servers, and what its recipients make of it.
  @Suite struct CarriedPosts {
    let world: TestWorld

    init() throws { world = try TestWorld(3) }

    private var ada: Member { world[0] }
    private var ben: Member { world[1] }
    private var cleo: Member { world[2] }

    private func address(_ member: Member) -> String { "\(member.name)@example.org" }

    /// Ben carries something of Ada's for Cleo, whose address he knows.
    private func carry(_ text: String = "through you", pigeonsOnly: Bool = false) async throws -> MessageSummary {
      let sent = try ada.say(text, to: cleo, pigeonsOnly: pigeonsOnly)
      #expect(try await ada.meet(ben).given == 1)
      try logIn(ben, friends: cleo)
      return sent
    }

    private func logIn(_ member: Member, friends: Member...) throws {
      try member.vault.logIn(
        address(member), friends: Dictionary(friends.map { ($0, address($0)) }, uniquingKeysWith: { first, _ in first })
      )
    }

    /// What Ben leaves at his server now.
    private func left() throws -> [CarriedPost] {
      var search = CarriedSearch()
      return try ben.vault.meetings.carriedForAccounts(&search)
    }

    /// Cleo takes it as her account brings it.
    private func take(_ post: CarriedPost, from carrier: Member? = nil) throws {
      let from = carrier?.vault.core.identity.keys.digest
      let arrival = ParcelArrival(way: .account, from: from, hops: post.hops, branch: post.branch)
      #expect(try cleo.vault.intake.takeParcel(post.post.bytes, by: arrival).isTaken)
    }

    /// Cleo's receipts come to Ada by their accounts.
    private func confirm() throws {
      try logIn(cleo, friends: ada)
      let receipts = try cleo.vault.handOverToAccount()
      #expect(receipts.count == 1)
      for bytes in receipts { _ = try ada.vault.intake.takeParcel(bytes, by: ParcelArrival(way: .account)) }
    }

    // MARK: - What is left

    @Test func `a carrier leaves at a server what it carries for a peer, who tells the sender which carrier it was`()
      async throws
    {
      let sent = try await carry()
      let posts = try left()
      let post = try #require(posts.first)
      #expect(posts.count == 1 && post.recipient == cleo.vault.core.identity.keys.digest)
      #expect(post.branch == 0 && post.hops == 1)
      try take(post, from: ben)
      #expect(try cleo.texts() == ["through you"])
      let arrived = try #require(try cleo.received().first)
      #expect(arrived.route == "account" && arrived.hops == 1 && arrived.carriers == ["ben"])
      try confirm()
      let now = try ada.vault.messages.message(sent.number)
      #expect(now.state == "delivered" && now.route == "carriers" && now.carriers == ["ben"])
      #expect(try ada.vault.carrying.carryStatus().account.sentByCarriers == 1)
    }

    @Test func `of two carriers the one is named that has brought it`() async throws {
      let world = try TestWorld(4)
      let (ada, ben, cleo, dan) = (world[0], world[1], world[2], world[3])
      let sent = try ada.say("by two", to: cleo)
      for carrier in [dan, ben] { #expect(try await ada.meet(carrier).given == 1) }
      try ben.vault.logIn("ben@example.org", friends: [cleo: "cleo@example.org"])
      var search = CarriedSearch()
      let post = try #require(try ben.vault.meetings.carriedForAccounts(&search).first)
      #expect(post.branch == 1)
      let arrival = ParcelArrival(way: .account, hops: post.hops, branch: post.branch)
      _ = try cleo.vault.intake.takeParcel(post.post.bytes, by: arrival)
      try cleo.vault.logIn("cleo@example.org", friends: [ada: "ada@example.org"])
      for bytes in try cleo.vault.handOverToAccount() {
        _ = try ada.vault.intake.takeParcel(bytes, by: ParcelArrival(way: .account))
      }
      #expect(try ada.vault.messages.message(sent.number).state == "delivered")
      let records = try ada.vault.carrying.readCourier().records
      let now = world.clock.now
      #expect(
        records.belief(in: try ben.vault.carrying.ownDevice(), at: now)
          > records.belief(in: try dan.vault.carrying.ownDevice(), at: now))
    }

    @Test func `a server gets a parcel once, and it is carried on until there is a receipt`() async throws {
      _ = try await carry()
      let posts = try left()
      let before = try ben.vault.carrying.carryStatus().leftToday
      try ben.vault.meetings.carriedWereLeft(posts.map(\.copy))
      #expect(try left().isEmpty)
      #expect(try ben.carried().map(\.isDeposited) == [true])
      #expect(try ben.vault.carrying.carryStatus().leftToday == before - posts[0].post.bytes.count)
      try take(posts[0], from: ben)
      try await ben.meet(cleo)
      #expect(try cleo.texts() == ["through you"])
      // What he carries for Cleo now is a receipt.
      #expect(try !ben.carried().map(\.header.id.bytes).contains(posts[0].post.id.bytes))
    }

    @Test func `what came back is left once more, and has cost its bytes each time`() async throws {
      _ = try await carry()
      let copies = try left().map(\.copy)
      let (before, size) = (try ben.vault.carrying.carryStatus().leftToday, try left()[0].post.bytes.count)
      for round in 1...2 {
        try ben.vault.meetings.carriedWereLeft(copies)
        #expect(try left().isEmpty)
        #expect(try ben.vault.carrying.carryStatus().leftToday == before - round * size)
        try ben.vault.meetings.carriedCameBack(copies)
        #expect(try left().map(\.copy) == copies)
      }
    }

    @Test func `what is large is left at no server, nor what it is asked to be kept from`() async throws {
      _ = try await carry()
      let first = try #require(try left().first)
      let small = first.post
      let bytes = (0..<1_100_000).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) }
      try ada.vault.send(file: bytes, to: "cleo")
      #expect(try await ada.meet(ben).given == 2)
      // A part of a photo is left; what is larger, as a share can be, is not.
      #expect(
        try ben.carried().contains {
          $0.header.size > 1 << 20 && $0.header.size <= SecretVault.Meetings.carriedByteLimit
        })
      var search = CarriedSearch()
      #expect(try ben.vault.meetings.carriedForAccounts(&search, bytes: small.bytes.count - 1).isEmpty)
      #expect(
        try ben.vault.meetings.carriedForAccounts(&search, except: [first.copy]).allSatisfy { $0.post.id != small.id })
      // Only so much is left at a time, in the order of the ids.
      var sizes: [Int] = []
      for _ in 0..<3 {
        let posts = try left()
        sizes += posts.map(\.post.bytes.count)
        try ben.vault.meetings.carriedWereLeft(posts.map(\.copy))
      }
      #expect(sizes.contains { $0 > 1 << 20 })
    }

    @Test func `what wasn't noted as left is asked for again, and shown once`() async throws {
      _ = try await carry()
      for _ in 0..<3 { try take(try #require(try left().first), from: ben) }
      #expect(try cleo.texts() == ["through you"])
    }

    @Test func `an address that becomes known later is found`() async throws {
      try ada.say("later", to: cleo)
      try await ada.meet(ben)
      try logIn(ben)
      var search = CarriedSearch()
      for _ in 0..<2 { #expect(try ben.vault.meetings.carriedForAccounts(&search).isEmpty) }
      try logIn(ben, friends: ada)
      #expect(try ben.vault.meetings.carriedForAccounts(&search).isEmpty)
      try logIn(ben, friends: cleo)
      #expect(try ben.vault.meetings.carriedForAccounts(&search).count == 1)
      try ben.vault.accounts.setAccountAddress("cleo", to: nil)
      #expect(try ben.vault.meetings.carriedForAccounts(&search).isEmpty)
    }

    @Test func `what can't be left holds up nothing that can be`() async throws {
      let world = try TestWorld(4)
      let (ada, ben, cleo, dan) = (world[0], world[1], world[2], world[3])
      for number in 0..<70 { try ada.say("number \(number)", to: dan) }
      try ada.say("for Cleo", to: cleo)
      #expect(try await ada.meet(ben).given == 71)
      try ben.vault.logIn("ben@example.org", friends: [cleo: "cleo@example.org"])
      var search = CarriedSearch()
      #expect(
        try ben.vault.meetings.carriedForAccounts(&search).map(\.recipient) == [cleo.vault.core.identity.keys.digest])
      try ben.vault.accounts.setAccountAddress("dan", to: "dan@example.org")
      var count = 0
      while case let posts = try ben.vault.meetings.carriedForAccounts(&search), !posts.isEmpty {
        #expect(posts.count <= 64)
        count += posts.count
        try ben.vault.meetings.carriedWereLeft(posts.map(\.copy))
      }
      #expect(count == 71)
    }

    @Test func `what was damaged isn't left, and holds up nothing`() async throws {
      for text in ["one", "two"] { try ada.say(text, to: cleo) }
      try await ada.meet(ben)
      try logIn(ben, friends: cleo)
      let id = try #require(try left().first?.post.id)
      try ben.execute("UPDATE carried SET content = zeroblob(length(content)) WHERE id = x'\(id)'")
      #expect(try left().map(\.post.id).contains(id) == false)
      #expect(try left().count == 1)
      #expect(try ben.carried().count == 1)
    }

    // MARK: - What isn't

    @Test(arguments: [true, false])
    func `what is for pigeons only is left at no server by any carrier`(bySetting: Bool) async throws {
      if bySetting { _ = try ada.vault.core.set("pigeons-only", to: "on") }
      _ = try await carry(pigeonsOnly: !bySetting)
      #expect(try ben.carried().map(\.header.allowsServers) == [false])
      #expect(try left().isEmpty)
      // Nor by one that has it from him.
      #expect(try await ben.meet(cleo).handedOver == 1)
      #expect(try cleo.texts() == ["through you"])
    }

    @Test func `the next carrier knows, too, which servers may have`() async throws {
      let world = try TestWorld(4)
      let (ada, ben, cleo, dan) = (world[0], world[1], world[2], world[3])
      try await dan.meet(cleo)
      try ada.say("open", to: cleo)
      try ada.say("hidden", to: cleo, pigeonsOnly: true)
      #expect(try await ada.meet(ben).given == 2)
      #expect(try await ben.meet(dan).given == 2)
      try dan.vault.logIn("dan@example.org", friends: [cleo: "cleo@example.org"])
      var search = CarriedSearch()
      let posts = try dan.vault.meetings.carriedForAccounts(&search)
      #expect(posts.count == 1 && posts[0].hops == 2)
      _ = try cleo.vault.intake.takeParcel(posts[0].post.bytes, by: ParcelArrival(way: .account, hops: 2, branch: 0))
      #expect(try cleo.texts() == ["open"])
    }

    @Test(arguments: [("pigeons-only", "on"), ("carry", "off"), ("carry-day", "1K")])
    func `a carrier leaves nothing that its own settings forbid`(_ key: String, _ value: String) async throws {
      _ = try await carry()
      #expect(try left().count == 1)
      _ = try ben.vault.core.set(key, to: value)
      #expect(try left().isEmpty)
    }

    // MARK: - Who is believed

    @Test func `a sender's own account is no carrier, whatever it says`() throws {
      let arrival = ParcelArrival(way: .account, from: ada.vault.core.identity.keys.digest, hops: 3, branch: 2)
      let corrected = arrival.corrected(sender: ada.vault.core.identity.keys.digest)
      #expect(corrected.hops == 0 && corrected.branch == ParcelArrival.noBranch && corrected.carriers.isEmpty)
    }

    @Test func `somebody else's account is a carrier's, whatever it doesn't say`() throws {
      let carrier = ben.vault.core.identity.keys.digest
      let corrected = ParcelArrival(way: .account, from: carrier).corrected(sender: ada.vault.core.identity.keys.digest)
      #expect(corrected.way == .account && corrected.hops == 1 && corrected.carriers == [carrier])
      #expect(corrected.branch == ParcelArrival.noBranch)
    }

    @Test func `a server that was reached counts for what this device can do for others, and is nobody who carries`()
      throws
    {
      try ben.vault.meetings.noteServer()
      #expect(try ben.vault.carrying.carryStatus().encounters.map(\.isNetwork) == [true])
      #expect(try !ben.vault.carrying.mayMeetCarriers())
    }

    @Test(arguments: [("pigeons-only", "on"), ("carry", "off")])
    func `a server doesn't count for who leaves nothing there`(_ key: String, _ value: String) throws {
      _ = try ben.vault.core.set(key, to: value)
      try ben.vault.meetings.noteServer()
      #expect(try ben.vault.carrying.carryStatus().encounters.isEmpty)
    }
  }
}
