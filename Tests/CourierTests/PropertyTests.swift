@testable import Courier
import Testing

/// What holds whatever happens, over random towns.
@Suite struct PropertyTests {
  private func lived(
    _ seed: UInt64, policy: CourierPolicy = CourierPolicy(), limits: CarryingLimits = CarryingLimits(),
    liars: Set<Int> = []
  ) throws -> Town {
    var town = try Town(20, policy: policy, limits: limits, seed: seed)
    town.liars = liars
    try town.live(meetings: 1200, parcels: 100)
    return town
  }

  @Test(arguments: 1...4) func `no parcel arrives twice`(seed: UInt64) throws {
    let town = try lived(seed)
    #expect(town.arrivals.values.allSatisfy { $0 == 1 })
    #expect(town.arrivals.count > 80)
  }

  @Test(arguments: 1...4) func `no sender has more than five carriers for a parcel`(seed: UInt64) throws {
    let town = try lived(seed)
    var carriers: [ParcelKey: Set<Int>] = [:]
    var senders: [ParcelKey: Int] = [:]
    for gift in town.given {
      // Whoever gives a parcel first is its sender.
      let sender = senders[gift.id, default: gift.from]
      senders[gift.id] = sender
      if gift.from == sender, !gift.isTheirs { #expect(carriers[gift.id, default: []].insert(gift.to).inserted) }
    }
    #expect(carriers.values.allSatisfy { $0.count <= 5 })
    #expect(carriers.values.contains { $0.count == 5 })
  }

  @Test(arguments: 1...4, [1, 2, 4] as [UInt8]) func `no parcel is in more hands than its hops`(
    seed: UInt64, hops: UInt8
  ) throws {
    let town = try lived(seed, policy: CourierPolicy(hops: hops))
    var depth: [ParcelKey: [Int: Int]] = [:]
    var deepest = 0
    for gift in town.given where !gift.isTheirs {
      let hops = depth[gift.id]?[gift.from].map { $0 + 1 } ?? 1
      depth[gift.id, default: [:]][gift.to] = hops
      deepest = max(deepest, hops)
    }
    #expect(deepest <= Int(hops))
    #expect(deepest >= min(2, Int(hops)))
  }

  @Test(arguments: 1...4) func `nobody carries the same parcel twice, and nothing goes back`(seed: UInt64) throws {
    let town = try lived(seed)
    var had: [ParcelKey: Set<Int>] = [:]
    var from: [ParcelKey: [Int: Int]] = [:]
    for gift in town.given {
      #expect(had[gift.id, default: []].insert(gift.to).inserted)
      if !gift.isTheirs { #expect(from[gift.id]?[gift.from] != gift.to) }
      from[gift.id, default: [:]][gift.to] = gift.from
    }
  }

  @Test(arguments: 1...4) func `no limit is ever passed`(seed: UInt64) throws {
    var limits = CarryingLimits()
    (limits.bytes, limits.bytesPerGiver, limits.bytesADay) = (20_000, 6000, 30_000)
    limits.fairShare = FairShare(allowance: 40_000, percent: 100)
    var town = try Town(12, limits: limits, seed: seed)
    for _ in 0..<20 {
      try town.live(meetings: 60, parcels: 30)
      for device in town.devices {
        #expect(device.satchel.bytes <= limits.bytes)
        #expect(device.account.movedToday <= limits.bytesADay)
        for giver in town.keys { #expect(device.satchel.cost(of: giver) <= limits.bytesPerGiver) }
        let share = 40_000 + device.account.carriedForMe
        #expect(device.account.carriedForOthers <= share)
      }
    }
  }

  @Test func `the same seed gives the same town`() throws {
    let (one, other) = (try lived(5), try lived(5))
    #expect(one.given.map(\.id) == other.given.map(\.id))
    #expect(one.given.map(\.to) == other.given.map(\.to))
    #expect(try lived(6).given.map(\.to) != one.given.map(\.to))
  }

  @Test(arguments: 1...4) func `with every third device a liar most parcels still arrive`(seed: UInt64) throws {
    let town = try lived(seed, liars: [1, 4, 7, 10, 13, 16, 19])
    #expect(town.arrivals.values.allSatisfy { $0 == 1 })
    #expect(Double(town.arrivals.count) > 0.8 * Double(town.recipients.count))
  }
}
