import Sodium
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultStore

extension VaultTests {
  @Suite struct Resuming {
    @Test(arguments: [70_000, 140_000, 330_000, 500_000])
    func `a deposit that was cut goes on at the piece where it stopped`(cut: Int) async throws {
      let world = try TestWorld(3)
      // Eight pieces of 64 KiB.
      let forged = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 1_000_000)
      #expect(forged.header.dispersal.stripeCount == 8)
      world.set(.diesAfterSending(cut), for: world[1])
      let first = try await forged.deliver(forged.job(1), to: world[1])
      #expect(first?.kind == .cutOff && first?.refusal == nil)
      #expect(try world[1].vault.overview.secrets().isEmpty)
      world.set(.none, for: world[1])
      let sent = Counter()
      let job = try forged.job(1, progress: { _ in sent.increment() })
      #expect(try await forged.deliverOnceFree(job, to: world[1]) == nil)
      // What had arrived whole was not sent again: all that went through, but the piece or two on the line.
      let arrived = cut / 65_600
      #expect(sent.value <= 8 - arrived + 2 && sent.value < 8 && sent.value >= 8 - arrived)
      #expect(try world[1].vault.overview.secret(forged.header.id.description).summary.ownIndex == 1)
    }

    @Test func `a cut deposit goes on after the holder was restarted`() async throws {
      let world = try TestWorld(3)
      let forged = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 1_000_000)
      world.set(.diesAfterSending(330_000), for: world[1])
      _ = try await forged.deliver(forged.job(1), to: world[1])
      try world[1].restart()
      world.set(.none, for: world[1])
      let sent = Counter()
      #expect(try await forged.deliverOnceFree(forged.job(1, progress: { _ in sent.increment() }), to: world[1]) == nil)
      #expect(sent.value < 8)
    }

    @Test func `an unfinished deposit is forgotten when its time is over`() async throws {
      let world = try TestWorld(3)
      let forged = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 1_000_000)
      world.set(.diesAfterSending(330_000), for: world[1])
      _ = try await forged.deliver(forged.job(1), to: world[1])
      #expect(
        try await eventually {
          try world[1].vault.core.database.clean(at: world.clock.now + 700_000_000).expiredPartials == 1
        })
      #expect(try FileList(world[1].folders.fragmentsPath).names.isEmpty)
    }

    @Test func `of two deliveries of the same share at once one is told to wait, and the share is whole`() async throws
    {
      let world = try TestWorld(3)
      let forged = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 1_000_000)
      let one = try await HostileRequester(world[0], dials: world[1], in: world)
      try await one.session.send(
        Offer(request: 9, index: 1, sealedShare: forged.sealed(1), header: forged.header.bytes))
      #expect(try await one.session.expect(OfferAnswer.self).verdict == .wants(from: 0))
      for number in UInt64(0)..<8 {
        #expect(try await forged.deliver(forged.job(1), to: world[1])?.refusal == .busy)
        try await one.session.send(Piece(request: 9, number: number, bytes: forged.piece(1, number)))
      }
      try await one.session.send(DepositEnd(request: 9))
      #expect(try await one.session.expect(DepositResult.self).refusal == nil)
      await one.session.close()
      let vault = world[1].vault
      let pieces = LocalPieces(
        reader: try vault.core.database.openFragment(of: forged.header.id, index: 1), header: forged.header,
        index: 1)
      let count = Counter()
      try await pieces.fetch(first: 0, count: 8) { _ in count.increment() }
      #expect(count.value == 8)
    }

    @Test func `a recovery goes on with another holder when a line breaks in the middle`() async throws {
      let world = try TestWorld(3)
      let secret = randomBytes(3_000_000)
      try await world.share(secret, threshold: 2)
      for member in [1, 2] { world.set(.diesAfterReceiving(member == 1 ? 700_000 : .max), for: world[member]) }
      let recovered = try await world.recover(by: 0)
      #expect(recovered.bytes == secret)
    }

    @Test(arguments: [140_000, 330_000])
    func `a recovery whose only other holder is cut time and again goes on at the piece that is due`(cut: Int)
      async throws
    {
      let world = try TestWorld(2)
      let secret = randomBytes(1_000_000)
      try await world.share(secret, threshold: 2)
      world.network.resetCounts()
      // Eight pieces of 64 KiB, of which each connection carries two or four.
      world.set(.diesAfterReceiving(cut), for: world[1])
      let recovered = try await world.recover(by: 0)
      #expect(recovered.bytes == secret)
      #expect(world.network.dialled.count == (cut == 330_000 ? 2 : 4))
    }

    @Test(arguments: [6000, 20_000])
    func `a recovery whose only other holder is cut amid the first piece more often than it is asked at once goes on`(
      cut: Int
    ) async throws {
      let world = try TestWorld(2)
      let secret = randomBytes(1_000_000)
      try await world.share(secret, threshold: 2)
      world.set(.diesAfterReceiving(cut), for: world[1])
      let asked = Counter()
      let ben = world[1]
      let recovered = try await world.recover(by: 0) { event in
        guard case .asking = event else { return }
        asked.increment()
        // Only every sixth connection carries anything, and that one four pieces.
        world.set(.diesAfterReceiving(asked.value % 6 == 0 ? 330_000 : cut), for: ben)
      }
      #expect(recovered.bytes == secret && asked.value >= 12)
    }

    @Test func `a recovery waits for the only other holder, which is gone for a moment, and goes on where it was`()
      async throws
    {
      let world = try TestWorld(2)
      let secret = randomBytes(1_000_000)
      try await world.share(secret, threshold: 2)
      world.network.resetCounts()
      world.set(.diesAfterReceiving(330_000), for: world[1])
      let ben = world[1]
      let asked = Counter()
      let recovered = try await world.recover(by: 0) { event in
        switch event {
        case .asking:
          asked.increment()
          if asked.value == 2 { world.set(.refuses, for: ben) }
        case .problem: world.set(.none, for: ben)
        default: break
        }
      }
      #expect(recovered.bytes == secret)
      #expect(world.network.dialled.count == 3)
    }

    @Test(arguments: [60, 400])
    func `a connection that breaks before the share is there is tried again within the recovery`(
      limit: Int
    ) async throws {
      let world = try TestWorld(2)
      let secret = randomBytes(1000)
      try await world.share(secret, threshold: 2)
      world.network.resetCounts()
      world.set(.diesAfterReceiving(limit), for: world[1])
      let ben = world[1]
      let problems = Counter()
      let recovered = try await world.recover(by: 0) { event in
        guard case .problem = event else { return }
        problems.increment()
        world.set(.none, for: ben)
      }
      #expect(recovered.bytes == secret)
      #expect(world.network.dialled.count > 1 && problems.value == 1)
    }

    @Test func `a holder that stays away is not waited for longer than some times`() async throws {
      let world = try TestWorld(2)
      try await world.share(randomBytes(1_000_000), threshold: 2)
      world.set(.diesAfterReceiving(330_000), for: world[1])
      let ben = world[1]
      let asked = Counter()
      await #expect(throws: VaultError.self) {
        try await world.recover(by: 0) { event in
          guard case .asking = event else { return }
          asked.increment()
          if asked.value == 2 { world.set(.refuses, for: ben) }
        }
      }
      #expect(asked.value == 5)
    }

    @Test func `a share waits for a peer that is offline, survives a restart, and is delivered by the outbox`()
      async throws
    {
      let world = try TestWorld(3)
      try await world.prove()
      world.set(.refuses, for: world[2])
      let secret = randomBytes(100_000)
      let report = try await world.share(secret, threshold: 3)
      #expect(!report.isFinished && report.leftOut.isEmpty)
      #expect(report.deliveries.first { $0.peer == "cleo" }?.state == .unreachable)
      #expect(report.deliveries.first { $0.peer == "cleo" }?.reason == "unreachable: connection refused")
      try #require(remove(world.scratch.path + "/letter.txt"))
      try world[0].restart()
      world.set(.none, for: world[2])
      world.clock.advance(milliseconds: 3_600_000)
      let outbox = Task { await world[0].vault.sharing.runOutbox() }
      let dealer = world[0].vault
      #expect(try await eventually { try dealer.overview.secret(report.id).summary.delivered == 2 })
      outbox.cancel()
      await outbox.value
      for member in world.members.indices { #expect(try await world.recover(by: member).bytes == secret) }
    }

    @Test func `retrying delivers what waits, and what is left over is told`() async throws {
      let world = try TestWorld(4)
      try await world.prove()
      for member in [2, 3] { world.set(.refuses, for: world[member]) }
      let report = try await world.share([1, 2, 3], threshold: 2)
      world.set(.none, for: world[2])
      let events = Collected<Delivery>()
      let retried = try await world[0].vault.sharing.retry(report.id) {
        if case .delivery(let delivery) = $0 { events.add(delivery) }
      }
      #expect(retried.count == 1 && retried[0].placed == 3 && !retried[0].isFinished)
      #expect(Set(events.all.map { "\($0.peer) \($0.state)" }) == ["cleo delivered", "dan unreachable"])
      world.set(.none, for: world[3])
      #expect(try await world[0].vault.sharing.retry(nil) { _ in }.first?.isFinished == true)
      #expect(try await world[0].vault.sharing.retry(nil) { _ in }.isEmpty)
      #expect(try FileList(world[0].folders.fragmentsPath).names == ["\(report.id).1"])
    }

    @Test func `attempts wait longer and longer, an hour at most`() {
      #expect(
        (1...12).map { OutboxRecord.backoff(attempts: $0) / 1000 } == [
          15, 30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600, 3600,
        ])
    }
  }
}
