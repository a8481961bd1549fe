import Testing

@testable import Courier

/// What others put under the id of a parcel: nothing of it keeps the true copy away.
@Suite struct CopyTests {
  private func isTaken(_ town: inout Town, _ header: ParcelHeader, from giver: Int, by device: Int = 0) -> Bool {
    let arrival = town.devices[device].took(header, from: town.keys[giver], isPeer: true, isMine: false, at: start)
    if case .carried = arrival { return true }
    return false
  }

  private func answers(
    _ town: Town, to headers: [ParcelHeader], from giver: Int, by device: Int = 0
  ) -> [Reply.Answer] {
    town.devices[device].replies(
      to: headers.map { Offer(header: $0, isYours: false) }, from: town.keys[giver], isPeer: true, DeviceCondition(),
      isMine: { _ in false }, recipient: { _ in nil }, at: start
    ).map(\.answer)
  }

  private func offers(_ town: Town, to other: Int, _ greeting: Greeting = Greeting(copies: [], takes: true))
    -> [CopyKey]
  {
    town.devices[0].offers(
      to: town.keys[other], greeting, DeviceCondition(), isTheirs: { _ in false }, at: start
    ).map(\.header.copy)
  }

  @Test func `who carries something under an id still takes, names and hands on the true copy`() throws {
    var town = try Town(5)
    #expect(isTaken(&town, try header(1, copy: 7), from: 1))
    let greeting = town.devices[0].greeting(DeviceCondition(), at: start)
    #expect(greeting.copies == [try copyKey(1, other: 7)])
    // So nobody who has the true one takes it for known.
    try town.send(from: 2, to: 4)
    let own = try present(town.devices[2].outgoing[try parcel(1)])
    let offered = town.devices[2].offers(
      to: town.keys[0], greeting, DeviceCondition(), isTheirs: { _ in false }, at: start)
    #expect(offered.map(\.header.copy) == [own.header.copy])
    #expect(answers(town, to: [try header(1)], from: 2) == [.wanted(0)])
    #expect(isTaken(&town, try header(1), from: 2))
    #expect(Set(offers(town, to: 3)) == [try copyKey(1), try copyKey(1, other: 7)])
    #expect(answers(town, to: [try header(1), try header(1, copy: 7)], from: 3) == [.had, .had])
  }

  @Test func `what was dropped of one copy says nothing about another`() throws {
    var town = try Town(3)
    #expect(isTaken(&town, try header(1, copy: 7), from: 1))
    town.devices[0].drop(try copyKey(1, other: 7))
    #expect(answers(town, to: [try header(1, copy: 7), try header(1)], from: 2) == [.had, .wanted(0)])
    #expect(isTaken(&town, try header(1), from: 2))
  }

  @Test func `a receipt ends all copies, and lasts as long as the last of them`() throws {
    var town = try Town(4)
    #expect(isTaken(&town, try header(1, copy: 7, expiresAt: start + hour), from: 1))
    #expect(isTaken(&town, try header(1), from: 2))
    let learned = town.devices[0].learn([try receipt(1, expiresAt: start + 1)], from: town.keys[3], at: start)
    #expect(learned.dropped == [try copyKey(1), try copyKey(1, other: 7)])
    #expect(town.devices[0].satchel.parcels.isEmpty && town.devices[0].satchel.cost == 0)
    #expect(town.devices[0].receipts[try parcel(1)]?.expiresAt == start + day)
    #expect(answers(town, to: [try header(1, copy: 9)], from: 2) == [.had])
    // Whoever still has several hears it once.
    let greeting = Greeting(copies: [try copyKey(1), try copyKey(1, other: 7)], takes: true)
    #expect(town.devices[0].receipts(for: town.keys[2], greeting, at: start).count == 1)
  }

  @Test func `a giver has few copies of one parcel here, at its own cost, and takes no place of another's`() throws {
    var town = try Town(4)
    let many = try (1...9).map { try header(1, copy: $0) }
    #expect(answers(town, to: many, from: 1).count { $0 == .wanted(0) } == Satchel.copyLimit)
    #expect(many.count { isTaken(&town, $0, from: 1) } == Satchel.copyLimit)
    #expect(answers(town, to: [try header(1, copy: 10)], from: 1) == [.refused])
    #expect(answers(town, to: [try header(1), try header(2)], from: 2) == [.wanted(0), .wanted(0)])
    #expect(isTaken(&town, try header(1), from: 2))
    let satchel = town.devices[0].satchel
    let cost = town.devices[0].limits.cost(of: 1000)
    #expect(satchel.cost(of: town.keys[1]) == Satchel.copyLimit * cost && satchel.cost(of: town.keys[2]) == cost)
    // Other parcels it may still leave.
    #expect(isTaken(&town, try header(3), from: 1))
  }

  @Test func `what somebody brings under an id besides their first copy goes behind all else`() throws {
    var town = try Town(4)
    for number in 1...3 {
      #expect(isTaken(&town, try header(1, copy: number, expiresAt: start + hour), from: 1))
    }
    #expect(isTaken(&town, try header(1), from: 2))
    #expect(isTaken(&town, try header(2, expiresAt: start + 2 * day), from: 2))
    #expect(Set(offers(town, to: 3).prefix(3)).isSuperset(of: [try copyKey(1), try copyKey(2)]))
  }

  /// One liar that meets every carrier before the honest ones do, with four copies each time that are the first to expire.
  @Test func `a true copy gets through three carriers, however much one liar puts before it`() throws {
    var town = try Town(6)
    let (liar, carriers) = (4, [0, 1, 2])
    var number = 10
    for carrier in carriers {
      for _ in 0..<6 {
        number += 1
        _ = isTaken(&town, try header(1, copy: number, expiresAt: start + hour), from: liar, by: carrier)
      }
    }
    let true1 = try header(1, copy: 99)
    _ = isTaken(&town, true1, from: 5, by: 0)
    var now = start
    for (one, other) in [(0, 1), (1, 2)] {
      let offers = town.devices[one].offers(
        to: town.keys[other], town.devices[other].greeting(DeviceCondition(), at: now), DeviceCondition(),
        isTheirs: { _ in false }, at: now)
      let replies = town.devices[other].replies(
        to: offers, from: town.keys[one], isPeer: true, DeviceCondition(), isMine: { _ in false },
        recipient: { _ in nil }, at: now)
      for (offer, reply) in zip(offers, replies) {
        guard case .wanted = reply.answer else { continue }
        // One behind the other, as they come.
        now += 1
        _ = town.devices[other].took(offer.header, from: town.keys[one], isPeer: true, isMine: false, at: now)
      }
    }
    #expect(town.devices[2].satchel.parcels[true1.copy] != nil)
    for carrier in carriers {
      #expect(try town.devices[carrier].satchel.copies(of: parcel(1), from: town.keys[liar]) == Satchel.copyLimit)
    }
  }

  @Test func `a sender takes nothing under the id of its own parcel, and none of it counts as its own`() throws {
    var town = try Town(4)
    let id = try town.send(from: 0, to: 3)
    let strange = try header(1, copy: 7, branch: 0)
    #expect(answers(town, to: [strange], from: 1) == [.had])
    #expect(!isTaken(&town, strange, from: 1))
    let isPromised = town.devices[0].promise(strange, to: town.keys[1], isTheirs: false, at: start)
    #expect(!isPromised)
    town.devices[0].gave(strange, to: town.keys[1], isTheirs: false, at: start)
    #expect(town.devices[0].outgoing[id]?.carriers.isEmpty == true)
    town.devices[0].deposited(strange.copy, at: start)
    #expect(town.devices[0].outgoing[id]?.isDeposited == false)
  }

  @Test func `nobody carries what is said to come from its sender itself, and so is taken for the sender`() throws {
    var town = try Town(3)
    let direct = try header(1, branch: ParcelHeader.noBranch)
    #expect(answers(town, to: [direct], from: 1) == [.refused])
    #expect(!isTaken(&town, direct, from: 1))
    #expect(town.devices[0].took(direct, from: town.keys[1], isPeer: true, isMine: true, at: start) == .mine)
  }

  @Test func `a recipient takes any number of copies until one has opened, and then none`() throws {
    var town = try Town(3)
    func took(_ other: Int) throws -> Arrival {
      town.devices[0].took(try header(1, copy: other), from: town.keys[1], isPeer: true, isMine: true, at: start)
    }
    for other in 1...20 { #expect(try took(other) == .mine) }
    #expect(try took(0) == .mine)
    town.devices[0].confirmed(try receipt(1), at: start)
    #expect(try took(21) == .known)
  }
}
