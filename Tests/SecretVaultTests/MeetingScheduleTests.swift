import Courier
import Sodium
import Testing

@testable import SecretVault

/// Whom the daemon meets when.
@Suite struct MeetingScheduleTests {
  private typealias Situation = MeetingSchedule.Situation

  private func peer(_ number: UInt8) throws -> Digest { try Digest([UInt8](repeating: number, count: 32)) }

  private func waits(_ number: UInt8, parcels: [UInt8]) throws -> Situation {
    var situation = Situation(peer: try peer(number))
    situation.waiting = Set(parcels.map { [$0] })
    situation.hasOwn = true
    situation.hasAddress = true
    return situation
  }

  @Test func `something new is brought at once, and then later and later`() throws {
    var schedule = MeetingSchedule()
    let one = try waits(1, parcels: [1])
    #expect(schedule.begin([one], at: 0) == [one.peer])
    schedule.finished(one.peer, isDone: false)
    var times: [Double] = []
    for second in 1...(4 * 3600) {
      let now = Double(second) * 1000
      guard !schedule.begin([one], at: now).isEmpty else { continue }
      times.append(now)
      schedule.finished(one.peer, isDone: false)
    }
    #expect(times.count >= 6 && times.count <= 10)
    let pauses = zip(times.dropFirst(), times).map { $0 - $1 }
    #expect(times[0] >= 54_000 && times[0] <= 67_000)
    #expect(pauses.allSatisfy { $0 <= 3_960_000 + 1000 })
    #expect(try #require(pauses.last) >= 3_240_000 - 1000)
  }

  @Test func `a new parcel doesn't wait for the old one's time`() throws {
    var schedule = MeetingSchedule()
    for _ in 0..<8 {
      let known = try waits(1, parcels: [1])
      _ = schedule.begin([known], at: -1e9)
      schedule.finished(known.peer, isDone: false)
    }
    let before = try waits(1, parcels: [1])
    _ = schedule.begin([before], at: 0)
    schedule.finished(before.peer, isDone: false)
    #expect(schedule.begin([before], at: 10_000).isEmpty)
    let after = try waits(1, parcels: [1, 2])
    #expect(schedule.begin([after], at: 11_000) == [after.peer])
  }

  @Test func `when the network is back, who couldn't be reached is dialled at once`() throws {
    var schedule = MeetingSchedule()
    let one = try waits(1, parcels: [1])
    for attempt in 0..<6 {
      _ = schedule.begin([one], at: Double(attempt) * 4e6)
      schedule.finished(one.peer, isDone: false)
    }
    #expect(schedule.begin([one], at: 5 * 4e6 + 10_000).isEmpty)
    schedule.networkChanged()
    #expect(schedule.begin([one], at: 5 * 4e6 + 11_000) == [one.peer])
  }

  @Test func `whoever calls is dialled, though it couldn't be reached before`() throws {
    var schedule = MeetingSchedule()
    var one = try waits(1, parcels: [1])
    for attempt in 0..<6 {
      _ = schedule.begin([one], at: Double(attempt) * 4e6)
      schedule.finished(one.peer, isDone: false)
    }
    let last = 5 * 4e6
    #expect(schedule.begin([one], at: last + 100_000).isEmpty)
    one.seenAt = last + 90_000
    #expect(schedule.begin([one], at: last + 100_000) == [one.peer])
  }

  @Test func `a dial that failed holds up neither who appears in the room nor who calls`() throws {
    for isHeard in [true, false] {
      var schedule = MeetingSchedule()
      var one = try waits(1, parcels: [1])
      #expect(schedule.begin([one], at: 0) == [one.peer])
      schedule.finished(one.peer, isDone: false)
      #expect(schedule.begin([one], at: 12_000).isEmpty)
      if isHeard { one.isHeard = true } else { one.seenAt = 11_000 }
      #expect(schedule.begin([one], at: 12_000) == [one.peer])
      schedule.finished(one.peer, isDone: false)
      #expect(schedule.begin([one], at: 13_000).isEmpty)
    }
  }

  @Test func `peers that can't be reached are dialled behind those that may be`() throws {
    var schedule = MeetingSchedule()
    let dead = try (1...8).map { try waits(UInt8($0), parcels: [1]) }
    for _ in 0..<2 {
      for peer in schedule.begin(dead, at: 0) { schedule.finished(peer, isDone: false) }
    }
    let alive = try waits(9, parcels: [1])
    #expect(schedule.begin(dead + [alive], at: 3_600_000).first == alive.peer)
  }

  @Test func `without anything to carry nobody is disturbed`() throws {
    var schedule = MeetingSchedule()
    var idle = Situation(peer: try peer(1))
    idle.hasAddress = true
    idle.isHeard = true
    #expect(schedule.begin([idle], at: 0).isEmpty)
    #expect(schedule.begin([idle], at: 1e9).isEmpty)
  }

  @Test func `carriers are met each quarter of an hour, and sooner when there is something new`() throws {
    var schedule = MeetingSchedule()
    var carrier = Situation(peer: try peer(1))
    carrier.hasAddress = true
    carrier.mayCarry = true
    #expect(schedule.begin([carrier], at: 0) == [carrier.peer])
    schedule.finished(carrier.peer, isDone: true)
    #expect(schedule.begin([carrier], at: 600_000).isEmpty)
    carrier.spreading = [[1]]
    #expect(schedule.begin([carrier], at: 600_000) == [carrier.peer])
    schedule.finished(carrier.peer, isDone: true)
    #expect(schedule.begin([carrier], at: 700_000).isEmpty)
    #expect(schedule.begin([carrier], at: 1_600_000) == [carrier.peer])
  }

  @Test func `word of what has arrived goes round soon, but nobody is called again and again in vain`() throws {
    var schedule = MeetingSchedule()
    var carrier = Situation(peer: try peer(1))
    carrier.hasAddress = true
    carrier.hasNews = true
    #expect(schedule.begin([carrier], at: 0) == [carrier.peer])
    schedule.finished(carrier.peer, isDone: false)
    var count = 0
    for second in 1...7200 where !schedule.begin([carrier], at: Double(second) * 1000).isEmpty {
      count += 1
      schedule.finished(carrier.peer, isDone: false)
    }
    #expect((8...16).contains(count))
    carrier.hasNews = false
    #expect(schedule.begin([carrier], at: 1e8).isEmpty)
  }

  @Test func `whoever has just been met isn't met again`() throws {
    var schedule = MeetingSchedule()
    var carrier = Situation(peer: try peer(1))
    carrier.hasAddress = true
    carrier.mayCarry = true
    carrier.metAt = 1_000_000
    #expect(schedule.begin([carrier], at: 1_500_000).isEmpty)
    #expect(schedule.begin([carrier], at: 2_000_000) == [carrier.peer])
  }

  @Test func `whoever appears in the room is met at once, without an address, and not again and again`() throws {
    var schedule = MeetingSchedule()
    var one = Situation(peer: try peer(1))
    one.mayCarry = true
    #expect(schedule.begin([one], at: 0).isEmpty)
    one.isHeard = true
    #expect(schedule.begin([one], at: 1000) == [one.peer])
    schedule.finished(one.peer, isDone: true)
    #expect(schedule.begin([one], at: 130_000).isEmpty)
    one.isHeard = false
    #expect(schedule.begin([one], at: 131_000).isEmpty)
    one.isHeard = true
    #expect(schedule.begin([one], at: 132_000) == [one.peer])
  }

  @Test func `few are met at a time, those first for whom something waits, and each once`() throws {
    var schedule = MeetingSchedule()
    var all = try (1...6).map { try carrier($0) }
    all.append(try waits(7, parcels: [1]))
    let first = schedule.begin(all, at: 0)
    #expect(first.count == 3)
    #expect(first.first == all[6].peer)
    #expect(schedule.begin(all, at: 1000).isEmpty)
    schedule.finished(first[1], isDone: true)
    let second = schedule.begin(all, at: 2000)
    #expect(second.count == 1 && !first.contains(second[0]))
  }

  @Test func `carriers that are slow keep no peer waiting for what is its own`() throws {
    var schedule = MeetingSchedule()
    let slow = try (1...6).map { try carrier($0) }
    #expect(schedule.begin(slow, at: 0).count == MeetingSchedule.atOnce - MeetingSchedule.keptForOwn)
    let waiting = try (7...9).map { try waits($0, parcels: [$0]) }
    #expect(schedule.begin(slow + waiting, at: 5000).count == MeetingSchedule.keptForOwn)
    // Those take the others' places, too.
    var fresh = MeetingSchedule()
    let many = try (11...16).map { try waits($0, parcels: [$0]) }
    #expect(fresh.begin(slow + many, at: 0).count == MeetingSchedule.atOnce)
  }

  private func carrier(_ number: UInt8) throws -> Situation {
    var carrier = Situation(peer: try peer(number))
    carrier.hasAddress = true
    carrier.mayCarry = true
    return carrier
  }
}
