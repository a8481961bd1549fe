import Testing

@testable import Courier

/// What a device names that has more parcels than a greeting holds.
@Suite struct GreetingTests {
  /// Device 0 with so many own parcels for device 1, for device 2, and so many of others for nobody here.
  private func town(forThem: Int, own: Int, others: Int) throws -> Town {
    var town = try Town(4)
    for _ in 0..<forThem { try town.send(from: 0, to: 1, lasts: 30 * day) }
    for _ in 0..<own { try town.send(from: 0, to: 2, lasts: 30 * day) }
    for number in 0..<others {
      _ = town.devices[0].took(
        try header(10_000 + number, size: 100, expiresAt: start + 30 * day), from: town.keys[3], isPeer: true,
        isMine: false, at: start)
    }
    #expect(town.devices[0].satchel.parcels.count == others)
    return town
  }

  private func named(_ town: Town, at now: Int64) -> Set<ParcelKey> {
    Set(town.devices[0].greeting(for: town.keys[1], DeviceCondition(), at: now).copies.map(\.id))
  }

  @Test(arguments: [day, hour, 1]) func `however regular meetings are, each parcel is named in one of them`(
    interval: Int64
  ) throws {
    let town = try town(forThem: 400, own: 400, others: 400)
    var left = Set(town.devices[0].outgoing.keys).union(town.devices[0].satchel.parcels.keys.map(\.id))
    for number in 0..<400 {
      let ids = named(town, at: start + Int64(number) * interval)
      #expect(ids.count == Greeting.idLimit)
      left.subtract(ids)
    }
    #expect(left.isEmpty)
  }

  @Test func `however many own parcels there are, others' have half of the places`() throws {
    let town = try town(forThem: 0, own: 1000, others: 300)
    let carried = Set(town.devices[0].satchel.parcels.keys.map(\.id))
    #expect(named(town, at: start).count { carried.contains($0) } == Greeting.idLimit / 2)
  }

  @Test func `what is for whoever is met leaves a quarter of the places for the rest`() throws {
    let town = try town(forThem: 1000, own: 20, others: 300)
    let ids = named(town, at: start)
    let outgoing = town.devices[0].outgoing
    #expect(ids.count { outgoing[$0]?.recipient == town.keys[1] } == Greeting.idLimit / 4 * 3)
    #expect(ids.count { outgoing[$0]?.recipient == town.keys[2] } == 20)
    #expect(ids.count == Greeting.idLimit)
  }

  @Test func `places that one kind doesn't need another one gets`() throws {
    let town = try town(forThem: 240, own: 3, others: 14)
    let ids = named(town, at: start)
    #expect(ids.count == Greeting.idLimit)
    #expect(ids.count { town.devices[0].outgoing[$0]?.recipient == town.keys[1] } == 239)
  }
}
