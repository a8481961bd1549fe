import ShamirKit
import Sodium
import Testing
import VaultStore

@testable import SecretVault

extension VaultTests {
  @Suite struct ScheduledDrills {
    private func events(_ member: Member, _ event: String) throws -> Int {
      try member.vault.overview.log(limit: 200).count { $0.event == event }
    }

    private func round(_ world: TestWorld, after milliseconds: Int64) async throws {
      world.clock.advance(milliseconds: milliseconds)
      try await world[0].vault.checking.drillWhatIsDue(since: 0)
    }

    @Test func `nothing is checked unless the user wants it`() async throws {
      let world = try TestWorld(2)
      try await world.share([1], threshold: 2)
      try await round(world, after: 100 * 86_400_000)
      #expect(try events(world[0], "checked") == 0)
    }

    @Test func `each secret is checked once an interval`() async throws {
      let world = try TestWorld(2)
      _ = try world[0].vault.core.set("check-interval", to: "1d")
      for number in 0..<3 { try await world.share([1], threshold: 2, name: "\(number)") }
      try await round(world, after: 0)
      #expect(try events(world[0], "checked") == 3)
      try await round(world, after: 12 * 3_600_000)
      #expect(try events(world[0], "checked") == 3)
      try await round(world, after: 12 * 3_600_000)
      #expect(try events(world[0], "checked") == 6)
    }

    @Test func `after the start secrets that were never checked come one after the other`() async throws {
      let world = try TestWorld(2)
      for number in 0..<8 { try await world.share([1], threshold: 2, name: "\(number)") }
      let now = world.clock.now
      func due(after milliseconds: Int64) throws -> Int {
        try world[0].vault.checking.dueDrills(at: now + milliseconds, every: 86_400_000, since: now).count
      }
      let counts = try stride(from: Int64(0), through: 600_000, by: 60_000).map { try due(after: $0) }
      #expect(counts.last == 8 && counts == counts.sorted())
      #expect(Set(counts).count > 2, "\(counts)")
    }

    @Test func `the user is warned when holders fall to the threshold, and below it, once each`() async throws {
      let world = try TestWorld(4)
      _ = try world[0].vault.core.set("check-interval", to: "1h")
      _ = try world[0].vault.core.set("notify-command", to: "tell")
      try await world.share([1], threshold: 2, description: "keys")
      func told(_ event: String) -> Int {
        world.notifications.told(to: world[0]).count { $0.event.event == event }
      }
      try await round(world, after: 3_600_000)
      #expect(told("holders-low") == 0)
      for member in [2, 3] { world.set(.refuses, for: world[member]) }
      for _ in 0..<3 { try await round(world, after: 3_600_000) }
      #expect(told("holders-low") == 1 && told("holders-lost") == 0)
      world.set(.refuses, for: world[1])
      for _ in 0..<3 { try await round(world, after: 3_600_000) }
      #expect(told("holders-low") == 1 && told("holders-lost") == 1)
      let event = world.notifications.told(to: world[0]).last?.event
      #expect(event?.description == "keys" && event?.detail == "1 of 4 holders answered, 2 needed")
      // Back, and lost again: that is another fall.
      for member in 1...3 { world.set(.none, for: world[member]) }
      try await round(world, after: 3_600_000)
      for member in [2, 3] { world.set(.refuses, for: world[member]) }
      try await round(world, after: 3_600_000)
      #expect(told("holders-low") == 2 && told("holders-lost") == 1)
    }

    @Test func `where all shares are needed and all are there, there is nothing to warn of`() async throws {
      let world = try TestWorld(2)
      _ = try world[0].vault.core.set("check-interval", to: "1h")
      try await world.share([1], threshold: 2)
      try await round(world, after: 3_600_000)
      #expect(try events(world[0], "checked") == 1 && events(world[0], "holders-low") == 0)
    }

    @Test func `a check by hand warns nobody, and spoils no later warning`() async throws {
      let world = try TestWorld(3)
      _ = try world[0].vault.core.set("check-interval", to: "1h")
      try await world.share([1], threshold: 2)
      world.set(.refuses, for: world[1])
      _ = try await world.check(by: 0)
      #expect(try events(world[0], "holders-low") == 0)
      try await round(world, after: 3_600_000)
      #expect(try events(world[0], "holders-low") == 1)
    }

    @Test func `a clock that was set back doesn't put a check off for ever`() async throws {
      let world = try TestWorld(2)
      let id = try await world.share([1], threshold: 2).id
      world.clock.advance(milliseconds: 1000 * 86_400_000)
      _ = try await world.check(by: 0)
      world.clock.advance(milliseconds: -999 * 86_400_000)
      let due = try world[0].vault.checking.dueDrills(at: world.clock.now, every: 3_600_000, since: 0)
      #expect(due.map { $0.description } == [id])
    }

    @Test func `those that were never checked come first, then those whose check is longest ago`() async throws {
      let world = try TestWorld(2)
      var ids: [String] = []
      for number in 0..<5 { ids.append(try await world.share([1], threshold: 2, name: "\(number)").id) }
      let order = [ids[3], ids[0], ids[4]]
      for id in order {
        world.clock.advance(milliseconds: 60_000)
        _ = try await world.check(by: 0, id)
      }
      world.clock.advance(milliseconds: 100 * 86_400_000)
      let due = try world[0].vault.checking.dueDrills(at: world.clock.now, every: 86_400_000, since: 0).map {
        $0.description
      }
      #expect(Set(due.prefix(2)) == [ids[1], ids[2]])
      #expect(Array(due.dropFirst(2)) == order)
    }

    @Test func `a secret that is damaged in the store stops no other's check, and is left alone for a while`()
      async throws
    {
      let world = try TestWorld(2)
      _ = try world[0].vault.core.set("check-interval", to: "1d")
      var ids: [String] = []
      for number in 0..<3 { ids.append(try await world.share([1], threshold: 2, name: "\(number)").id) }
      try world[0].execute("UPDATE secrets SET created_at = created_at + 1 WHERE hex(id) = upper('\(ids[1])')")
      try await round(world, after: 86_400_000)
      #expect(try events(world[0], "checked") == 2)
      func isPostponed() throws -> Bool {
        let id = try #require(SecretID(named: ids[1]))
        return world[0].vault.checking.postponedDrills.contains(id, at: world.clock.now)
      }
      #expect(try isPostponed())
      world.clock.advance(milliseconds: 3_600_000)
      #expect(try !isPostponed())
      world.clock.advance(milliseconds: -100 * 86_400_000)
      #expect(try !isPostponed())
    }

    @Test func `what was kept of a check and is damaged counts as none`() async throws {
      let world = try TestWorld(2)
      _ = try world[0].vault.core.set("check-interval", to: "1d")
      let ids = [
        try await world.share([1], threshold: 2, name: "1").id, try await world.share([1], threshold: 2, name: "2").id,
      ]
      try await round(world, after: 86_400_000)
      try world[0].execute("UPDATE drills SET checked_at = checked_at + 1 WHERE hex(secret_id) = upper('\(ids[0])')")
      let due = try world[0].vault.checking.dueDrills(at: world.clock.now, every: 86_400_000, since: 0)
      #expect(due.map { $0.description } == [ids[0]])
      #expect(try world[0].vault.overview.status().secrets.count { $0.lastCheck == nil } == 1)
      try await round(world, after: 0)
      #expect(try world[0].vault.overview.status().secrets.allSatisfy { $0.lastCheck != nil })
    }

    @Test(arguments: ["off", "1m", "90m", "12h", "1d", "365d", ""]) func `an interval`(value: String) throws {
      let world = try TestWorld(1)
      _ = try world[0].vault.core.set("check-interval", to: value)
    }

    @Test(arguments: ["on", "0m", "1s", "1", "d", "-1d", "366d", "1.5d", "99999999999999999999d", "1D", " 1d"])
    func `no interval`(value: String) async throws {
      let world = try TestWorld(1)
      let error = await refusal { try world[0].vault.core.set("check-interval", to: value) }
      #expect(error?.code == .usage)
    }
  }
}
