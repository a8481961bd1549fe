import Testing

@testable import Courier

/// What `Courier` says that a liar can do, and no more.
@Suite struct HostileTests {
  @Test func `who claims to meet everybody gets one place of a parcel`() throws {
    var town = try Town(9)
    town.liars = [1]
    let id = try town.send(from: 0, to: 8)
    for _ in 0..<10 { try town.meet(0, 1, at: start) }
    for other in 2...7 { try town.meet(0, other, at: start) }
    #expect(town.given.count { $0.to == 1 } == 1)
    try town.meet(2, 8, at: start + hour)
    #expect(town.arrivals[id] == 1)
  }

  @Test func `five liars keep a parcel from nobody whom its sender meets`() throws {
    var town = try Town(8)
    town.liars = [1, 2, 3, 4, 5]
    let id = try town.send(from: 0, to: 7)
    for liar in 1...5 { try town.meet(0, liar, at: start) }
    try town.meet(0, 7, at: start + hour)
    #expect(town.arrivals[id] == 1)
  }

  @Test func `a sender turns from carriers that drop everything to those that deliver`() throws {
    var town = try Town(8, policy: CourierPolicy(carriers: 2))
    town.liars = [1, 2]
    var late = 0
    for number in 0..<60 {
      let now = start + Int64(number) * hour
      try town.send(from: 0, to: 7, at: now, lasts: 4 * hour)
      let before = town.given.count
      // The liars come first, each time.
      for other in 1...4 { try town.meet(0, other, at: now) }
      if number >= 40 { late += town.given[before...].count { $0.from == 0 && town.liars.contains($0.to) } }
      for other in 3...4 { try town.meet(other, 7, at: now + 600_000) }
      for other in 3...4 { try town.meet(other, 0, at: now + 1_200_000) }
      _ = town.devices[0].expire(at: now)
    }
    #expect(town.devices[0].records.isShunned(town.keys[1], at: start + 60 * hour))
    #expect(late <= 8)
    #expect(town.arrivals.count >= 30)
  }

  @Test func `who is shunned is better than nobody`() throws {
    var town = try Town(8)
    for _ in 0..<40 { town.devices[0].records.settle(town.keys[1], arrived: false, othersArrived: false, at: start) }
    town.generator = Seeded(2)
    try town.send(from: 0, to: 7)
    try town.meet(0, 1, at: start)
    #expect(town.given.isEmpty)
    try town.meet(0, 1, at: start + day / 4)
    #expect(town.given.count == 1)
  }

  @Test func `invented meetings change nobody's estimates`() throws {
    var town = try Town(4)
    town.liars = [1]
    try town.send(from: 0, to: 3)
    let before = town.devices[0].estimate(for: town.keys[3], allowsServers: true, at: start)
    try town.meet(0, 1, at: start)
    #expect(town.devices[0].estimate(for: town.keys[3], allowsServers: true, at: start) == before)
  }

  @Test func `answers to what wasn't offered get nothing`() throws {
    var town = try Town(3)
    try town.send(from: 0, to: 2)
    let replies = [Reply(copy: try copyKey(77), answer: .wanted(UInt16.max))]
    var generator = Seeded(1)
    let chosen = town.devices[0].selection(
      [Offer(header: try header(77), isYours: true)], replies, to: town.keys[1], budget: .max, recipient: { _ in nil },
      at: start, using: &generator)
    #expect(chosen.isEmpty)
  }

  @Test func `a flood leaves everything bounded, and what others gave where it was`() throws {
    var town = try Town(3)
    try town.send(from: 1, to: 2)
    try town.meet(1, 0, at: start)
    town.devices[0].limits.bytesADay = .max
    let flooder = try device(500)
    var generator = Seeded(3)
    for number in 1000..<12_000 {
      let size = 1 + Int(generator.next() % UInt64(ParcelHeader.sizeLimit))
      _ = town.devices[0].took(
        try header(number, size: size, hopsLeft: 8), from: flooder, isPeer: false, isMine: false, at: start)
      if number % 8 == 0 { _ = town.devices[0].learn([try receipt(number)], from: flooder, at: start) }
      town.devices[0].met(try device(number), isPeer: false, at: start)
    }
    let flooded = town.devices[0]
    #expect(flooded.satchel.cost(of: flooder) <= flooded.limits.bytesPerGiver)
    #expect(flooded.satchel.parcels[try copyKey(1)] != nil)
    #expect(flooded.satchel.parcels.count <= CarryingLimits.parcelLimit)
    #expect(flooded.receipts.count <= ReceiptBook.limit)
    #expect(flooded.encounters.entries.count <= Encounters.limit)
    #expect(flooded.carried.expiries.count <= SeenParcels<CopyKey>.limit)
  }

  @Test func `long lists are read up to their limit`() throws {
    var town = try Town(2)
    let many = try (0..<2000).map { try copyKey($0) }
    #expect(Greeting(copies: many, takes: true).copies.count == Greeting.idLimit)
    let offers = try (0..<2000).map { Offer(header: try header($0), isYours: false) }
    let replies = town.devices[0].replies(
      to: offers, from: town.keys[1], isPeer: true, DeviceCondition(), isMine: { _ in false }, recipient: { _ in nil },
      at: start)
    #expect(replies.count == Offer.limit)
    let receipts = try (0..<2000).map { try receipt($0) }
    _ = town.devices[0].learn(receipts, from: town.keys[1], at: start)
    #expect(town.devices[0].receipts.count == Greeting.idLimit)
  }

  @Test(arguments: [Int64.min, -1, 0, Int64.max]) func `no time makes it fail`(now: Int64) throws {
    var town = try Town(3)
    let device = town.keys[1]
    town.devices[0].met(device, isPeer: true, at: now)
    town.devices[0].met(device, isPeer: true, at: start)
    _ = town.devices[0].took(try header(1), from: device, isPeer: true, isMine: false, at: now)
    _ = town.devices[0].took(try header(2), from: device, isPeer: true, isMine: true, at: now)
    _ = town.devices[0].learn([try receipt(1)], from: device, at: now)
    _ = town.devices[0].expire(at: now)
    #expect(town.devices[0].satchel.parcels.isEmpty)
  }

  @Test func `a parcel that would last too long isn't carried`() throws {
    var town = try Town(2)
    let arrival = town.devices[0].took(
      try header(1, expiresAt: start + 32 * day), from: town.keys[1], isPeer: true, isMine: false, at: start)
    #expect(arrival == .refused)
  }

  @Test func `a receipt for a branch that was never given credits nobody`() throws {
    var town = try Town(3)
    try town.send(from: 0, to: 2)
    try town.meet(0, 1, at: start)
    _ = town.devices[0].learn([try receipt(1, branch: 4)], from: town.keys[1], at: start)
    #expect(town.devices[0].records.records.count == 0)
    #expect(town.devices[0].outgoing.isEmpty)
  }

  @Test func `an altered copy keeps no true one from its recipient`() throws {
    var town = try Town(3)
    let altered = town.devices[0].took(try header(1), from: town.keys[1], isPeer: true, isMine: true, at: start)
    // Not confirmed, since it couldn't be opened.
    let genuine = town.devices[0].took(try header(1), from: town.keys[2], isPeer: true, isMine: true, at: start)
    #expect(altered == .mine && genuine == .mine)
    town.devices[0].confirmed(try receipt(1), at: start)
    #expect(town.devices[0].took(try header(1), from: town.keys[2], isPeer: true, isMine: true, at: start) == .known)
  }

  @Test func `a full device asks for nothing that it would refuse`() throws {
    var town = try Town(2, limits: room(3000))
    for number in 1...3 {
      _ = town.devices[0].took(try header(number), from: town.keys[1], isPeer: true, isMine: false, at: start)
    }
    let offers = [Offer(header: try header(4), isYours: false)]
    let replies = town.devices[0].replies(
      to: offers, from: town.keys[1], isPeer: true, DeviceCondition(), isMine: { _ in false }, recipient: { _ in nil },
      at: start)
    #expect(replies.map(\.answer) == [.refused])
  }
}
