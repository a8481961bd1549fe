import Sodium
import TestTime
import Testing

@testable import SecretVault

extension VaultTests {
  /// Ada delivers, by command or as a daemon.
  @Suite struct Delivering {
    @Test func `a share that is under way for the first time waits, and its peer isn't called unreachable`()
      async throws
    {
      let world = try TestWorld(2)
      let (ids, states) = (Collected<String>(), Collected<Delivery.State>())
      let ada = world[0].vault
      try await world.share(randomBytes(3000), threshold: 2) { event in
        switch event {
        case .sealed(let id): ids.add(id)
        case .sending:
          guard let id = ids.all.first, let details = try? ada.overview.secret(id) else { return }
          for delivery in details.deliveries { states.add(delivery.state) }
        default: break
        }
      }
      #expect(states.all.first == .waiting)
    }

    @Test func `a delivery that can't be noted names its peer`() async throws {
      let world = try TestWorld(2)
      try world[0].execute(
        "CREATE TRIGGER full BEFORE UPDATE ON outbox BEGIN SELECT RAISE(FAIL, 'disk is full'); END")
      let told = Collected<Delivery>()
      try await world.share(randomBytes(100), threshold: 2) { event in
        if case .delivery(let delivery) = event { told.add(delivery) }
      }
      #expect(told.all.map(\.peer) == ["ben"] && told.all.map(\.state) == [.waiting])
    }

    @Test func `a peer that takes its time holds up no other delivery of the daemon`() async throws {
      let world = try TestWorld(3)
      try await world.prove()
      for member in [1, 2] { world.set(.refuses, for: world[member]) }
      let report = try await world.share([1, 2, 3], threshold: 2)
      world.network.resetCounts()
      world.set(.hangs, for: world[1])
      world.clock.advance(milliseconds: 3_600_000)
      let vault = world[0].vault
      let outbox = Task { await vault.sharing.runOutbox() }
      // Both were tried; cleo comes back while ben says nothing.
      #expect(
        try await eventually { try vault.overview.secret(report.id).deliveries.allSatisfy { $0.state == .unreachable } }
      )
      #expect(try await eventually { Set(world.network.dialled) == Set([1, 2].map { world[$0].address.description }) })
      world.set(.none, for: world[2])
      // Her failed attempt may be noted only now, with a time after this one: the clock goes on until she is due.
      #expect(
        try await world.passing(milliseconds: 3_600_000) { try vault.overview.secret(report.id).summary.delivered == 1 }
      )
      #expect(world.network.dialled.count { $0 == world[1].address.description } == 1)
      outbox.cancel()
      await outbox.value
    }

    @Test func `a pause of the daemon's ends when the peer calls`() async throws {
      let world = try TestWorld(2)
      try await world.prove()
      world.set(.refuses, for: world[1])
      let report = try await world.share([1, 2, 3], threshold: 2)
      let vault = world[0].vault
      for entry in try vault.core.database.waitingDeliveries() {
        try vault.core.database.postponeDelivery(
          entry.id, until: world.clock.now + 3_600_000, route: nil, error: "unreachable")
      }
      let outbox = Task { await vault.sharing.runOutbox() }
      world.set(.none, for: world[1])
      _ = try await world[1].vault.links.pingPeer("ada")
      #expect(try await eventually { try vault.overview.secret(report.id).summary.delivered == 1 })
      outbox.cancel()
      await outbox.value
    }

    @Test func `a pause of the daemon's ends when the peer is heard in the room`() async throws {
      let world = try TestWorld(2)
      try await world.prove()
      world.set(.refuses, for: world[1])
      try await world.share([1, 2, 3], threshold: 2)
      let vault = world[0].vault
      let entry = try #require(try vault.core.database.waitingDeliveries().first)
      try vault.core.database.postponeDelivery(
        entry.id, until: world.clock.now + 3_600_000, route: nil, error: "unreachable")
      let isNear = Flag()
      let meetings = Task { await vault.meetings.runMeetings { isNear.isUp ? ["ben"] : [] } }
      // Nobody listens before it is known that there is something for anybody.
      try await world.waiting.look(every: .seconds(1), .seconds(5))
      let outbox = Task { await vault.sharing.runOutbox() }
      world.set(.none, for: world[1])
      isNear.raise()
      await world.clock.isAwaited(.seconds(20))
      world.clock.advance(by: .seconds(20))
      #expect(try await eventually { try vault.core.database.delivery(entry.id)?.state == .delivered })
      // By no parcel of a meeting.
      #expect(try vault.core.database.delivery(entry.id)?.route == "session")
      for task in [outbox, meetings] {
        task.cancel()
        await task.value
      }
    }

    @Test func `peers that call again and again aren't dialled each time`() throws {
      var peers = ReturningPeers()
      let peer = try Digest([UInt8](repeating: 1, count: 32))
      let ended = [0.0, 29_000, 31_000].map { peers.ends(for: peer, at: $0) }
      #expect(ended == [true, false, true])
    }

    @Test func `a holder that takes pieces too slowly for too long is given up, and tried again later`() async throws {
      var deadlines = VaultEnvironment.Deadlines.distinct
      deadlines.slowDelivery = .seconds(10)
      let world = try TestWorld(3, deadlines: deadlines)
      // Eight pieces of 64 KiB, for each of which two seconds are allowed.
      let forged = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 1_000_000)
      let sent = Counter()
      let crawling = try forged.job(
        1,
        progress: { _ in
          sent.increment()
          world.clock.advance(milliseconds: 6000)
        })
      #expect(try await forged.deliver(crawling, to: world[1])?.kind == .slow)
      // 6 s after one, 12 after two, 18 after three: more than 10 + 6.
      #expect(sent.value == 3)
      // Just fast enough, to the end.
      let steady = try forged.job(2, progress: { _ in world.clock.advance(milliseconds: 3000) })
      #expect(try await forged.deliver(steady, to: world[2]) == nil)
    }

    @Test func `a crawling holder's share waits for another attempt`() async throws {
      var deadlines = VaultEnvironment.Deadlines.distinct
      deadlines.slowDelivery = .seconds(5)
      let world = try TestWorld(2, deadlines: deadlines)
      let report = try await world.share(randomBytes(1_000_000), threshold: 2) { event in
        if case .sending = event { world.clock.advance(milliseconds: 10_000) }
      }
      let delivery = try #require(report.deliveries.first)
      #expect(delivery.state == .unreachable && delivery.reason == "is very slow")
      // The holder may not have noticed yet that the first attempt is over, and then says that it is busy.
      try await onceFree {
        try await world[0].vault.sharing.retry(nil) { _ in }.first?.isFinished == true ? () : nil
      }
    }

    @Test func `a delivery that takes long is not taken up a second time by the daemon beside it`() async throws {
      var deadlines = VaultEnvironment.Deadlines.distinct
      deadlines.slowDelivery = .seconds(3600)
      let world = try TestWorld(2, deadlines: deadlines)
      // Eight pieces: six minutes. Before each of them the daemon looks what there is.
      let drip = Duration.drip
      world.set(.drips(drip), for: world[1])
      let daemon = try world[0].opened()
      let outbox = Task { await daemon.sharing.runOutbox() }
      let drips = Task {
        while !Task.isCancelled {
          guard try await eventually({ world.clock.hasSleeper(for: drip) }) else { return }
          try await world.waiting.look(every: .seconds(1), .seconds(5))
          world.clock.skip(drip, times: 0)
        }
      }
      let report = try await world.share(randomBytes(1_000_000), threshold: 2) { event in
        if case .sending = event { world.clock.advance(milliseconds: 45_000) }
      }
      drips.cancel()
      outbox.cancel()
      await outbox.value
      #expect(report.isFinished)
      // The question before and the delivery share a connection.
      #expect(world.network.dialled.count == 1)
      #expect(try world[0].vault.overview.log(limit: 100).allSatisfy { $0.event != "delivery-failed" })
    }

    @Test func `a delivery ends when its peer is removed meanwhile`() async throws {
      let world = try TestWorld(3)
      let vault = world[0].vault
      let removed = Flag()
      let problems = Collected<String>()
      let told = Collected<Delivery>()
      let report = try await world.share(randomBytes(1_000_000), threshold: 2, to: [1]) { event in
        if case .delivery(let delivery) = event { told.add(delivery) }
        guard case .sending = event else { return }
        if !removed.isUp {
          removed.raise()
          if (try? vault.trust.removePeer("ben")) == nil { problems.add("ben can't be removed") }
        }
        world.clock.advance(milliseconds: 30_000)
      }
      #expect(problems.all.isEmpty)
      #expect(report.deliveries.map(\.state) == [.cancelled])
      #expect(told.all.map(\.state) == [.cancelled] && told.all.first?.reason == "it was cancelled meanwhile")
      #expect(try world[1].vault.overview.secrets().isEmpty)
    }

    @Test func `what waits for somebody who is no peer any more is destroyed by the daemon, and nobody is dialled`()
      async throws
    {
      let world = try TestWorld(3)
      try await world.prove()
      world.set(.refuses, for: world[2])
      let report = try await world.share([1, 2, 3], threshold: 2)
      // As a program without this care would have left it.
      try world[0].forget(world[2])
      world.set(.none, for: world[2])
      world.network.resetCounts()
      let vault = world[0].vault
      let outbox = Task { await vault.sharing.runOutbox() }
      #expect(try await eventually { try vault.overview.secret(report.id).deliveries.last?.state == .cancelled })
      outbox.cancel()
      await outbox.value
      let left = try vault.core.database.deliveries(ofSecret: vault.directory.resolve(report.id).id)
      #expect(left.count == 2 && left.allSatisfy { $0.entry.payload.isEmpty })
      #expect(try !FileList(world[0].folders.fragmentsPath).names.contains("\(report.id).3"))
      #expect(world.network.dialled.isEmpty)
    }
  }

  @Suite struct RemovedDuringSharing {
    @Test(arguments: [true, false])
    func `a peer that is removed while a file is being shared gets nothing, and neither does anybody else`(
      isProven: Bool
    ) async throws {
      let world = try TestWorld(3)
      if isProven { try await world.prove() }
      let vault = world[0].vault
      let problems = Collected<String>()
      let failure = await refusal {
        try await world.share([1, 2, 3], threshold: 2) { event in
          guard case .plan = event else { return }
          if (try? vault.trust.removePeer("cleo")) == nil { problems.add("cleo can't be removed") }
        }
      }
      #expect(problems.all.isEmpty)
      #expect(failure?.code == .refused && failure?.reason == "cleo was removed meanwhile; nothing was shared")
      #expect(try vault.overview.secrets().isEmpty && vault.core.database.waitingDeliveries().isEmpty)
      for folder in [world[0].folders.fragmentsPath, world[0].folders.stagingPath] {
        #expect(try FileList(folder).names.isEmpty)
      }
      for member in [1, 2] { #expect(try world[member].vault.overview.secrets().isEmpty) }
      // Those who are left get theirs.
      #expect(try await world.share([1, 2, 3], threshold: 2).deliveries.map(\.peer) == ["ben"])
    }

    @Test func `a peer that is removed when all is dealt and nothing sent gets nothing`() async throws {
      let world = try TestWorld(3)
      let vault = world[0].vault
      let problems = Collected<String>()
      let report = try await world.share([1, 2, 3], threshold: 2) { event in
        guard case .sealed = event else { return }
        if (try? vault.trust.removePeer("cleo")) == nil { problems.add("cleo can't be removed") }
      }
      #expect(problems.all.isEmpty)
      #expect(Set(report.deliveries.map(\.state)) == [.delivered, .cancelled])
      #expect(try world[2].vault.overview.secrets().isEmpty && world[1].vault.overview.secrets().count == 1)
    }
  }
}
