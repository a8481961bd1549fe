import Courier
import GRDB
import Sodium
import Testing

@testable import VaultStore

/// What is kept of carriers, and of what is carried.
@Suite struct CarriedTests {
  let home: TestHome
  let database: VaultDatabase

  init() throws {
    home = try TestHome()
    database = try home.makeDatabase()
  }

  @Test func `what is carried is there for another process`() throws {
    let id = try carry(database, 1, [1, 2, 3])
    let other = try home.reopen()
    #expect(try other.carriedContent(id) == [1, 2, 3])
    let courier = try other.readCourier(own: device(0))
    #expect(courier.satchel.parcels[id]?.header.size == 3)
    #expect(try courier.satchel.parcels[id]?.from == device(9))
    let inside = try other.changeCourier(own: device(0)) { _, contents throws(StoreError) in try contents[id] }
    #expect(inside == [1, 2, 3])
  }

  @Test func `it begins with nothing, and keeps what was changed`() throws {
    let start = try database.readCourier(own: device(0))
    #expect(start.satchel.parcels.isEmpty && start.limits.isOn)
    try database.changeCourier(own: device(0)) { courier, _ throws(StoreError) in courier.limits.isOn = false }
    #expect(try !home.reopen().readCourier(own: device(0)).limits.isOn)
  }

  @Test func `what changes nothing writes nothing`() throws {
    try carry(database, 1, [1])
    let before = try row()
    let count = try database.changeCourier(own: device(0)) { courier, _ throws(StoreError) in
      courier.satchel.parcels.count
    }
    #expect(count == 1)
    #expect(try row() == before)
  }

  @Test func `what leaves the satchel leaves the disk`() throws {
    let content = Array("a parcel of somebody".utf8)
    let ids = [try carry(database, 1, content), try carry(database, 2, Array("another".utf8))]
    try database.changeCourier(own: device(0)) { courier, _ throws(StoreError) in
      _ = courier.learn(
        [Receipt(id: ids[0].id, branch: 0, expiresAt: 1000, proof: [])].compactMap { $0 }, from: courier.own, at: 10)
    }
    #expect(try database.carriedContent(ids[0]) == nil)
    #expect(try database.carriedContent(ids[1]) == Array("another".utf8))
    database.emptyLog()
    #expect(home.files(containing: content) == [])
  }

  @Test func `nothing is carried without what is in it, and nothing is kept that isn't carried`() throws {
    let header = try sampleHeader(1, 3)
    let giver = try device(9)
    #expect(throws: StoreError.self) {
      try database.changeCourier(own: device(0)) { courier, _ throws(StoreError) in
        _ = courier.took(header, from: giver, isPeer: true, isMine: false, at: 10)
      }
    }
    #expect(try database.readCourier(own: device(0)).satchel.parcels.isEmpty)
    try database.changeCourier(own: device(0)) { _, contents throws(StoreError) in try contents.put(header.copy, [1]) }
    #expect(try database.carriedContent(header.copy) == nil)
  }

  @Test func `what is thrown leaves no trace`() throws {
    let id = try carry(database, 1, [1])
    let other = try sampleHeader(2, 1)
    let giver = try device(9)
    #expect(throws: StoreError.invalid("it")) {
      try database.changeCourier(own: device(0)) { courier, contents throws(StoreError) in
        try contents.remove(id)
        _ = courier.took(other, from: giver, isPeer: true, isMine: false, at: 10)
        try contents.put(other.copy, [2])
        throw .invalid("it")
      }
    }
    #expect(try database.carriedContent(id) == [1])
    #expect(try database.carriedContent(other.copy) == nil)
    #expect(try database.readCourier(own: device(0)).satchel.parcels.count == 1)
  }

  @Test func `another device of this vault begins anew, and what the former carried goes`() throws {
    let id = try carry(database, 1, [1])
    #expect(try database.readCourier(own: device(1)).satchel.parcels.isEmpty)
    let header = try sampleHeader(2, 1)
    let giver = try device(9)
    try database.changeCourier(own: device(1)) { courier, contents throws(StoreError) in
      _ = courier.took(header, from: giver, isPeer: true, isMine: false, at: 10)
      try contents.put(header.copy, [2])
    }
    #expect(try database.carriedContent(id) == nil)
    #expect(try database.carriedContent(header.copy) == [2])
    let own = try device(0)
    #expect(throws: StoreError.self) {
      try database.changeCourier(own: device(1)) { courier, _ throws(StoreError) in courier = Courier(own: own) }
    }
  }

  @Test(arguments: ["zeroblob(100)", "substr(sealed, 1, 60)", "X''", "substr(sealed, 1, length(sealed) - 1)"])
  func `a damaged row is said to be, and all begins anew when it is asked for`(_ change: String) throws {
    let id = try carry(database, 1, [1])
    try database.write { db in try db.execute(sql: "UPDATE courier SET sealed = \(change)") }
    #expect(throws: StoreError.damaged("what is known of carriers")) { try database.readCourier(own: device(0)) }
    #expect(throws: StoreError.damaged("what is known of carriers")) {
      try database.changeCourier(own: device(0)) { _, _ throws(StoreError) in }
    }
    try database.resetCourier()
    #expect(try database.readCourier(own: device(0)).satchel.parcels.isEmpty)
    #expect(try database.carriedContent(id) == nil)
  }

  @Test func `a parcel in the place of another, or changed, isn't handed out`() throws {
    let ids = [try carry(database, 1, [1]), try carry(database, 2, [2])]
    try database.write { db in
      try db.execute(
        sql: "UPDATE carried SET (mac, content) = (SELECT mac, content FROM carried WHERE id = ?) WHERE id = ?",
        arguments: [ids[0].id.bytes.blob, ids[1].id.bytes.blob])
    }
    #expect(try database.carriedContent(ids[0]) == [1])
    #expect(throws: StoreError.damaged("a parcel that is carried")) { try database.carriedContent(ids[1]) }
    #expect(throws: StoreError.damaged("a parcel that is carried")) {
      try database.changeCourier(own: device(0)) { _, contents throws(StoreError) in _ = try contents[ids[1]] }
    }
  }

  @Test func `two copies of one parcel lie beside each other, each under its own name`() throws {
    let first = try carry(database, 1, [1])
    let other = try #require(CopyKey(sampleID(1) + sampleID(101)))
    let tag = try #require(RecipientTag(sampleID(200)))
    let header = try #require(
      ParcelHeader(copy: other, tag: tag, size: 1, expiresAt: 1000, hopsLeft: 2, branch: 0))
    let giver = try device(8)
    try database.changeCourier(own: device(0)) { courier, contents throws(StoreError) in
      _ = courier.took(header, from: giver, isPeer: true, isMine: false, at: 10)
      try contents.put(other, [2])
    }
    #expect(try database.carriedContent(first) == [1])
    #expect(try home.reopen().carriedContent(other) == [2])
    try database.changeCourier(own: device(0)) { courier, _ throws(StoreError) in courier.drop(first) }
    #expect(try database.carriedContent(first) == nil)
    #expect(try database.carriedContent(other) == [2])
    // Nor does one stand in for the other.
    try database.write { db in
      try db.execute(sql: "UPDATE carried SET digest = ?", arguments: [first.digest.bytes.blob])
    }
    #expect(throws: StoreError.damaged("a parcel that is carried")) { try database.carriedContent(first) }
  }

  @Test func `no parcel is larger than a parcel can be`() throws {
    let limit = ParcelHeader.sizeLimit
    #expect(throws: StoreError.self) {
      let id = try sampleHeader(1, 1).copy
      try database.changeCourier(own: device(0)) { _, contents throws(StoreError) in
        try contents.put(id, [UInt8](repeating: 1, count: limit + 1))
      }
    }
    let id = try carry(database, 2, [UInt8](repeating: 1, count: limit))
    #expect(try database.carriedContent(id)?.count == limit)
  }

  @Test func `many processes change it at once and none is overheard`() async throws {
    let pools = try [database, home.reopen(), home.reopen()]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (place, pool) in pools.enumerated() {
        group.addTask { for number in 0..<20 { try carry(pool, UInt8(place * 20 + number), [UInt8(number)]) } }
      }
      try await group.waitForAll()
    }
    let courier = try database.readCourier(own: device(0))
    #expect(courier.satchel.parcels.count == 60)
    for id in courier.satchel.parcels.keys { #expect(try database.carriedContent(id)?.count == 1) }
  }

  @Test func `what another process has written is seen at once`() throws {
    let other = try home.reopen()
    for number in 1...3 as ClosedRange<UInt8> {
      try carry(number == 2 ? database : other, number, [number])
      #expect(try database.readCourier(own: device(0)).satchel.parcels.count == Int(number))
      #expect(try other.readCourier(own: device(0)).satchel.parcels.count == Int(number))
    }
    let before = try row()
    try database.changeCourier(own: device(0)) { courier, _ throws(StoreError) in courier.limits.isOn = false }
    try other.write { db in try db.execute(sql: "UPDATE courier SET sealed = ?", arguments: [before.blob]) }
    #expect(try database.readCourier(own: device(0)).limits.isOn)
  }

  private func row() throws -> [UInt8] {
    try database.read { db in
      try StoredRow(row: #require(try Row.fetchOne(db, sql: "SELECT sealed FROM courier")), what: "it").bytes("sealed")
    }
  }
}

func device(_ number: UInt8) throws -> DeviceKey {
  try #require(DeviceKey([UInt8](repeating: number, count: 32)))
}

func sampleHeader(_ number: UInt8, _ size: Int) throws -> ParcelHeader {
  let copy = try #require(CopyKey(sampleID(number) + sampleID(100)))
  let tag = try #require(RecipientTag(sampleID(200)))
  return try #require(ParcelHeader(copy: copy, tag: tag, size: size, expiresAt: 1000, hopsLeft: 2, branch: 0))
}

/// Carries a parcel that device 9 gave.
@discardableResult
func carry(_ database: VaultDatabase, _ number: UInt8, _ content: [UInt8]) throws -> CopyKey {
  let header = try sampleHeader(number, content.count)
  let giver = try device(9)
  let arrival = try database.changeCourier(own: device(0)) { courier, contents throws(StoreError) in
    let arrival = courier.took(header, from: giver, isPeer: true, isMine: false, at: 10)
    try contents.put(header.copy, content)
    return arrival
  }
  try #require(arrival == .carried(evicted: []))
  return header.copy
}
