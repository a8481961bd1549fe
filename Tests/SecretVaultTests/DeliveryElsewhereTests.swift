import Sodium
import TestTime
import Testing
import VaultStore

@testable import SecretVault

extension VaultTests {
  /// Ada's share for ben waits, and a second command or the daemon has taken it: the first one, which meant to deliver it,
  /// waits for what becomes of it.
  @Suite(.timeLimit(.minutes(5))) struct DeliveringElsewhere {
    let world: TestWorld
    /// The delivery as the first command read it, before it was taken.
    let entry: OutboxRecord
    /// The store as the second one has it open.
    let elsewhere: VaultDatabase

    init() async throws {
      world = try TestWorld(2)
      try await world.prove()
      world.set(.refuses, for: world[1])
      try await world.share([1, 2, 3], threshold: 2)
      world.set(.none, for: world[1])
      world.network.resetCounts()
      entry = try #require(try world[0].vault.core.database.waitingDeliveries().first)
      elsewhere = try world[0].opened().core.database
      try take(at: entry.nextAttemptAt)
    }

    private func take(at time: Int64) throws {
      try #require(try elsewhere.claimDelivery(entry.id, at: time, retryAt: time + OutboxRecord.lease))
    }

    /// Waits until the first command has looked at what is there by now, and goes on waiting.
    private func look() async throws { try await world.waiting.look(every: .seconds(5)) }

    /// What the first command tells after `change`, and not before.
    private func outcome(after change: (VaultDatabase) async throws -> Void) async throws -> [Delivery] {
      let told = Collected<Delivery>()
      let (vault, entry) = (world[0].vault, entry)
      let waiting = Task {
        await vault.sharing.deliver([entry]) { event in
          if case .delivery(let delivery) = event { told.add(delivery) }
        }
      }
      try await look()
      #expect(told.all.isEmpty)
      try await change(elsewhere)
      await waiting.value
      // Whatever came of it, it was not dialled twice.
      #expect(world.network.dialled.isEmpty)
      return told.all
    }

    @Test func `a share that the other has delivered is told as delivered`() async throws {
      let told = try await outcome { try $0.settleDelivered(entry.id, route: "session") }
      #expect(told == [Delivery(peer: "ben", index: 2, state: .delivered, reason: nil)])
    }

    @Test func `a refusal that the other was given is told with its reason`() async throws {
      let told = try await outcome { try $0.settleRefused(entry.id, route: "session", error: "refused: no room") }
      #expect(told == [Delivery(peer: "ben", index: 2, state: .refused, reason: "refused: no room")])
    }

    @Test func `a failed attempt of the other is told with its reason`() async throws {
      let told = try await outcome {
        try $0.postponeDelivery(entry.id, until: world.clock.now + 15_000, route: "session", error: "is very slow")
      }
      #expect(told == [Delivery(peer: "ben", index: 2, state: .unreachable, reason: "is very slow")])
    }

    @Test func `an attempt that fails as the one before is noticed by its time`() async throws {
      let reason = try #require(entry.lastError)
      let told = try await outcome {
        try $0.postponeDelivery(entry.id, until: world.clock.now + 15_000, route: "session", error: reason)
      }
      #expect(told == [Delivery(peer: "ben", index: 2, state: .unreachable, reason: reason)])
    }

    @Test func `a delivery that ends because its peer is removed is told as cancelled`() async throws {
      let told = try await outcome { _ in _ = try world[0].opened().trust.removePeer("ben") }
      #expect(told.map(\.state) == [.cancelled] && told.map(\.peer) == ["ben"])
    }

    @Test func `an attempt that lasts is waited for as long as its lease is renewed`() async throws {
      let told = try await outcome { database in
        for _ in 0..<4 {
          world.clock.advance(milliseconds: SecretVault.Sharing.leaseRenewal)
          try database.extendLease(entry.id, until: world.clock.now + OutboxRecord.lease)
          // Else it may know the time that comes now, and not yet the lease.
          try await look()
          world.clock.advance(milliseconds: SecretVault.Sharing.leaseRenewal)
          try await look()
        }
        try database.settleDelivered(entry.id, route: "session")
      }
      #expect(told.map(\.state) == [.delivered])
    }

    @Test func `when the other has died, the wait ends with its lease, and the share waits`() async throws {
      let told = try await outcome { _ in world.clock.advance(milliseconds: 15_000 + OutboxRecord.lease) }
      #expect(told.map(\.state) == [.waiting])
      #expect(told.first?.reason == "another command was at it and has ended")
      // The next one delivers it.
      #expect(try await world[0].vault.sharing.retry(nil) { _ in }.first?.isFinished == true)
    }

    @Test func `when a third takes over from one that has died, the wait goes on for that one`() async throws {
      let told = try await outcome { database in
        try take(at: entry.nextAttemptAt + OutboxRecord.lease)
        world.clock.advance(milliseconds: 15_000 + OutboxRecord.lease)
        try await look()
        try database.settleDelivered(entry.id, route: "session")
      }
      #expect(told.map(\.state) == [.delivered])
    }

    @Test func `a wait that is cancelled ends at once and tells nothing`() async throws {
      let told = Collected<ShareEvent>()
      let (vault, entry) = (world[0].vault, entry)
      let waiting = Task { await vault.sharing.deliver([entry]) { told.add($0) } }
      try await look()
      waiting.cancel()
      await waiting.value
      #expect(told.all.isEmpty)
      #expect(try elsewhere.delivery(entry.id)?.state == .waiting)
    }
  }
}
