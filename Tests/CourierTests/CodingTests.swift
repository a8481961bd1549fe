import Testing
import WireCodec

@testable import Courier

/// The state as bytes: the same for the same state, and nothing is read that no device could have come to.
@Suite struct CodingTests {
  private func lived(_ seed: UInt64, limits: CarryingLimits = CarryingLimits()) throws -> Town {
    var town = try Town(12, limits: limits, seed: seed)
    town.liars = [3]
    try town.live(meetings: 400, parcels: 80)
    for number in 1..<12 { try town.send(from: 0, to: number, at: start + 2 * day) }
    return town
  }

  private func read(_ bytes: [UInt8]) throws -> Courier { try Courier.decode(bytes, limit: Courier.byteLimit) }

  @Test(arguments: 1...6) func `a device goes on where it was when it is read back`(seed: UInt64) throws {
    var town = try lived(seed, limits: seed.isMultiple(of: 2) ? room(20_000) : CarryingLimits())
    var other = town
    other.devices = try town.devices.map { try read($0.encoded()) }
    let given = town.given.count
    for meeting in 0..<200 {
      let now = start + 2 * day + Int64(meeting) * hour / 2
      try town.meet(meeting % 12, (meeting + 1 + meeting / 12) % 12, at: now)
      try other.meet(meeting % 12, (meeting + 1 + meeting / 12) % 12, at: now)
      if meeting == 100 {
        for index in town.devices.indices {
          #expect(town.devices[index].expire(at: now) == other.devices[index].expire(at: now))
        }
      }
    }
    #expect(town.given.count > given)
    #expect(town.given.map(\.id) == other.given.map(\.id))
    #expect(town.arrivals == other.arrivals)
    for (one, same) in zip(town.devices, other.devices) { #expect(try one.encoded() == same.encoded()) }
  }

  @Test(arguments: 1...3) func `a state has one encoding`(seed: UInt64) throws {
    for device in try lived(seed).devices {
      let bytes = try device.encoded()
      #expect(bytes.count == device.encodedByteCount)
      #expect(try read(bytes).encoded() == bytes)
    }
  }

  /// A state with a parcel that has gone out twice to one carrier, which hasn't said anything, and once to another, which has it.
  private func granted() throws -> (courier: Courier, id: ParcelKey) {
    var courier = Courier(own: try device(1))
    let id = try parcel(7)
    let isSent = try courier.send(copyKey(7), tag: tag(7), size: 9, expiresAt: start + day, to: device(2), at: start)
    #expect(isSent)
    for (number, branch) in [(3, 0), (3, 0), (4, 1)] as [(Int, UInt8)] {
      let header = try present(courier.outgoing[id]?.header.handedOn(branch: branch))
      let isPromised = try courier.promise(header, to: device(number), isTheirs: false, at: start)
      #expect(isPromised)
      if branch == 1 { courier.gave(header, to: try device(number), isTheirs: false, at: start) }
    }
    return (courier, id)
  }

  /// As the third version wrote the same, which knew no copies: parcels of these tests have the digests of ``copyKey(_:other:)``.
  private func older(_ courier: Courier) throws -> [UInt8] {
    var bytes = try courier.encoded()
    let digest = try copyKey(0).digest.bytes
    while let place = bytes.firstRange(of: digest) { bytes.removeSubrange(place) }
    bytes[0] = 3
    return bytes
  }

  @Test func `parcels of the version before copies wait for their names, and those whose bytes are gone go`() throws {
    var courier = try granted().courier
    let other = try copyKey(8)
    for number in 1...3 { _ = courier.satchel.take(try carried(number, from: 9), courier.limits) }
    courier.carried.insert(other, until: start + day, at: start)
    var read = try self.read(older(courier))
    #expect(!read.isNamed)
    #expect(try read.unnamed.carried == (1...3).map { try parcel($0) } && read.unnamed.own == [parcel(7)])
    // What was under an id is anybody's guess.
    #expect(read.carried.expiries.isEmpty)
    for number in 1...2 { read.name(carried: try parcel(number), try copyKey(number).digest) }
    read.name(carried: try parcel(3), nil)
    read.name(own: try parcel(7), try copyKey(7).digest)
    #expect(read.isNamed)
    #expect(try Set(read.satchel.parcels.keys) == [copyKey(1), copyKey(2)])
    #expect(read.satchel.cost == 2 * courier.limits.cost(of: 1000))
    #expect(read.outgoing == courier.outgoing)
    #expect(try read.carried.contains(copyKey(1)))
    #expect(try self.read(read.encoded()).encoded() == read.encoded())
    read.name(own: try parcel(7), nil)
    #expect(read.outgoing.count == 1)
  }

  @Test func `how often a parcel went out to whom, and who has said so, is kept`() throws {
    let (courier, id) = try granted()
    let same = try read(courier.encoded())
    #expect(same.outgoing == courier.outgoing)
    #expect(same.outgoing[id]?.carriers.map(\.times) == [2, 1])
    #expect(same.outgoing[id]?.carriers.map(\.isConfirmed) == [false, true])
  }

  @Test func `of the version before that, a parcel went out once to each carrier, and nobody has said so`() throws {
    let (courier, id) = try granted()
    var older = try self.older(courier)
    for number in [3, 4] {
      let place = try #require(older.firstRange(of: try device(number).bytes)).upperBound + 8
      older.removeSubrange(place..<(place + 2))
    }
    older[0] = 2
    let same = try read(older)
    #expect(same.outgoing[id]?.carriers.map(\.carrier) == (try [device(3), device(4)]))
    #expect(same.outgoing[id]?.carriers.map(\.times) == [1, 1])
    #expect(same.outgoing[id]?.carriers.map(\.isConfirmed) == [false, false])
    #expect(try same.encoded().first == 4)
    #expect(try same.encoded().count == courier.encoded().count)
  }

  @Test(arguments: [0, 5] as [UInt8]) func `a parcel goes out once at least, and not too often`(times: UInt8) throws {
    var bytes = try granted().courier.encoded()
    let place = try #require(bytes.firstRange(of: try device(3).bytes)).upperBound + 8
    #expect(bytes[place] == 2)
    bytes[place] = times
    #expect(throws: WireError.self) { try read(bytes) }
    bytes[place] = 4
    #expect(throws: Never.self) { try read(bytes) }
  }

  @Test func `a state of the first version is read, and none of its parcels may be left at servers`() throws {
    var courier = Courier(own: try device(1))
    let id = try parcel(7)
    let isSent = try courier.send(
      copyKey(7), tag: tag(7), size: 9, expiresAt: start + day, to: device(2), allowsServers: true, at: start)
    #expect(isSent)
    var older = try self.older(courier)
    // Behind what is chosen, the account, and three counts.
    let place =
      33 + CourierPolicy.encodedByteCount + courier.limits.encodedByteCount + CarryingAccount.encodedByteCount + 12
    #expect(older.remove(at: place + ParcelHeader.encodedByteCount - 16 - 1) == 1)
    older[0] = 1
    let same = try read(older)
    #expect(same.outgoing.mapValues(\.header.allowsServers) == [id: false])
    #expect(same.outgoing[id]?.header.size == 9)
    #expect(try same.encoded().first == 4)
    for version in [0, 5] as [UInt8] {
      older[0] = version
      #expect(throws: WireError.invalidValue(field: "version")) { try read(older) }
    }
  }

  @Test func `what a person has chosen is kept`() throws {
    var courier = Courier(own: try device(1), policy: CourierPolicy(carriers: 3, hops: 2, handOn: 1, patience: 77))
    courier.policy.usesRecords = false
    courier.limits = room(12345)
    courier.limits.isOn = false
    courier.limits.fairShare = FairShare(allowance: 5, percent: 200)
    courier.limits.bytesADay = -3
    let same = try read(courier.encoded())
    #expect(same.policy == courier.policy)
    #expect(same.limits == courier.limits)
  }

  /// Whatever a person or a row says: a device can carry with it, or doesn't.
  @Test(arguments: [.min, -1, 0, .max]) func `a device holds under limits of any number`(number: Int) throws {
    for limit in [
      \.bytes, \.bytesADay, \.bytesPerGiver, \.strangersPercent, \.leastBattery,
    ] as [WritableKeyPath<CarryingLimits, Int> & Sendable] {
      for isPeer in [false, true] {
        var courier = Courier(own: try device(1))
        courier.movedInVain(1, at: start)
        courier.limits[keyPath: limit] = number
        courier.limits.fairShare = FairShare(allowance: number, percent: number)
        courier = try read(courier.encoded())
        #expect(courier.leftToday(at: start) >= 0)
        _ = courier.greeting(DeviceCondition(battery: 50), at: start)
        for parcel in try [carried(1, from: 2, isPeer: isPeer), carried(2, from: 3, isPeer: isPeer)] {
          let isTaken = if case .taken = courier.satchel.take(parcel, courier.limits) { true } else { false }
          // In room without end no giver may have as much as one parcel takes of it.
          let isRoomy =
            switch limit {
            case \.bytes: false
            case \.bytesPerGiver: number == .max
            case \.strangersPercent: isPeer || number == .max
            default: true
            }
          #expect(isTaken == isRoomy)
        }
        #expect(try read(courier.encoded()).satchel.parcels == courier.satchel.parcels)
      }
    }
  }

  @Test func `nothing that was cut short is read, and nothing that is too long`() throws {
    let bytes = try lived(5).devices[0].encoded()
    #expect(bytes.count > 2000)
    for count in stride(from: 0, to: bytes.count, by: 7) {
      #expect(throws: WireError.self) { try read(Array(bytes.prefix(count))) }
    }
    #expect(throws: WireError.trailingBytes(count: 1)) { try read(bytes + [0]) }
  }

  @Test func `what is changed in a bit is refused or reads as what it says`() throws {
    let bytes = try lived(6).devices[1].encoded()
    var generator = Seeded(9)
    var refused = 0
    for _ in 0..<2000 {
      var changed = bytes
      changed[Int(generator.next() % UInt64(bytes.count))] ^= 1 << UInt8(generator.next() % 8)
      do { #expect(try read(changed).encoded() == changed) } catch is WireError { refused += 1 }
    }
    #expect(refused > 100)
  }

  /// Devices that hold something impossible, each by what is wrong with it.
  static let impossible: [(String, @Sendable (inout Courier) throws -> Void)] = [
    ("parcels from this device", { try $0.satchel.put(carried(1, from: 1), cost: 1000) }),
    ("a parcel that costs less than its size", { try $0.satchel.put(carried(1, from: 2), cost: 999) }),
    ("a parcel that costs more than any room", { try $0.satchel.put(carried(1, from: 2), cost: 1 << 62) }),
    ("a stranger's parcel of no stranger", { try $0.satchel.put(carried(1, from: 2, isPeer: false), cost: 1000) }),
    ("a stranger without parcels", { try $0.satchel.strangers.insert(device(4)) }),
    (
      "a parcel handed on to its giver",
      {
        var parcel = try carried(1, from: 2)
        parcel.handedTo = [try device(2)]
        $0.satchel.put(parcel, cost: 1000)
      }
    ),
    (
      "a parcel handed on twice to one",
      {
        var parcel = try carried(1, from: 2)
        parcel.handedTo = [try device(3), try device(3)]
        $0.satchel.put(parcel, cost: 1000)
      }
    ),
    (
      "a parcel handed on to five",
      {
        var parcel = try carried(1, from: 2)
        parcel.handedTo = try (3..<8).map { try device($0) }
        $0.satchel.put(parcel, cost: 1000)
      }
    ),
    ("an own parcel for itself", { try $0.put(outgoing(1, to: 1)) }),
    (
      "an own parcel on a branch",
      { try $0.put(OutgoingParcel(header: header(1, branch: 0), recipient: device(2), createdAt: start)) }
    ),
    ("an own parcel with one carrier twice", { try $0.put(outgoing(1, to: 2, carriers: [3, 3])) }),
    ("an own parcel with six carriers", { try $0.put(outgoing(1, to: 2, carriers: Array(3..<9))) }),
    ("a meeting with itself", { try $0.encounters.entries[device(1)] = entry(0.5) }),
    ("a likelihood above all", { try $0.encounters.entries[device(2)] = entry(1) }),
    ("a likelihood that is no number", { try $0.encounters.entries[device(2)] = entry(.nan) }),
    ("a likelihood below nothing", { try $0.encounters.entries[device(2)] = entry(-0.0) }),
    ("more arrived than settled", { try $0.records.records[device(2)] = record(settled: 1, arrived: 2) }),
    ("endlessly many settled", { $0.records.all = record(settled: .infinity, arrived: 0) }),
    ("a policy of nine hops", { $0.policy.hops = 9 }),
    ("a policy of six carriers", { $0.policy.carriers = 6 }),
    ("a policy of no patience at all", { $0.policy.patience = -1 }),
    ("a negative number of bytes", { $0.account.movedToday = -1 }),
  ]

  @Test(arguments: impossible.indices) func `a state that no device can come to is refused`(index: Int) throws {
    var courier = Courier(own: try device(1))
    #expect(throws: Never.self) { try read(courier.encoded()) }
    let (what, change) = Self.impossible[index]
    try change(&courier)
    #expect(throws: WireError.self, "\(what)") { try read(courier.encoded()) }
  }

  @Test func `tables come in order, and none says that it is larger than it can be`() throws {
    var courier = Courier(own: try device(1))
    try courier.encounters.entries[device(2)] = entry(0.5)
    try courier.encounters.entries[device(3)] = entry(0.5)
    let bytes = try courier.encoded()
    let first = try #require(bytes.firstRange(of: try device(2).bytes)).lowerBound
    let second = try #require(bytes.firstRange(of: try device(3).bytes)).lowerBound
    var swapped = bytes
    swapped.replaceSubrange(first..<(first + 32), with: try device(3).bytes)
    swapped.replaceSubrange(second..<(second + 32), with: try device(2).bytes)
    #expect(throws: WireError.invalidValue(field: "order of keys")) { try read(swapped) }
    var twice = bytes
    twice.replaceSubrange(second..<(second + 32), with: try device(2).bytes)
    #expect(throws: WireError.invalidValue(field: "order of keys")) { try read(twice) }
    var many = bytes
    many.replaceSubrange((first - 4)..<first, with: [0, 0, 4, 1])
    #expect(throws: WireError.limitExceeded(field: "encounters", limit: Encounters.limit)) { try read(many) }
  }

  @Test func `one receipt comes once`() throws {
    var courier = Courier(own: try device(1))
    _ = courier.learn([try receipt(1), try receipt(2)], from: try device(9), at: start)
    let bytes = try courier.encoded()
    #expect(try read(bytes).receipts.count == 2)
    let second = try #require(bytes.firstRange(of: try parcel(2).bytes)).lowerBound
    var twice = bytes
    twice.replaceSubrange(second..<(second + 16), with: try parcel(1).bytes)
    #expect(throws: WireError.invalidValue(field: "receipt")) { try read(twice) }
  }

  @Test func `a full device fits`() throws {
    var courier = Courier(own: try device(1))
    for number in 0..<SeenParcels<CopyKey>.limit {
      courier.carried.insert(try copyKey(number), until: start + day, at: start)
      courier.received.insert(try parcel(number), until: start + day, at: start)
    }
    for number in 0..<Courier.outgoingLimit {
      try courier.put(outgoing(number, to: 2, carriers: [3, 4, 5, 6, 7]))
    }
    for number in 0..<CarryingLimits.parcelLimit {
      _ = courier.satchel.take(try carried(100_000 + number, from: 2 + number % 8), courier.limits)
    }
    var proof = [UInt8](repeating: 1, count: Receipt.proofLimit)
    for number in 0..<ReceiptBook.limit {
      proof[0] = UInt8(truncatingIfNeeded: number)
      let receipt = try present(Receipt(id: parcel(number), branch: 1, expiresAt: start + day, proof: proof))
      _ = courier.receipts.learn(receipt, from: try device(2 + number % 9), at: start)
    }
    for number in 2..<(2 + Encounters.limit) { courier.met(try device(number), isPeer: true, at: start) }
    for number in 2..<(2 + CarrierRecords.limit) {
      courier.records.settle(try device(number), arrived: true, othersArrived: false, at: start)
    }
    #expect(courier.satchel.parcels.count > 1900)
    let bytes = try courier.encoded()
    #expect(bytes.count < Courier.byteLimit / 2)
    #expect(try read(bytes).encoded() == bytes)
  }

  @Test func `whoever turns from a peer into a stranger takes their parcels along`() throws {
    var satchel = Satchel()
    let limits = room(1 << 20)
    _ = satchel.take(try carried(1, from: 2, isPeer: true), limits)
    _ = satchel.take(try carried(2, from: 2, isPeer: false), limits)
    #expect(satchel.strangerCost == satchel.cost)
    satchel.remove(try copyKey(1))
    satchel.remove(try copyKey(2))
    #expect(satchel.strangerCost == 0 && satchel.cost == 0)
  }
}

private func entry(_ value: Double) -> Encounters.Entry { Encounters.Entry(value: value, metAt: start, isPeer: true) }

private func record(settled: Double, arrived: Double) -> CarrierRecords.Record {
  CarrierRecords.Record(settled: settled, arrived: arrived, at: start)
}

private func outgoing(_ number: Int, to recipient: Int, carriers: [Int] = []) throws -> OutgoingParcel {
  var parcel = OutgoingParcel(
    header: try header(number, branch: ParcelHeader.noBranch), recipient: try device(recipient), createdAt: start)
  parcel.carriers = try carriers.map { OutgoingParcel.Grant(carrier: try device($0), at: start) }
  return parcel
}

extension Courier {
  fileprivate mutating func put(_ parcel: OutgoingParcel) { outgoing[parcel.header.id] = parcel }
}

extension Satchel {
  /// Whatever the rules are.
  fileprivate mutating func put(_ parcel: CarriedParcel, cost: Int) {
    put(parcel)
    costByParcel[parcel.header.copy] = cost
    costs[parcel.from, default: 0] += cost
  }
}
