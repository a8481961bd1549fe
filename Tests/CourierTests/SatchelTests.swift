@testable import Courier
import Testing

@Suite struct SatchelTests {
  @Test func `a parcel is carried once`() throws {
    var satchel = Satchel()
    #expect(satchel.take(try carried(1, from: 1), CarryingLimits()) == .taken(evicted: []))
    #expect(satchel.take(try carried(1, from: 2), CarryingLimits()) == .known)
  }

  @Test func `no giver has more than one may have`() throws {
    var satchel = Satchel()
    var limits = room(100_000)
    limits.bytesPerGiver = 2500
    #expect(satchel.take(try carried(1, from: 1), limits) == .taken(evicted: []))
    #expect(satchel.take(try carried(2, from: 1), limits) == .taken(evicted: []))
    #expect(satchel.take(try carried(3, from: 1), limits) == .giverFull)
    #expect(satchel.take(try carried(3, from: 2), limits) == .taken(evicted: []))
  }

  @Test func `when it is full, who gave most loses what expires first`() throws {
    var satchel = Satchel()
    let limits = room(4000)
    for number in 1...4 {
      _ = satchel.take(try carried(number, from: 1, expiresAt: start + day - Int64(number)), limits)
    }
    #expect(satchel.take(try carried(5, from: 2), limits) == .taken(evicted: [try copyKey(4)]))
  }

  @Test func `who fills it displaces nobody who gave less`() throws {
    var satchel = Satchel()
    let limits = room(10_000)
    for giver in 1...3 { _ = satchel.take(try carried(giver, from: giver), limits) }
    for number in 10..<500 { _ = satchel.take(try carried(number, from: 4), limits) }
    for giver in 1...3 { #expect(satchel.parcels[try copyKey(giver)] != nil) }
    #expect(satchel.take(try carried(1000, from: 4), limits) == .full)
  }

  @Test(arguments: 1...8) func `all who want more than there is get the same room`(seed: UInt64) throws {
    var generator = Seeded(seed)
    var satchel = Satchel()
    let limits = room(12_000)
    // The first is a hundred times as busy as each of the others.
    for number in 1...4000 {
      let giver = generator.next() % 103 < 100 ? 1 : 2 + Int(generator.next() % 3)
      _ = satchel.take(try carried(number, from: giver), limits)
    }
    for giver in 1...4 { #expect(satchel.cost(of: try device(giver)) == 3000) }
  }

  @Test(arguments: 1...8) func `who loses a parcel had no less than who displaces it`(seed: UInt64) throws {
    var generator = Seeded(seed)
    var satchel = Satchel()
    let limits = room(50_000)
    for number in 1...800 {
      let new = try carried(
        number, from: Int(generator.next() % 12), isPeer: generator.next() % 2 == 0,
        size: 1 + Int(generator.next() % 9000), expiresAt: start + Int64(generator.next() % 1000) + 1)
      let before = satchel
      guard case .taken(let evicted) = satchel.take(new, limits) else { continue }
      for id in evicted {
        let loser = try present(before.parcels[id]).from
        #expect(before.cost(of: loser) >= satchel.cost(of: new.from))
      }
      #expect(satchel.cost <= limits.bytes)
      #expect(satchel.bytes <= limits.bytes)
    }
  }

  @Test func `a crowd of strangers displaces no parcel of a peer`() throws {
    var satchel = Satchel()
    var limits = room(20_000)
    limits.strangersPercent = 50
    for number in 1...10 { _ = satchel.take(try carried(number, from: 1), limits) }
    for number in 100..<2000 { _ = satchel.take(try carried(number, from: number, isPeer: false), limits) }
    for number in 1...10 { #expect(satchel.parcels[try copyKey(number)] != nil) }
    #expect(satchel.parcels.count == 20)
  }

  @Test func `strangers get no more than their room, even of an empty satchel`() throws {
    var satchel = Satchel()
    var limits = room(20_000)
    limits.strangersPercent = 25
    for number in 1...100 { _ = satchel.take(try carried(number, from: number, isPeer: false), limits) }
    #expect(satchel.bytes == 5000)
  }

  @Test func `tiny parcels are bounded in number`() throws {
    var satchel = Satchel()
    for number in 1...2500 { _ = satchel.take(try carried(number, from: number, size: 1), room(64 << 20)) }
    #expect(satchel.parcels.count == CarryingLimits.parcelLimit)
  }

  @Test func `what is refused displaces nothing`() throws {
    var satchel = Satchel()
    let limits = room(3000)
    for number in 1...3 { _ = satchel.take(try carried(number, from: number), limits) }
    #expect(satchel.take(try carried(9, from: 1), limits) == .full)
    #expect(satchel.parcels.count == 3)
  }

  @Test func `lowered limits hold at once`() throws {
    var satchel = Satchel()
    for number in 1...40 { _ = satchel.take(try carried(number, from: number % 3), room(100_000)) }
    let dropped = satchel.fit(room(9000))
    #expect(satchel.bytes == 9000)
    #expect(Set(dropped).isDisjoint(with: satchel.parcels.keys))
    #expect(dropped.count == 31)
  }

  @Test func `a copy that gets the name of one that is here leaves nothing behind`() throws {
    var satchel = Satchel()
    let limits = CarryingLimits()
    _ = satchel.take(try carried(1, from: 1), limits)
    _ = satchel.take(try carried(2, from: 2, size: 90_000), limits)
    satchel.rename(try copyKey(1), try copyKey(2))
    #expect(try satchel.cost(of: device(1)) == 0)
    #expect(try satchel.cost == satchel.cost(of: device(2)))
    satchel.remove(try copyKey(2))
    #expect(satchel.cost == 0 && satchel.parcels.isEmpty)
  }

  @Test func `what has expired is dropped, and its room is free`() throws {
    var satchel = Satchel()
    _ = satchel.take(try carried(1, from: 1, expiresAt: start + 1), CarryingLimits())
    _ = satchel.take(try carried(2, from: 1, expiresAt: start + 3), CarryingLimits())
    satchel.removeExpired(at: start + 1)
    #expect(try Array(satchel.parcels.keys) == [copyKey(2)])
    #expect(satchel.cost == satchel.cost(of: try device(1)))
    satchel.remove(try copyKey(2))
    #expect(satchel.cost == 0)
  }
}
