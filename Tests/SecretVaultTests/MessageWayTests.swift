import PeerAuth
import Sodium
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultStore

extension VaultTests {
  /// By which ways parcels go, and when.
  @Suite struct MessageWays {
    let world: TestWorld

    init() throws { world = try TestWorld(3) }

    private var ada: Vault { world[0].vault }
    private var ben: Vault { world[1].vault }

    private func due(_ way: Way) throws -> Int {
      try ada.post.outgoingRecords(way: way, at: world.clock.now).count
    }

    private func pass(minutes: Int64) { world.clock.advance(milliseconds: minutes * 60_000 + 1000) }

    @Test func `without an account and a mailbox carriers get a parcel at once`() throws {
      try ada.send("hello", to: "ben")
      #expect(try due(.session) == 1)
      #expect(try due(.carriers) == 1)
      #expect(try due(.account) == 0)
    }

    @Test func `a group comes before carriers, and an account before a group`() throws {
      let office = try ParcelOffice(world)
      try ada.send("hello", to: "ben")
      #expect(try due(.session) == 1 && due(.carriers) == 0)
      #expect(try ada.post.foldersWithParcels() == [office.folders[0]])
      try ada.logIn("ada@example.org", friends: [world[1]: "ben@example.org"])
      #expect(try due(.account) == 1 && due(.carriers) == 0)
      #expect(try ada.post.foldersWithParcels().isEmpty)
      #expect(try office.post(by: 0).isEmpty)
      pass(minutes: 10)
      #expect(try due(.session) == 1 && due(.account) == 1 && due(.carriers) == 1)
      #expect(try office.post(by: 0).count == 1)
    }

    @Test func `an account gets a parcel again after half a minute, and each time after twice as long`() throws {
      try ada.logIn("ada@example.org", friends: [world[1]: "ben@example.org"])
      try ada.send("hello", to: "ben")
      #expect(try ada.handOverToAccount().count == 1)
      // It was 0, 31, 63, 127 and 255 seconds old when it was handed over last.
      for seconds: Int64 in [29, 30, 62, 126, 254] {
        world.clock.advance(milliseconds: seconds * 1000)
        #expect(try ada.handOverToAccount().isEmpty)
        world.clock.advance(milliseconds: 2000)
        #expect(try ada.handOverToAccount().count == 1)
      }
    }

    @Test(arguments: [true, false])
    func `what is for pigeons only goes to no server`(bySetting: Bool) async throws {
      let office = try ParcelOffice(world)
      try ada.logIn("ada@example.org", friends: [world[1]: "ben@example.org"])
      if bySetting { _ = try ada.core.set("pigeons-only", to: "on") }
      try ada.send("hello", to: "ben", pigeonsOnly: !bySetting)
      if !bySetting {
        // What somebody wants later changes nothing of it.
        try ada.send("open", to: "cleo")
        try ada.messages.deleteMessage(#require(try ada.messages.messages(with: "cleo").first).number)
      }
      for _ in 0..<3 {
        #expect(try due(.session) == 1 && due(.carriers) == 1)
        #expect(try due(.account) == 0 && ada.handOverToAccount().isEmpty)
        #expect(try office.post(by: 0).isEmpty && ada.post.foldersWithParcels().isEmpty)
        pass(minutes: 3000)
      }
    }

    @Test func `a parcel that has arrived goes no way any more`() throws {
      try ada.logIn("ada@example.org", friends: [world[1]: "ben@example.org"])
      try ben.logIn("ben@example.org", friends: [world[0]: "ada@example.org"])
      let sent = try ada.send("hello", to: "ben")
      for bytes in try ada.handOverToAccount() {
        _ = try ben.intake.takeParcel(bytes, by: ParcelArrival(way: .account))
      }
      #expect(try ada.messages.message(sent.number).state == "underway")
      for bytes in try ben.handOverToAccount() {
        _ = try ada.intake.takeParcel(bytes, by: ParcelArrival(way: .account))
      }
      let done = try ada.messages.message(sent.number)
      #expect(done.state == "delivered" && done.route == "account")
      pass(minutes: 100)
      for way: Way in [.session, .account, .group, .carriers] { #expect(try due(way) == 0) }
      // A receipt goes by an account once.
      #expect(try ben.handOverToAccount().isEmpty)
    }

    @Test func `word of an arrival is gone once a server has it, and goes no other way`() async throws {
      try ada.logIn("ada@example.org", friends: [world[1]: "ben@example.org"])
      try ben.logIn("ben@example.org", friends: [world[0]: "ada@example.org"])
      for number in 0..<5 {
        try ada.send("message \(number)", to: "ben")
        for bytes in try ada.handOverToAccount() {
          _ = try ben.intake.takeParcel(bytes, by: ParcelArrival(way: .account))
        }
        #expect(try ben.handOverToAccount().count == 1)
      }
      #expect(try ben.messages.outbox().parcels.isEmpty)
      pass(minutes: 20)
      #expect(try ben.post.outgoingRecords(way: .carriers, at: world.clock.now).isEmpty)
      #expect(try ben.post.outgoingRecords(way: .session, at: world.clock.now).isEmpty)
    }

    @Test func `word of an arrival that a group has goes no other way, and goes with its taking`() async throws {
      let office = try ParcelOffice(world)
      try ada.send("hello", to: "ben")
      try office.post(by: 0)
      try office.take(by: 1)
      let word = try #require(try office.post(by: 1).first)
      pass(minutes: 20)
      #expect(try ben.post.outgoingRecords(way: .carriers, at: world.clock.now).isEmpty)
      #expect(try ben.post.outgoingRecords(way: .session, at: world.clock.now).isEmpty)
      try ben.post.wasTakenOut(word.id)
      #expect(try ben.messages.outbox().parcels.isEmpty)
    }

    /// Ada and ben write by accounts, and ben has read so many messages of ada's, of which an own parcel tells each time.
    private func read(_ count: Int = 1) throws -> [MessageSummary] {
      try ada.logIn("ada@example.org", friends: [world[1]: "ben@example.org"])
      try ben.logIn("ben@example.org", friends: [world[0]: "ada@example.org"])
      return try (0..<count).map { number in
        let sent = try ada.send("message \(number)", to: "ben")
        for bytes in try ada.handOverToAccount() {
          _ = try ben.intake.takeParcel(bytes, by: ParcelArrival(way: .account))
        }
        for bytes in try ben.handOverToAccount() {
          _ = try ada.intake.takeParcel(bytes, by: ParcelArrival(way: .account))
        }
        try ben.messages.markRead([#require(try ben.messages.messages().first).number])
        return sent
      }
    }

    /// Gives ada in a session what ben has for her.
    private func meetAda() throws {
      for one in try ben.post.outgoingParcels(to: ada.core.identity.keys.digest, way: .session) {
        let taking = try ada.intake.takeParcel(
          one.post.bytes, by: ParcelArrival(way: .session, from: ben.core.identity.keys.digest))
        guard case .known(let receipt?) = taking else { throw VaultError(.other, "not taken") }
        try ben.post.takeReceipt(receipt, handedOverBy: .session)
      }
    }

    @Test func `word that something was read comes in a session if the account loses it, and goes with that`() throws {
      let sent = try #require(try read().first)
      #expect(try ben.handOverToAccount().count == 1)
      pass(minutes: 20)
      for way: Way in [.account, .group, .carriers] {
        #expect(try ben.post.outgoingRecords(way: way, at: world.clock.now).isEmpty)
      }
      #expect(try ada.messages.message(sent.number).state == "delivered")
      try meetAda()
      #expect(try ada.messages.message(sent.number).state == "read")
      #expect(try ben.messages.outbox().parcels.isEmpty)
    }

    @Test func `word that something was read goes when the peer's device acknowledges it, and nobody else's`() throws {
      _ = try read()
      let post = try #require(try ben.post.smallAccountPosts().first?.post)
      try ben.post.handedToAccount(post.id)
      try ben.post.acknowledgedByAccount(post.id, from: "cleo@example.org")
      #expect(try ben.messages.outbox().parcels.map(\.kind) == ["receipt"])
      try ben.post.acknowledgedByAccount(post.id, from: "ada@example.org")
      #expect(try ben.messages.outbox().parcels.isEmpty)
      // No message goes with that.
      let own = try ben.send("hello", to: "ada")
      let message = try #require(try ben.post.smallAccountPosts().first?.post)
      try ben.post.handedToAccount(message.id)
      try ben.post.acknowledgedByAccount(message.id, from: "ada@example.org")
      #expect(try ben.messages.message(own.number).state == "underway" && ben.messages.outbox().parcels.count == 1)
    }

    @Test func `of words that something was read no more wait than there is room for, and none for ever`() throws {
      _ = try read(ParcelTimes.receiptsForPeer + 10)
      _ = try ben.handOverToAccount()
      #expect(try ben.post.ownParcels().count == ParcelTimes.receiptsForPeer)
      world.clock.advance(milliseconds: 2 * ParcelTimes.receiptLifetime)
      #expect(try ben.messages.outbox().parcels.isEmpty)
    }

    @Test func `word that something was read that a group has goes in a session, too`() throws {
      let office = try ParcelOffice(world)
      let sent = try ada.send("hello", to: "ben")
      try office.post(by: 0)
      try office.take(by: 1)
      try office.post(by: 1)
      try office.take(by: 0)
      try ben.messages.markRead([#require(try ben.messages.messages().first).number])
      #expect(try office.post(by: 1).count == 1)
      pass(minutes: 20)
      #expect(try ben.post.outgoingRecords(way: .carriers, at: world.clock.now).isEmpty)
      try meetAda()
      #expect(try ada.messages.message(sent.number).state == "read")
    }

    @Test func `many messages are confirmed by one parcel, and one that comes again later once more`() throws {
      try ada.logIn("ada@example.org", friends: [world[1]: "ben@example.org"])
      try ben.logIn("ben@example.org", friends: [world[0]: "ada@example.org"])
      for number in 0..<20 { try ada.send("message \(number)", to: "ben") }
      let parcels = try ada.handOverToAccount()
      for bytes in parcels { _ = try ben.intake.takeParcel(bytes, by: ParcelArrival(way: .account)) }
      #expect(try ben.handOverToAccount().count == 1)
      // Whoever brings it again at once gets nothing for it.
      for bytes in parcels { _ = try ben.intake.takeParcel(bytes, by: ParcelArrival(way: .account)) }
      #expect(try ben.handOverToAccount().isEmpty)
      pass(minutes: 10)
      for bytes in parcels { _ = try ben.intake.takeParcel(bytes, by: ParcelArrival(way: .account)) }
      #expect(try ben.handOverToAccount().count == 1)
      #expect(try ben.messages.messages().count == 20)
    }

    @Test func `a long conversation through servers is confirmed to its end`() throws {
      try ada.logIn("ada@example.org", friends: [world[1]: "ben@example.org"])
      try ben.logIn("ben@example.org", friends: [world[0]: "ada@example.org"])
      for number in 0..<(ParcelTimes.receiptsForPeer + 10) {
        let sent = try ada.send("message \(number)", to: "ben")
        for bytes in try ada.handOverToAccount() {
          _ = try ben.intake.takeParcel(bytes, by: ParcelArrival(way: .account))
        }
        for bytes in try ben.handOverToAccount() {
          _ = try ada.intake.takeParcel(bytes, by: ParcelArrival(way: .account))
        }
        #expect(try ada.messages.message(sent.number).state == "delivered")
      }
      #expect(try ben.post.ownParcels().count <= ParcelTimes.receiptsForPeer)
    }

    @Test func `what came without servers is confirmed without them`() throws {
      try ada.send("hello", to: "ben")
      try ben.logIn("ben@example.org", friends: [world[0]: "ada@example.org"])
      let record = try #require(try ada.post.ownParcels().first)
      let parcel = try #require(try ada.post.parcelContent(record.id))
      let arrival = ParcelArrival(way: .carriers, from: world[2].vault.core.identity.keys.digest, hops: 1, branch: 0)
      #expect(try ben.intake.takeParcel(parcel, by: arrival).isTaken)
      try ben.messages.markRead([#require(try ben.messages.messages().first).number])
      #expect(try ben.handOverToAccount().isEmpty)
      #expect(try ben.post.outgoingRecords(way: .carriers, at: world.clock.now).count == 2)
    }

    @Test func `a carrier that says it is the sender is shown as a carrier`() throws {
      try ada.send("hello", to: "ben")
      let record = try #require(try ada.post.ownParcels().first)
      let parcel = try #require(try ada.post.parcelContent(record.id))
      let arrival = ParcelArrival(way: .session, from: world[2].vault.core.identity.keys.digest)
      #expect(try ben.intake.takeParcel(parcel, by: arrival).isTaken)
      let received = try #require(try ben.messages.messages().first)
      #expect(received.route == "carriers" && received.carriers == ["cleo"] && received.hops == 1)
    }

    @Test func `what a peer says of its address counts against nobody's word`() throws {
      let ada = world[0].vault.core.identity.keys.digest
      let peer = try #require(try ben.core.database.peer(ada))
      ben.accounts.noteAddress("not an address", of: peer, at: 10)
      #expect(try ben.accounts.accountAddress(of: ada) == nil)
      ben.accounts.noteAddress("ada@example.org", of: peer, at: 10)
      ben.accounts.noteAddress("old@example.org", of: peer, at: 9)
      #expect(try ben.accounts.accountAddress(of: ada) == "ada@example.org")
      ben.accounts.noteAddress("new@example.org", of: peer, at: 11)
      #expect(try ben.accounts.accountAddress(of: ada) == "new@example.org")
      try ben.core.database.setPeerAddress(ada, "mine@example.org")
      ben.accounts.noteAddress("new@example.org", of: peer, at: 12)
      #expect(try ben.accounts.accountAddress(of: ada) == "mine@example.org")
      let other = try #require(try ben.core.database.peer(world[2].vault.core.identity.keys.digest))
      ben.accounts.noteAddress("mine@example.org", of: other, at: 12)
      #expect(try ben.accounts.accountAddress(of: other.digest) == nil)
    }

    @Test func `a peer that moves to another account is followed, wherever its address came from`() throws {
      let ada = world[0].vault.core.identity.keys.digest
      let peer = try #require(try ben.core.database.peer(ada))
      // As a friend who was added by hand.
      try ben.core.database.setPeerAddress(ada, "old@example.org")
      ben.accounts.noteAddress("old@example.org", of: peer, at: 10)
      ben.accounts.noteAddress("new@example.net", of: peer, at: 20)
      #expect(try ben.accounts.accountAddress(of: ada) == "new@example.net")
      // An older message that comes late moves it nowhere, and what was forgotten stays so.
      ben.accounts.noteAddress("old@example.org", of: peer, at: 15)
      #expect(try ben.accounts.accountAddress(of: ada) == "new@example.net")
      try ben.core.database.setPeerAddress(ada, nil)
      ben.accounts.noteAddress("newer@example.net", of: peer, at: 30)
      #expect(try ben.accounts.accountAddress(of: ada) == nil)
    }

    @Test(arguments: [true, false])
    func `an address that was forgotten isn't taken again from its peer, and another one is`(_ wasSaid: Bool) throws {
      try ada.logIn("eve@example.org", friends: [world[1]: "ben@example.org"])
      try ben.logIn("ben@example.org")
      let digest = ada.core.identity.keys.digest
      func hear(_ text: String) throws {
        try ada.send(text, to: "ben")
        for one in try ada.post.outgoingParcels(way: .session) {
          _ = try ben.intake.takeParcel(one.post.bytes, by: ParcelArrival(way: .session, from: digest))
        }
        world.clock.advance(milliseconds: 1000)
      }
      if wasSaid { try hear("before") }
      try ben.accounts.setAccountAddress("ada", to: "eve@example.org")
      try ben.accounts.forgetAccountAddress("eve@example.org")
      try hear("after")
      #expect(try ben.accounts.accountAddress(of: digest) == nil)
      try ben.send("to you alone", to: "ada")
      #expect(try ben.handOverToAccount().isEmpty)
      // The user says otherwise, and changes his mind.
      try ben.accounts.setAccountAddress("ada", to: "eve@example.org")
      try hear("again")
      #expect(try ben.accounts.accountAddress(of: digest) == "eve@example.org")
      try ben.accounts.forgetAccountAddress("eve@example.org")
      let peer = try #require(try ben.core.database.peer(digest))
      ben.accounts.noteAddress("ada@example.net", of: peer, at: world.clock.now)
      #expect(try ben.accounts.accountAddress(of: digest) == "ada@example.net")
      ben.accounts.noteAddress("eve@example.org", of: peer, at: world.clock.now + 1)
      #expect(try ben.accounts.accountAddress(of: digest) == "ada@example.net")
    }

    @Test func `a message tells where its sender takes answers`() throws {
      try ada.logIn("ada@example.org", friends: [world[1]: "ben@example.org"])
      try ada.send("hello", to: "ben")
      for bytes in try ada.handOverToAccount() {
        _ = try ben.intake.takeParcel(bytes, by: ParcelArrival(way: .account))
      }
      #expect(try ben.accounts.accountAddress(of: ada.core.identity.keys.digest) == "ada@example.org")
    }

    @Test func `a share goes by an account to a peer in no group, and its dealer hears of it`() async throws {
      try await world.prove()
      world.cutOff()
      try ada.logIn("ada@example.org", friends: [world[1]: "ben@example.org"])
      try ben.logIn("ben@example.org", friends: [world[0]: "ada@example.org"])
      let report = try await world.share(randomBytes(20_000), threshold: 2, to: [1])
      #expect(report.deliveries.map(\.state) == [.unreachable])
      for bytes in try ada.handOverToAccount() {
        _ = try ben.intake.takeParcel(bytes, by: ParcelArrival(way: .account))
      }
      #expect(try ada.overview.secret(report.id).deliveries.first?.onItsWay?.routes == ["account"])
      #expect(try await ben.answering.answerParcels())
      for bytes in try ben.handOverToAccount() {
        _ = try ada.intake.takeParcel(bytes, by: ParcelArrival(way: .account))
      }
      #expect(try ada.overview.secret(report.id).deliveries.map(\.state) == [.delivered])
      #expect(try ben.overview.secret(report.id).summary.ownIndex == 2)
    }

    @Test func `a share waits for carriers where somebody was met, and only there`() async throws {
      try await world.prove()
      world.cutOff()
      let report = try await world.share(randomBytes(20_000), threshold: 2, to: [1])
      #expect(try due(.carriers) == 0)
      let device = try Carrying.device(world[2].vault.core.identity.keys.digest)
      let now = world.clock.now
      try ada.carrying.changeCourier { courier, _ in courier.met(device, isPeer: true, at: now) }
      let record = try #require(try ada.post.outgoingRecords(way: .carriers, at: now).first)
      let parcel = try #require(try ada.post.parcelContent(record.id))
      let arrival = ParcelArrival(way: .carriers, from: world[2].vault.core.identity.keys.digest, hops: 1, branch: 0)
      #expect(try ben.intake.takeParcel(parcel, by: arrival).isTaken)
      #expect(try await ben.answering.answerParcels())
      let answer = try #require(
        try ben.post.outgoingRecords(way: .carriers, at: now).first { $0.direction == .answer })
      #expect(try ada.intake.takeParcel(#require(try ben.post.parcelContent(answer.id)), by: arrival).isTaken)
      #expect(try ada.overview.secret(report.id).deliveries.map(\.state) == [.delivered])
    }
  }
}
