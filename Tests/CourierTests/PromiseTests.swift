import Testing

@testable import Courier

/// Which of its carriers has which branch of a sender's parcel, whatever happens on the way.
@Suite struct PromiseTests {
  private func offer(_ town: Town, to other: Int) throws -> ParcelHeader {
    let offers = town.devices[0].offers(
      to: town.keys[other], Greeting(copies: [], takes: true), DeviceCondition(), isTheirs: { _ in false }, at: start)
    return try present(offers.first?.header)
  }

  /// Promises what device 0 offers to `other`.
  @discardableResult
  private func promise(_ town: inout Town, to other: Int) throws -> ParcelHeader {
    let header = try offer(town, to: other)
    guard town.devices[0].promise(header, to: town.keys[other], isTheirs: false, at: start) else { throw Missing() }
    return header
  }

  /// The same device as another process reads it.
  private func reread(_ town: inout Town) throws {
    town.devices[0] = try Courier.decode(town.devices[0].encoded(), limit: Courier.byteLimit)
  }

  @Test func `two carriers that are met at once get no parcel with the same branch`() throws {
    var town = try Town(4)
    try town.send(from: 0, to: 3)
    let (one, other) = (try offer(town, to: 1), try offer(town, to: 2))
    #expect(one.branch == 0 && other.branch == 0)
    let isFirst = town.devices[0].promise(one, to: town.keys[1], isTheirs: false, at: start)
    #expect(isFirst)
    let isSecond = town.devices[0].promise(other, to: town.keys[2], isTheirs: false, at: start)
    #expect(!isSecond)
    let next = try offer(town, to: 2)
    #expect(next.branch == 1)
    let isThird = town.devices[0].promise(next, to: town.keys[2], isTheirs: false, at: start)
    #expect(isThird)
    town.devices[0].gave(next, to: town.keys[2], isTheirs: false, at: start)
    town.devices[0].gave(one, to: town.keys[1], isTheirs: false, at: start)
    #expect(town.devices[0].outgoing[one.id]?.carriers.map(\.carrier) == [town.keys[1], town.keys[2]])
  }

  @Test func `five carriers get a parcel and no more, though nobody says that it has arrived`() throws {
    var town = try Town(9)
    try town.send(from: 0, to: 8)
    for other in 1...5 {
      #expect(
        town.devices[0].promise(try offer(town, to: other), to: town.keys[other], isTheirs: false, at: start))
    }
    #expect(throws: Missing.self) { try offer(town, to: 6) }
  }

  @Test func `a carrier whose copy may have got lost is offered it again, by the same branch`() throws {
    var town = try Town(4)
    let id = try town.send(from: 0, to: 3)
    let first = try offer(town, to: 1)
    let isFirst = town.devices[0].promise(first, to: town.keys[1], isTheirs: false, at: start)
    #expect(isFirst)
    let isSecond = try town.devices[0].promise(offer(town, to: 2), to: town.keys[2], isTheirs: false, at: start)
    #expect(isSecond)
    try reread(&town)
    let again = try offer(town, to: 1)
    #expect(again == first)
    let isThird = town.devices[0].promise(again, to: town.keys[1], isTheirs: false, at: start)
    #expect(isThird)
    #expect(town.devices[0].outgoing[id]?.carriers.map(\.times) == [2, 1])
  }

  @Test func `a parcel goes out to a silent carrier some times and no more, whichever process counts`() throws {
    var town = try Town(4)
    try town.send(from: 0, to: 3)
    let first = try offer(town, to: 1)
    for _ in 0..<OutgoingParcel.Grant.limit {
      try promise(&town, to: 1)
      try reread(&town)
    }
    #expect(throws: Missing.self) { try offer(town, to: 1) }
    let isPromised = town.devices[0].promise(first, to: town.keys[1], isTheirs: false, at: start)
    #expect(!isPromised)
    #expect(try offer(town, to: 2).branch == 1)
  }

  @Test func `a carrier that has said that it has a parcel gets no other copy`() throws {
    var town = try Town(4)
    let id = try town.send(from: 0, to: 3)
    let header = try promise(&town, to: 1)
    town.devices[0].gave(header, to: town.keys[1], isTheirs: false, at: start)
    try reread(&town)
    #expect(town.devices[0].outgoing[id]?.carriers.map(\.isConfirmed) == [true])
    #expect(throws: Missing.self) { try offer(town, to: 1) }
    // Another process may have chosen it before.
    let isPromised = town.devices[0].promise(header, to: town.keys[1], isTheirs: false, at: start)
    #expect(!isPromised)
    town.devices[0].takeBack(header, from: town.keys[1])
    #expect(town.devices[0].outgoing[id]?.carriers.count == 1)
  }

  @Test func `a carrier that refuses one copy keeps its place if another one has gone out to it`() throws {
    var town = try Town(4)
    let id = try town.send(from: 0, to: 3)
    let first = try promise(&town, to: 1)
    try reread(&town)
    let second = try promise(&town, to: 1)
    town.devices[0].takeBack(second, from: town.keys[1])
    #expect(town.devices[0].outgoing[id]?.carriers.map(\.carrier) == [town.keys[1]])
    #expect(try offer(town, to: 2).branch == 1)
    town.devices[0].gave(first, to: town.keys[1], isTheirs: false, at: start)
    #expect(town.devices[0].outgoing[id]?.carriers.map(\.isConfirmed) == [true])
  }

  @Test func `nothing is settled with a carrier that never said that it has a parcel`() throws {
    var town = try Town(5)
    let lost = try town.send(from: 0, to: 4)
    try promise(&town, to: 1)
    let second = try promise(&town, to: 2)
    town.devices[0].gave(second, to: town.keys[2], isTheirs: false, at: start)
    #expect(town.devices[0].expire(at: start + day) == [lost])
    #expect(town.devices[0].records.records.mapValues(\.settled) == [town.keys[2]: 1])
  }

  @Test(arguments: [0, 1] as [UInt8]) func `a receipt counts for or against those alone who said that they have it`(
    branch: UInt8
  ) throws {
    var town = try Town(5)
    let id = try town.send(from: 0, to: 4)
    try promise(&town, to: 1)
    let second = try promise(&town, to: 2)
    town.devices[0].gave(second, to: town.keys[2], isTheirs: false, at: start)
    _ = town.devices[0].learn(
      [try present(Receipt(id: id, branch: branch, expiresAt: start + day, proof: []))], from: town.keys[3], at: start)
    #expect(town.devices[0].records.records.mapValues(\.arrived) == [town.keys[2]: Double(branch)])
    // Somebody has carried it in any case.
    #expect(town.devices[0].account.sentByCarriers == 1)
  }

  @Test func `the place of a carrier that refuses is free, unless there is one behind it`() throws {
    var town = try Town(5)
    let id = try town.send(from: 0, to: 4)
    var headers: [ParcelHeader] = []
    for other in 1...2 {
      headers.append(try offer(town, to: other))
      let isFirst = town.devices[0].promise(headers[other - 1], to: town.keys[other], isTheirs: false, at: start)
      #expect(isFirst)
    }
    town.devices[0].takeBack(headers[0], from: town.keys[1])
    #expect(town.devices[0].outgoing[id]?.carriers.count == 2)
    town.devices[0].takeBack(headers[1], from: town.keys[2])
    #expect(town.devices[0].outgoing[id]?.carriers.map(\.carrier) == [town.keys[1]])
    #expect(try offer(town, to: 3).branch == 1)
  }

  @Test func `own parcels for whoever is met come before all that is carried for it, and what it declined comes last`()
    throws
  {
    var town = try Town(3)
    for number in 1000..<1300 {
      _ = town.devices[0].took(
        try header(number, for: 1, size: 100, expiresAt: start + hour), from: town.keys[2], isPeer: true,
        isMine: false, at: start)
    }
    let own = try town.send(from: 0, to: 1, lasts: 10 * day)
    let declined = try copyKey(1000)
    let offers = town.devices[0].offers(
      to: town.keys[1], Greeting(copies: [], takes: true), DeviceCondition(), isTheirs: { $0.tag == (try? tag(1)) },
      declined: [declined], at: start)
    #expect(offers.first?.header.id == own)
    #expect(offers.count == Offer.limit && !offers.contains { $0.header.copy == declined })
  }

  @Test func `what has arrived meanwhile is promised to nobody`() throws {
    var town = try Town(4)
    try town.send(from: 0, to: 3)
    let header = try offer(town, to: 1)
    _ = town.devices[0].learn([try receipt(1)], from: town.keys[2], at: start)
    let isFirst = town.devices[0].promise(header, to: town.keys[1], isTheirs: false, at: start)
    #expect(!isFirst)
  }
}

/// What a device with more parcels than it can name says and hears of them.
@Suite struct ManyParcelTests {
  /// A device that carries 300 parcels, all of which expire before its own.
  private func laden(_ town: inout Town) throws {
    for number in 1000..<1300 {
      _ = town.devices[0].took(
        try header(number, for: number % 2 == 0 ? 77 : 99, size: 100, expiresAt: start + hour), from: town.keys[2],
        isPeer: true, isMine: false, at: start)
    }
    #expect(town.devices[0].satchel.parcels.count == 300)
  }

  @Test func `own parcels for whoever is met are named first, then what is carried for it, then own ones`() throws {
    var town = try Town(5)
    try laden(&town)
    let own = try town.send(from: 0, to: 1, lasts: 10 * day)
    let other = try town.send(from: 0, to: 3, lasts: 10 * day)
    let greeting = town.devices[0].greeting(
      for: town.keys[1], DeviceCondition(), isTheirs: { $0.tag == (try? tag(77)) }, at: start)
    #expect(greeting.copies.map(\.id).count == Greeting.idLimit)
    #expect(greeting.copies.map(\.id).contains(own) && greeting.copies.map(\.id).contains(other))
    for number in stride(from: 1000, to: 1300, by: 2) {
      #expect(greeting.copies.map(\.id).contains(try parcel(number)))
    }
  }

  @Test func `a sender hears of what has arrived, however much it carries for others`() throws {
    var town = try Town(4)
    let id = try town.send(from: 0, to: 1, lasts: 10 * day)
    // The recipient has it, and its word got lost with the session.
    town.devices[1].met(town.keys[0], isPeer: true, at: start)
    town.devices[1].confirmed(try receipt(1, branch: ParcelHeader.noBranch, expiresAt: start + 10 * day), at: start)
    for number in 5000..<5040 {
      town.devices[1].confirmed(try receipt(number, expiresAt: start + 10 * day), at: start + 1)
    }
    try laden(&town)
    try town.meet(0, 1, at: start + 2)
    #expect(town.devices[0].outgoing[id] == nil)
    #expect(town.arrivals.isEmpty)
  }

  @Test func `what is here, but of which no word is left, is taken again`() throws {
    var town = try Town(2)
    town.devices[0].confirmed(try receipt(1), at: start)
    let offers = [Offer(header: try header(1), isYours: true)]
    func answers() -> [Reply.Answer] {
      town.devices[0].replies(
        to: offers, from: town.keys[1], isPeer: true, DeviceCondition(), isMine: { _ in true }, recipient: { _ in nil },
        at: start
      ).map(\.answer)
    }
    #expect(answers() == [.had])
    town.devices[0].receipts = ReceiptBook()
    #expect(answers() == [.wanted(UInt16.max)])
  }

  @Test func `one meeting brings no more than one giver may leave here`() throws {
    var limits = CarryingLimits()
    limits.bytesPerGiver = 1_000_000
    let town = try Town(2, limits: limits)
    let offers = try (1...5).map { Offer(header: try header($0, size: 300_000), isYours: false) }
    let replies = town.devices[0].replies(
      to: offers, from: town.keys[1], isPeer: true, DeviceCondition(), isMine: { _ in false }, recipient: { _ in nil },
      at: start)
    #expect(replies.count { $0.answer == .refused } == 2)
  }

  @Test func `bytes that come in vain use up those of the day`() throws {
    var limits = CarryingLimits()
    limits.bytesADay = 3500
    var town = try Town(3, limits: limits)
    _ = town.devices[0].took(try header(1), from: town.keys[1], isPeer: true, isMine: false, at: start)
    #expect(town.devices[0].took(try header(1), from: town.keys[2], isPeer: true, isMine: false, at: start) == .known)
    #expect(town.devices[0].leftToday(at: start) == 1500)
    town.devices[0].movedInVain(1000, at: start)
    #expect(town.devices[0].took(try header(2), from: town.keys[1], isPeer: true, isMine: false, at: start) == .refused)
    #expect(town.devices[0].took(try header(3), from: town.keys[1], isPeer: true, isMine: true, at: start) == .mine)
  }
}

/// How long a receipt is passed on: nobody vouches for the time in it.
@Suite struct ReceiptTimeTests {
  @Test func `a receipt is good for as long as its parcel, where that is known`() throws {
    var town = try Town(4)
    _ = town.devices[0].took(
      try header(50, expiresAt: start + 5 * day), from: town.keys[1], isPeer: true, isMine: false, at: start)
    _ = town.devices[0].learn([try receipt(50, expiresAt: start + 1)], from: town.keys[2], at: start)
    #expect(town.devices[0].satchel.parcels.isEmpty)
    #expect(town.devices[0].receipts[try parcel(50)]?.expiresAt == start + 5 * day)
    let own = try town.send(from: 0, to: 3, lasts: 2 * day)
    _ = town.devices[0].learn(
      [try present(Receipt(id: own, branch: 0, expiresAt: start + 30 * day, proof: []))], from: town.keys[2], at: start)
    #expect(town.devices[0].receipts[own]?.expiresAt == start + 2 * day)
  }

  @Test func `one of a parcel that isn't here keeps its own time, so that none goes round for ever`() throws {
    var town = try Town(2)
    _ = town.devices[0].learn([try receipt(1, expiresAt: start + 1)], from: town.keys[1], at: start)
    #expect(town.devices[0].receipts[try parcel(1)]?.expiresAt == start + 1)
    _ = town.devices[0].learn([try receipt(2, expiresAt: start)], from: town.keys[1], at: start)
    #expect(town.devices[0].receipts[try parcel(2)] == nil)
  }
}
