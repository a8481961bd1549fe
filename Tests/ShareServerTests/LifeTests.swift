import Foundation
import TestTime
import Testing

@testable import ShareServer

/// When groups, and names of their users, end by themselves.
@Suite struct LifeTests {
  @Test func `what is jumped over counts as no time, also for who looked at the clock just before`() {
    let (start, jump) = (1_800_000_000_000 as Int64, 100 * 86_400_000 as Int64)
    let lives = LifeClock(.init(mark: start, skipped: 7))
    #expect(lives.look(at: start + LifeClock.longestStep).life == start + LifeClock.longestStep - 7)
    let before = lives.look(at: start + LifeClock.longestStep).life
    #expect(lives.look(at: start + jump).life == before)
    #expect(lives.look(at: start + LifeClock.longestStep + 1).life == before)
    #expect(lives.look(at: start + jump + 5).life == before + 5)
  }

  @Test(arguments: Keeping.allCases)
  func `a group that nobody uses for three months ends, and one that somebody asks for doesn't`(
    _ keeping: Keeping
  ) async throws {
    let clock = TestClock()
    let day: Int64 = 86_400_000
    try await Service.run(keeping, clock: clock) { service, _ in
      let (used, unused) = (try await service.makeGroup(ttl: 60), try await service.makeGroup(ttl: 60))
      func pass(_ days: Int) async throws {
        for _ in 0..<days {
          clock.advance(milliseconds: day)
          try await service.store.sweep()
        }
      }
      try await pass(80)
      #expect(try await service.ask("GET", used.path, key: used.accessKey).status == 200)
      try await pass(9)
      #expect(service.store.totals.groups == 2)
      try await pass(2)
      #expect(service.store.totals.groups == 1)
      #expect(try await service.ask("GET", unused.path, key: unused.accessKey).status == 401)
      #expect(try await service.ask("GET", used.path, key: used.accessKey).status == 200)
    }
  }

  @Test(arguments: Keeping.allCases)
  func `groups outlive a clock that jumps by months, and what they have expires`(_ keeping: Keeping) async throws {
    let clock = TestClock()
    let day: Int64 = 86_400_000
    try await Service.run(keeping, clock: clock) { service, _ in
      let group = try await service.makeGroup(ttl: 60)
      let user = try await group.addUser(at: service.place)
      _ = try await group.put([1], as: user, at: service.place)
      for _ in 0..<3 {
        clock.advance(milliseconds: 100 * day)
        try await service.store.sweep()
        #expect(service.store.totals.groups == 1 && service.store.totals.shares == 0)
      }
      let time = clock.now
      // The service's own clock doesn't follow; Redis's can't be set here.
      if keeping == .sqlite { clock.turn(by: .milliseconds(-300 * day)) }
      let receipt: Receipted = try await group.put([2], as: user, at: service.place).json()
      #expect(receipt.expires >= time + 60_000)
      #expect(try await group.list(as: group.ownUser, at: service.place).shares.map(\.data) == [Data([2])])
      // From then on it is as before.
      for _ in 0..<91 {
        clock.advance(milliseconds: day)
        try await service.store.sweep()
      }
      #expect(service.store.totals.groups == 0)
    }
  }

  @Test func `groups outlive that the service is down for months`() async throws {
    let clock = TestClock()
    let folder = try Folder()
    var service = try await Service.start(folder, clock: clock)
    let group = try await service.makeGroup(ttl: 60)
    await service.stop()
    clock.advance(milliseconds: 400 * 86_400_000)
    service = try await Service.start(folder, clock: clock)
    try await service.store.sweep()
    #expect(try await service.ask("GET", group.path, key: group.accessKey).status == 200)
    #expect(service.store.totals.groups == 1)
    await service.stop()
  }

  @Test(arguments: Keeping.allCases)
  func `names of removed users are kept only in a limited number`(_ keeping: Keeping) async throws {
    let clock = TestClock()
    try await Service.run(keeping, clock: clock) { options in
      options.limits.groupUsers = 2
      options.limits.keyRate = 0
    } _: { service, _ in
      let group = try await service.makeGroup(ttl: 60)
      func turn() async throws -> Answer {
        let answer = try await service.ask("POST", group.path + "/users", key: group.masterKey)
        guard answer.status == 201 else { return answer }
        let user: User = try answer.json()
        return try await service.ask("DELETE", "\(group.path)/users/\(user.user)", key: group.masterKey)
      }
      for _ in 0..<16 { #expect(try await turn().status == 204) }
      let refused = try await turn()
      #expect(refused.status == 507 && refused.code == "quota")
      clock.advance(milliseconds: 61_000)
      try await service.store.sweep()
      #expect(try await turn().status == 204)
    }
  }
}
