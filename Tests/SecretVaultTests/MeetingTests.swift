import Courier
import Sodium
import TestTime
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

extension VaultTests {
  /// Members who meet: what is for whoever is met, and what is carried for others.
  @Suite struct Meetings {
    @Test func `what waits for a peer arrives when it is met, and is confirmed at once`() async throws {
      let world = try TestWorld(2)
      let sent = try world[0].say("good morning", to: world[1])
      #expect(sent.state == "waiting")
      let report = try await world[0].meet(world[1])
      #expect(report.delivered == 1 && report.receipts == 1)
      #expect(try world[1].texts() == ["good morning"])
      let arrived = try #require(try world[1].received().first)
      #expect(arrived.route == "session" && arrived.carriers.isEmpty)
      let now = try world[0].vault.messages.message(sent.number)
      #expect(now.state == "delivered" && now.route == "session" && now.deliveredAt != nil)
    }

    @Test func `whoever is met gives what waits there, too`() async throws {
      let world = try TestWorld(2)
      let sent = try world[1].say("come for dinner", to: world[0])
      let report = try await world[0].meet(world[1])
      #expect(report.received == 1)
      #expect(try world[0].texts() == ["come for dinner"])
      #expect(try await eventually { try world[1].vault.messages.message(sent.number).state == "delivered" })
    }

    @Test func `a meeting with nothing to give comes to nothing`() async throws {
      let world = try TestWorld(2)
      #expect(try await world[0].meet(world[1]).isEmpty)
      #expect(try await world[0].meet(world[1]).isEmpty)
    }

    @Test func `many messages, and a file of several parts, go in one meeting`() async throws {
      let world = try TestWorld(2)
      for number in 0..<40 { try world[0].say("number \(number)", to: world[1]) }
      try world[0].say(fileOf: 3_000_000, to: world[1])
      let report = try await world[0].meet(world[1])
      #expect(report.delivered == 43)
      #expect(try Set(world[1].texts()) == Set((0..<40).map { "number \($0)" }))
      let file = try #require(try world[1].received().first { $0.kind == .file })
      #expect(file.state == "new" && file.byteCount == 3_000_000)
    }

    // MARK: - Carriers

    @Test func `a carrier brings a message to somebody its sender never meets, and the receipt back`() async throws {
      let world = try TestWorld(3)
      let (ada, ben, cleo) = (world[0], world[1], world[2])
      let sent = try ada.say("by hand", to: cleo)
      #expect(try await ada.meet(ben).given == 1)
      #expect(try ben.carried().count == 1)
      #expect(try ada.vault.messages.message(sent.number).state == "underway")
      let report = try await ben.meet(cleo)
      #expect(report.handedOver == 1 && report.receipts == 1)
      #expect(try cleo.texts() == ["by hand"])
      let arrived = try #require(try cleo.received().first)
      #expect(arrived.route == "carriers" && arrived.hops == 1 && arrived.carriers == ["ben"])
      // What has arrived isn't carried any more.
      #expect(try ben.carried().isEmpty)
      #expect(try ben.vault.carrying.carryStatus().account.deliveredForOthers == 1)
      #expect(try await ben.meet(ada).receipts == 0)
      let now = try ada.vault.messages.message(sent.number)
      #expect(now.state == "delivered" && now.route == "carriers" && now.carriers == ["ben"])
      #expect(try ada.vault.carrying.carryStatus().account.sentByCarriers == 1)
    }

    @Test func `a message goes through several hands`() async throws {
      let world = try TestWorld(4)
      let (ada, ben, dan, cleo) = (world[0], world[1], world[2], world[3])
      // Of those whom the second one meets, the third is likely to meet the recipient.
      try await dan.meet(cleo)
      let sent = try ada.say("from hand to hand", to: cleo)
      #expect(try await ada.meet(ben).given == 1)
      #expect(try await ben.meet(dan).given == 1)
      #expect(try await dan.meet(cleo).handedOver == 1)
      let arrived = try #require(try cleo.received().first)
      #expect(arrived.hops == 2 && arrived.route == "carriers")
      try await dan.meet(ben)
      #expect(try ben.carried().isEmpty)
      try await ada.meet(ben)
      #expect(try ada.vault.messages.message(sent.number).state == "delivered")
    }

    @Test func `what comes by two carriers is shown once`() async throws {
      let world = try TestWorld(4)
      let (ada, ben, dan, cleo) = (world[0], world[1], world[2], world[3])
      try ada.say("once", to: cleo)
      #expect(try await ada.meet(ben).given == 1)
      #expect(try await ada.meet(dan).given == 1)
      #expect(try await ben.meet(cleo).handedOver == 1)
      let second = try await dan.meet(cleo)
      #expect(second.handedOver == 0 && second.receipts == 1)
      #expect(try cleo.texts() == ["once"])
      // But perhaps word of it, for its sender.
      let recipient = cleo.vault.core.identity.keys.digest
      #expect(try !dan.carried().contains { CourierDesk.isFor(recipient, $0.header) })
    }

    @Test func `what has arrived by a carrier isn't delivered again`() async throws {
      let world = try TestWorld(3)
      let (ada, ben, cleo) = (world[0], world[1], world[2])
      let sent = try ada.say("once", to: cleo)
      try await ada.meet(ben)
      try await ben.meet(cleo)
      let report = try await ada.meet(cleo)
      #expect(report.delivered == 0 && report.receipts == 1)
      #expect(try ada.vault.messages.message(sent.number).state == "delivered")
      #expect(try cleo.texts() == ["once"])
    }

    @Test func `whoever carries nothing still gets and gives what is theirs`() async throws {
      let world = try TestWorld(3)
      let (ada, ben, cleo) = (world[0], world[1], world[2])
      _ = try ben.vault.core.set("carry", to: "off")
      try ada.say("not by you", to: cleo)
      try ada.say("for you", to: ben)
      let report = try await ada.meet(ben)
      #expect(report.given == 0 && report.delivered == 1)
      #expect(try ben.carried().isEmpty)
      try ben.say("mine", to: cleo)
      #expect(try await ben.meet(ada).given == 1)
    }

    @Test func `a carrier takes no more than its settings allow`() async throws {
      let world = try TestWorld(3)
      let (ada, ben, cleo) = (world[0], world[1], world[2])
      try ada.say(fileOf: 300_000, to: cleo)
      _ = try ben.vault.core.set("carry-peer", to: "100K")
      #expect(try await ada.meet(ben).given == 0)
      _ = try ben.vault.core.set("carry-peer", to: "16M")
      _ = try ben.vault.core.set("carry-day", to: "100K")
      #expect(try await ada.meet(ben).given == 0)
      _ = try ben.vault.core.set("carry-day", to: "128M")
      #expect(try await ada.meet(ben).given == 1)
      // Whoever lowers a limit drops what is beyond it.
      _ = try ben.vault.core.set("carry-bytes", to: "100K")
      try await ben.meet(ada)
      #expect(try ben.carried().isEmpty)
    }

    @Test func `what a carrier has said that it has is there after its program has ended`() async throws {
      let world = try TestWorld(3)
      let (ada, ben, cleo) = (world[0], world[1], world[2])
      try ada.say("kept", to: cleo)
      try await ada.meet(ben)
      try ben.restart()
      try await ben.meet(cleo)
      try cleo.restart()
      #expect(try cleo.texts() == ["kept"])
    }

    @Test func `what is known of carriers is begun anew where it was damaged`() async throws {
      let world = try TestWorld(2)
      try await world[0].meet(world[1])
      try world[0].execute("UPDATE courier SET sealed = zeroblob(length(sealed))")
      try world[0].say("still", to: world[1])
      #expect(try await world[0].meet(world[1]).delivered == 1)
    }

    @Test func `a share reaches its holder by a carrier, and so does the holder's word`() async throws {
      let world = try TestWorld(3)
      let (ada, ben, cleo) = (world[0], world[1], world[2])
      try await ada.meet(ben)
      try await cleo.meet(ben)
      try await world.prove(by: 0)
      world.set(.refuses, for: cleo)
      let report = try await world.share([1, 2, 3], threshold: 2, to: [1, 2])
      #expect(report.deliveries.first { $0.peer == "cleo" }?.state == .unreachable)
      world.set(.none, for: cleo)
      #expect(try await ada.meet(ben).given == 1)
      #expect(try await ben.meet(cleo).handedOver == 1)
      _ = try await cleo.vault.answering.answerParcels()
      try await cleo.meet(ben)
      try await ben.meet(ada)
      #expect(try ada.vault.overview.secret(report.id).deliveries.allSatisfy { $0.state == .delivered })
      #expect(try await world.recover(by: 0).bytes == [1, 2, 3])
    }

    // MARK: - What goes wrong

    @Test(arguments: [500, 2000, 3000, 4000, 5000, 6000, 8000, 12_000, 40_000])
    func `a line that breaks loses nothing, and nothing comes twice`(byteCount: Int) async throws {
      let world = try TestWorld(2)
      let (ada, ben) = (world[0], world[1])
      for number in 0..<6 { try ada.say("number \(number)", to: ben) }
      try ben.say("and back", to: ada)
      world.set(.diesAfterSending(byteCount), for: ben)
      _ = try? await ada.meet(ben)
      world.set(.diesAfterReceiving(byteCount), for: ben)
      _ = try? await ada.meet(ben)
      world.set(.none, for: ben)
      // The other side may not have noticed yet.
      _ = try await onceFree { try? await ada.meet(ben) }
      #expect(try Set(ben.texts()) == Set((0..<6).map { "number \($0)" }))
      #expect(try ben.texts().count == 6)
      #expect(try ada.texts() == ["and back"])
      #expect(try ada.vault.post.outgoingRecords(way: .session, at: ada.environment.now()).isEmpty)
    }

    @Test func `both may dial in the same moment`() async throws {
      let world = try TestWorld(2)
      for number in 0..<5 {
        try world[0].say("there \(number)", to: world[1])
        try world[1].say("and back \(number)", to: world[0])
      }
      async let one = world[0].meet(world[1])
      async let other = world[1].meet(world[0])
      _ = try await (one, other)
      #expect(try world[0].texts().count == 5)
      #expect(try world[1].texts().count == 5)
    }

    @Test func `commands wait no longer than they want to`() async throws {
      let world = try TestWorld(2)
      world.set(.hangs, for: world[1])
      try world[0].say("later", to: world[1])
      let ada = world[0].vault
      let delivering = Task { await ada.meetings.deliverMessages(to: "ben", limit: .seconds(3)) }
      await world.clock.isAwaited(VaultEnvironment.Deadlines.distinct.handshake)
      world.clock.skip(.seconds(3))
      _ = await delivering.value
      world.set(.none, for: world[1])
      await world[0].vault.meetings.deliverMessages(to: "ben", limit: .seconds(600))
      #expect(try world[1].texts() == ["later"])
    }

    @Test func `the daemon meets whoever something new is for`() async throws {
      let world = try TestWorld(3)
      let (ada, ben, cleo) = (world[0], world[1], world[2])
      let vault = ada.vault
      let daemon = Task { await vault.meetings.runMeetings() }
      defer { daemon.cancel() }
      let sent = try ada.say("soon", to: cleo)
      #expect(
        try await world.passing(milliseconds: 1000) { try ada.vault.messages.message(sent.number).state == "delivered" }
      )
      let other = try ben.say("through you", to: cleo)
      world.set(.refuses, for: ben)
      try await ben.meet(ada)
      // Who carries something for a peer brings it there.
      #expect(try await world.passing(milliseconds: 1000) { try cleo.texts() == ["soon", "through you"] })
      #expect(try ben.vault.messages.message(other.number).state == "underway")
    }

    // MARK: - Bluetooth

    @Test func `over Bluetooth goes what the setting allows, and the rest waits for a network`() async throws {
      let room = TestRoom()
      let world = try TestWorld(2, room: room)
      let (ada, ben) = (world[0], world[1])
      for member in world.members {
        _ = try member.vault.core.set("ble", to: "on")
        _ = try member.vault.core.set("ble-limit", to: "10K")
        world.set(.refuses, for: member)
      }
      try ada.say("small", to: ben)
      try ada.say(fileOf: 50_000, to: ben)
      try ben.say(fileOf: 50_000, to: ada)
      let report = try await ada.meet(ben)
      #expect(report.delivered == 1 && report.received == 0)
      #expect(try ben.received().map(\.route) == ["bluetooth"])
      for member in world.members { world.set(.none, for: member) }
      let second = try await ada.meet(ben)
      #expect(second.delivered == 1 && second.received == 1)
    }
  }
}
