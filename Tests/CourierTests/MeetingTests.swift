import Testing

@testable import Courier

@Suite struct MeetingTests {
  @Test func `a sender gives a parcel to its recipient`() throws {
    var town = try Town(2)
    let id = try town.send(from: 0, to: 1)
    try town.meet(0, 1, at: start)
    #expect(town.arrivals[id] == 1)
    #expect(town.devices[0].outgoing.isEmpty)
    #expect(town.devices[0].account.sentDirectly == 1)
  }

  @Test func `a carrier brings a parcel, and the sender learns it`() throws {
    var town = try Town(3)
    let id = try town.send(from: 0, to: 2)
    try town.meet(0, 1, at: start)
    try town.meet(1, 2, at: start + hour)
    #expect(town.arrivals[id] == 1)
    #expect(town.devices[1].satchel.parcels.isEmpty)
    try town.meet(1, 0, at: start + 2 * hour)
    #expect(town.devices[0].outgoing.isEmpty)
    #expect(town.devices[0].account.sentByCarriers == 1)
    #expect(town.devices[0].account.carriedForMe == 1000)
    #expect(town.devices[1].account.deliveredForOthers == 1)
  }

  @Test func `a device carries for others unless told otherwise`() throws {
    var off = CarryingLimits()
    off.isOn = false
    for (limits, carries) in [(CarryingLimits(), true), (off, false)] {
      var town = try Town(3, limits: limits)
      try town.send(from: 0, to: 2)
      try town.meet(0, 1, at: start)
      #expect(town.devices[1].satchel.parcels.isEmpty != carries)
    }
  }

  @Test func `the recipient's own parcels come first`() throws {
    var town = try Town(4)
    try town.send(from: 0, to: 2)
    let mine = try town.send(from: 0, to: 1, lasts: 5 * day)
    try town.meet(0, 1, at: start)
    #expect(town.given.map(\.id).first == mine)
    #expect(town.given.count == 2)
  }

  @Test func `a sender gives a parcel to five carriers and no more`() throws {
    var town = try Town(12)
    try town.send(from: 0, to: 11)
    for other in 1...10 { try town.meet(0, other, at: start) }
    #expect(town.given.count { $0.from == 0 } == 5)
  }

  @Test func `a carrier hands on only to one that is likelier to deliver`() throws {
    var town = try Town(5)
    // Two knows the recipient, three doesn't.
    try town.meet(2, 4, at: start)
    try town.send(from: 0, to: 4, at: start)
    try town.meet(0, 1, at: start + hour)
    try town.meet(1, 3, at: start + 2 * hour)
    try town.meet(1, 2, at: start + 3 * hour)
    #expect(town.given.filter { $0.from == 1 }.map(\.to) == [2])
  }

  @Test func `a parcel never goes back to whom it came from`() throws {
    var town = try Town(3)
    try town.send(from: 0, to: 2)
    try town.meet(0, 1, at: start)
    // Afterwards the sender is by far the likelier.
    for number in 1...5 { try town.meet(0, 2, at: start - Int64(number) * day) }
    let offers = town.devices[1].offers(
      to: town.keys[0], Greeting(copies: [], takes: true), DeviceCondition(), isTheirs: { _ in false }, at: start)
    #expect(offers.isEmpty)
  }

  @Test func `with one hop carriers give to nobody but the recipient`() throws {
    var town = try Town(4, policy: CourierPolicy(hops: 1))
    try town.meet(2, 3, at: start)
    let id = try town.send(from: 0, to: 3)
    try town.meet(0, 1, at: start)
    try town.meet(1, 2, at: start)
    #expect(town.given.count == 1)
    try town.meet(1, 3, at: start)
    #expect(town.arrivals[id] == 1)
  }

  @Test func `hops beyond this device's own are cut`() throws {
    var town = try Town(2, policy: CourierPolicy(hops: 3))
    _ = town.devices[0].took(
      try header(1, hopsLeft: 8), from: town.keys[1], isPeer: true, isMine: false, at: start)
    #expect(town.devices[0].satchel.parcels[try copyKey(1)]?.header.hopsLeft == 2)
  }

  @Test func `what the other has isn't offered, and what it had isn't taken`() throws {
    var town = try Town(4)
    let id = try town.send(from: 0, to: 3)
    let copy = try present(town.devices[0].outgoing[id]).header.copy
    let greeting = Greeting(copies: [copy], takes: true)
    #expect(
      town.devices[0].offers(to: town.keys[1], greeting, DeviceCondition(), isTheirs: { _ in false }, at: start).isEmpty
    )
    try town.meet(0, 1, at: start)
    _ = town.devices[1].learn([try receipt(1)], from: town.keys[2], at: start)
    let replies = town.devices[1].replies(
      to: [Offer(header: try header(1), isYours: false)], from: town.keys[2], isPeer: true, DeviceCondition(),
      isMine: { _ in false },
      recipient: { _ in nil }, at: start)
    #expect(replies == [Reply(copy: copy, answer: .had)])
  }

  @Test func `a receipt makes carriers drop the parcel`() throws {
    var town = try Town(4)
    try town.send(from: 0, to: 3)
    try town.meet(0, 1, at: start)
    try town.meet(0, 2, at: start)
    try town.meet(1, 3, at: start + hour)
    try town.meet(1, 2, at: start + 2 * hour)
    #expect(town.devices[2].satchel.parcels.isEmpty)
    try town.meet(2, 0, at: start + 3 * hour)
    #expect(town.devices[0].outgoing.isEmpty)
  }

  @Test func `what doesn't fit into the time of a meeting stays`() throws {
    var town = try Town(2)
    for _ in 0..<5 { try town.send(from: 0, to: 1) }
    try town.meet(0, 1, at: start, budget: 2500)
    #expect(town.arrivals.count == 2)
    try town.meet(0, 1, at: start + hour)
    #expect(town.arrivals.count == 5)
  }

  @Test func `a patient sender waits for a carrier that knows the recipient`() throws {
    var town = try Town(4, policy: CourierPolicy(patience: hour))
    try town.meet(2, 3, at: start - hour)
    try town.send(from: 0, to: 3)
    try town.meet(0, 1, at: start)
    #expect(town.given.count == 1)
    try town.meet(0, 2, at: start + 60_000)
    #expect(town.given.map(\.to) == [1, 2])
  }

  @Test func `a device with little battery takes nothing for others, but its own`() throws {
    let town = try Town(3)
    let low = DeviceCondition(battery: 19)
    let offers = [Offer(header: try header(1), isYours: false), Offer(header: try header(2), isYours: true)]
    let replies = town.devices[0].replies(
      to: offers, from: town.keys[1], isPeer: true, low, isMine: { $0.id == offers[1].header.id },
      recipient: { _ in nil }, at: start)
    #expect(replies.map(\.answer) == [.refused, .wanted(UInt16.max)])
    #expect(!town.devices[0].greeting(low, at: start).takes)
  }

  @Test func `a carrier with a network leaves everything there once`() throws {
    var town = try Town(3)
    try town.send(from: 0, to: 2)
    try town.meet(0, 1, at: start)
    let id = try copyKey(1)
    #expect(town.devices[1].deposits(DeviceCondition(), at: start) == [id])
    town.devices[1].deposited(id, at: start)
    #expect(town.devices[1].deposits(DeviceCondition(), at: start).isEmpty)
    #expect(town.devices[0].deposits(DeviceCondition(), at: start) == [id])
  }

  @Test func `what is for no server is left at none, in whoever's hands it is`() throws {
    var town = try Town(5)
    try town.meet(2, 4, at: start - 10 * hour)
    for hours: Int64 in 1...2 { try town.meet(3, 4, at: start - (3 - hours) * hour) }
    let id = try town.send(from: 0, to: 4, allowsServers: false)
    for place in 0..<3 { try town.meet(place, place + 1, at: start + Int64(place) * hour) }
    for device in town.devices[1...3] {
      #expect(device.satchel.parcels.values.first { $0.header.id == id }?.header.allowsServers == false)
    }
    for device in town.devices { #expect(device.deposits(DeviceCondition(), at: start + 3 * hour).isEmpty) }
  }

  @Test func `what servers may have is left there by each of its carriers`() throws {
    var town = try Town(5)
    try town.meet(3, 4, at: start - hour)
    try town.meet(2, 3, at: start - hour / 2)
    town.devices[2].met(.network, isPeer: true, at: start)
    let id = try town.send(from: 0, to: 4)
    for place in 0..<3 { try town.meet(place, place + 1, at: start + Int64(place) * 60_000) }
    #expect(town.given.map(\.to) == [1, 2, 3])
    for device in town.devices[...3] { #expect(device.deposits(DeviceCondition(), at: start + hour).map(\.id) == [id]) }
  }

  @Test func `a server is no way for what is for none`() throws {
    var town = try Town(5)
    town.devices[2].met(.network, isPeer: true, at: start)
    try town.send(from: 0, to: 4, allowsServers: false)
    try town.meet(0, 1, at: start)
    try town.meet(1, 2, at: start)
    #expect(town.given.map(\.to) == [1])
    let (one, key) = (town.devices[2], town.keys[4])
    #expect(one.estimate(for: key, allowsServers: false, at: start) == 0)
    #expect(one.estimate(for: key, allowsServers: true, at: start) > 0)
  }

  @Test func `what is left at servers keeps within the limits, and is neither handed over nor out of reach`() throws {
    var town = try Town(5)
    town.devices[1].limits.bytesADay = 5000
    let ids = try (2...4).map { try town.send(from: 0, to: $0, size: 1500) }
    try town.meet(0, 1, at: start)
    #expect(town.devices[1].deposits(DeviceCondition(), at: start, isReachable: { $0.id == ids[2] }) == [])
    // What can't be left anywhere takes nothing of the day from others.
    town.devices[1].limits.bytesADay = 6000
    let left = town.devices[1].deposits(DeviceCondition(), at: start, isReachable: { $0.id == ids[2] })
    #expect(left.map(\.id) == [ids[2]])
    let header = try #require(left.first.flatMap { town.devices[1].satchel.parcels[$0] }?.header)
    town.devices[1].gave(header, to: town.keys[4], isTheirs: true, at: start)
    town.devices[1].limits.bytesADay = 60_000
    #expect(Set(town.devices[1].deposits(DeviceCondition(), at: start).map(\.id)) == [ids[0], ids[1]])
    #expect(town.devices[1].deposits(DeviceCondition(battery: 1), at: start).isEmpty)
    town.devices[1].limits.isOn = false
    #expect(town.devices[1].deposits(DeviceCondition(), at: start).isEmpty)
  }

  @Test func `a carrier that reaches a server is better than one that doesn't`() throws {
    var town = try Town(5)
    town.devices[2].met(.network, isPeer: true, at: start)
    try town.send(from: 0, to: 4)
    try town.meet(0, 1, at: start)
    try town.meet(1, 3, at: start)
    try town.meet(1, 2, at: start)
    #expect(town.given.filter { $0.from == 1 }.map(\.to) == [2])
  }

  @Test func `the sender is told of what never arrived, and its carriers answer for it`() throws {
    var town = try Town(3)
    let id = try town.send(from: 0, to: 2)
    try town.meet(0, 1, at: start)
    #expect(town.devices[0].expire(at: start + day) == [id])
    #expect(town.devices[0].records.records[town.keys[1]]?.settled == 1)
  }
}

@Suite struct LimitTests {
  @Test func `no more is moved in a day than allowed`() throws {
    var limits = CarryingLimits()
    limits.bytesADay = 3500
    var town = try Town(3, limits: limits)
    for _ in 0..<10 { try town.send(from: 0, to: 2, lasts: 10 * day) }
    try town.meet(0, 1, at: start)
    #expect(town.devices[1].satchel.bytes == 3000)
    // The day's bytes are used up: the recipient waits for tomorrow.
    try town.meet(1, 2, at: start + hour)
    #expect(town.arrivals.isEmpty)
    try town.meet(1, 2, at: start + day)
    #expect(town.arrivals.count == 3)
  }

  @Test func `a clock that is set back by a day starts no new day`() throws {
    var account = CarryingAccount()
    var limits = CarryingLimits()
    limits.bytesADay = 1000
    account.moved(1000, at: start)
    #expect(account.leftToday(limits, at: start - day) == 0)
    account.moved(1, at: start - day)
    #expect(account.leftToday(limits, at: start) == 0)
    #expect(account.leftToday(limits, at: start + day) == 1000)
  }

  @Test(arguments: [1000 * day, day + 1])
  func `what a clock has counted that was ahead counts for no day of the right one`(ahead: Int64) throws {
    var limits = CarryingLimits()
    limits.bytesADay = 1000
    var town = try Town(2, limits: limits)
    town.devices[0].movedInVain(1000, at: start + ahead)
    #expect(town.devices[0].leftToday(at: start + ahead) == 0)
    #expect(town.devices[0].greeting(DeviceCondition(), at: start - 1).takes)
    town.devices[0].movedInVain(400, at: start - 1)
    #expect(town.devices[0].leftToday(at: start - 1) == 600)
    #expect(town.devices[0].leftToday(at: start) == 1000)
  }

  @Test(arguments: [-1, .min]) func `fewer bytes than none use up nothing of a day`(size: Int) throws {
    var town = try Town(1)
    let left = town.devices[0].leftToday(at: start)
    town.devices[0].movedInVain(size, at: start)
    #expect(town.devices[0].leftToday(at: start) == left)
    town.devices[0].movedInVain(1000, at: start)
    #expect(town.devices[0].leftToday(at: start) == left - 1000)
    #expect(throws: Never.self) { try town.devices[0].encoded() }
  }

  @Test func `who has done their share carries no more until others did something for them`() throws {
    var limits = CarryingLimits()
    limits.fairShare = FairShare(allowance: 2000, percent: 200)
    var town = try Town(3, limits: limits)
    for _ in 0..<5 { try town.send(from: 0, to: 2) }
    try town.meet(0, 1, at: start)
    #expect(town.devices[1].account.carriedForOthers == 2000)
    // Others deliver one of its own: twice that is its share.
    try town.send(from: 1, to: 0, size: 1000, at: start)
    try town.meet(1, 2, at: start + hour)
    try town.meet(2, 0, at: start + hour)
    try town.meet(2, 1, at: start + hour)
    try town.send(from: 0, to: 2, at: start + hour)
    #expect(town.devices[1].account.carriedForMe == 1000)
    #expect(town.devices[1].account.isFair(2000, limits))
    #expect(!town.devices[1].account.isFair(2001, limits))
  }

  @Test func `lowered limits drop what no longer fits`() throws {
    var town = try Town(3)
    for _ in 0..<10 { try town.send(from: 0, to: 2) }
    try town.meet(0, 1, at: start)
    town.devices[1].limits = room(4000)
    #expect(town.devices[1].fit().count == 6)
    #expect(town.devices[1].satchel.bytes == 4000)
  }

  @Test func `headers out of bounds are no headers`() throws {
    func made(_ size: Int, _ expiresAt: Int64, _ hops: UInt8, _ branch: UInt8) throws -> ParcelHeader? {
      ParcelHeader(
        copy: try copyKey(1), tag: try tag(1), size: size, expiresAt: expiresAt, hopsLeft: hops, branch: branch)
    }
    #expect(try made(1, 1, 8, 5) != nil)
    #expect(try made(0, 1, 0, 0) == nil)
    #expect(try made(ParcelHeader.sizeLimit + 1, 1, 0, 0) == nil)
    #expect(try made(1, 0, 0, 0) == nil)
    #expect(try made(1, 1, 9, 0) == nil)
    #expect(try made(1, 1, 0, 6) == nil)
  }

  @Test(arguments: [15, 17, 0]) func `keys of another length are no keys`(count: Int) {
    #expect(ParcelKey([UInt8](repeating: 1, count: count)) == nil)
    #expect(RecipientTag([UInt8](repeating: 1, count: count)) == nil)
    #expect(DeviceKey([UInt8](repeating: 1, count: 16 + count)) == nil)
  }

  @Test func `keys keep their bytes`() throws {
    let bytes = (0..<32).map { UInt8($0 * 7 & 255) }
    #expect(try present(DeviceKey(bytes)).bytes == bytes)
    #expect(try present(ParcelKey(Array(bytes[..<16]))).bytes == Array(bytes[..<16]))
  }
}
