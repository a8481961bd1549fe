import Courier
import GRDB
import Sodium
import Testing
import VaultProtocol

@testable import VaultStore

/// What an older version of this program carried, under ids alone.
@Suite struct CopyNamesTests {
  let home: TestHome
  let database: VaultDatabase

  init() throws {
    home = try TestHome()
    database = try home.makeDatabase()
  }

  private func parcel(_ number: UInt8) throws -> Parcel {
    let id = try #require(ParcelID(sampleID(number)))
    return try Parcel(
      id: id, tag: sampleID(200), expiresAt: Parcel.hour,
      sealed: [UInt8](repeating: number, count: 1024))
  }

  private func header(_ parcel: Parcel) throws -> ParcelHeader {
    let copy = try #require(CopyKey(parcel.copy().bytes))
    let tag = try #require(RecipientTag(parcel.tag))
    return try #require(
      ParcelHeader(
        copy: copy, tag: tag, size: parcel.encodedByteCount, expiresAt: parcel.expiresAt, hopsLeft: 2, branch: 0))
  }

  /// Makes a vault that carries three parcels, of which the second is damaged and the third's bytes are gone, and has two of its own on their way,
  /// of which the bytes of one are gone, as the version before copies left it.
  private func makeOlder() throws {
    let carried = try (1...3).map { try parcel($0) }
    try database.addPeer(samplePeer("cleo"), beaconKey: nil)
    #expect(try database.addParcel(sampleParcel(4, .request), content: parcel(4).encoded(), replySecret: nil))
    let (giver, recipient, headers) = (try device(9), try device(8), try carried.map { try header($0) })
    let own = try [4, 5].map { try header(parcel($0)) }
    let courier = try database.changeCourier(own: device(0)) { courier, contents throws(StoreError) in
      for (parcel, header) in zip(carried, headers) {
        _ = courier.took(header, from: giver, isPeer: true, isMine: false, at: 10)
        do { try contents.put(header.copy, parcel.encoded()) } catch { throw .invalid("a parcel") }
      }
      for one in own {
        _ = courier.send(one.copy, tag: one.tag, size: one.size, expiresAt: one.expiresAt, to: recipient, at: 10)
      }
      return courier
    }
    var state = try courier.encoded()
    for header in headers + own {
      while let place = state.firstRange(of: header.copy.digest.bytes) { state.removeSubrange(place) }
    }
    state[0] = 3
    let older = try database.keys.sealPlain(state, RecordName(table: "courier", row: []))
    let macs = try zip(carried, headers).map { parcel, header in
      try database.formerCarriedMAC(header.id, parcel.encoded())
    }
    try database.write { db in
      try db.execute(sql: "UPDATE courier SET sealed = ?", arguments: [older.blob])
      try db.execute(
        sql: """
          CREATE TABLE former (
            id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16),
            mac BLOB NOT NULL CHECK (length(mac) = 32),
            content BLOB NOT NULL CHECK (length(content) <= 8388672)
          ) STRICT;
          INSERT INTO former SELECT id, mac, content FROM carried;
          DROP TABLE carried;
          ALTER TABLE former RENAME TO carried;
          DELETE FROM grdb_migrations WHERE identifier = 'copies of parcels';
          """)
      for (mac, header) in zip(macs, headers) {
        try db.execute(sql: "UPDATE carried SET mac = ? WHERE id = ?", arguments: [mac.blob, header.id.bytes.blob])
      }
      try db.execute(sql: "UPDATE carried SET content = zeroblob(1070) WHERE id = ?", arguments: [sampleID(2).blob])
      try db.execute(sql: "DELETE FROM carried WHERE id = ?", arguments: [sampleID(3).blob])
    }
  }

  @Test func `what was carried before copies had names gets them, and what is damaged or gone is given up`() throws {
    try makeOlder()
    let newer = try home.reopen()
    let courier = try newer.readCourier(own: device(0))
    let first = try header(parcel(1))
    #expect(courier.satchel.parcels.keys.map { $0 } == [first.copy])
    #expect(try courier.satchel.parcels[first.copy]?.from == device(9))
    #expect(try newer.carriedContent(first.copy) == parcel(1).encoded())
    #expect(try courier.outgoing.values.map(\.header.copy) == [header(parcel(4)).copy])
    let count = try newer.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM carried") }
    #expect(count == 1)
    // It is written so, and stays.
    #expect(try home.reopen().readCourier(own: device(0)).isNamed)
  }

  @Test func `a change finds the names as well`() throws {
    try makeOlder()
    let (newer, first) = (try home.reopen(), try header(parcel(1)))
    let content = try newer.changeCourier(own: device(0)) { courier, contents throws(StoreError) in
      courier.drop(first.copy)
      return try contents[first.copy]
    }
    #expect(try content == parcel(1).encoded())
    #expect(try newer.carriedContent(first.copy) == nil)
    #expect(try newer.readCourier(own: device(0)).satchel.parcels.isEmpty)
  }
}
