import GRDB
import Sodium
import Testing

@testable import VaultStore

/// How parcels end, and that nothing of them is left then.
@Suite struct ParcelEndsTests {
  let home: TestHome
  let database: VaultDatabase

  init() throws {
    home = try TestHome()
    database = try home.makeDatabase()
    for name in ["cleo", "dan"] { try database.addPeer(samplePeer(name), beaconKey: nil) }
  }

  /// Adds parcels, each with content of its own and, unless it carries a delivery, a secret.
  private func add(_ records: ParcelRecord...) throws {
    for record in records {
      let secret: SecretBytes? = if record.delivery == nil { try text("reply") } else { nil }
      try #require(try database.addParcel(record, content: content(record), replySecret: secret))
    }
  }

  private func content(_ record: ParcelRecord) -> [UInt8] { Array("content of \(record.id)".utf8) }

  private func sealedSecret(_ record: ParcelRecord) throws -> [UInt8] {
    let row = try database.read { db in
      try Row.fetchOne(db, sql: "SELECT secret FROM parcels WHERE id = ?", arguments: [record.id.blob])
    }
    return try StoredRow(row: #require(row), what: "it").bytes("secret")
  }

  private func states(in other: VaultDatabase? = nil) throws -> [UInt8: ParcelRecord.State] {
    let parcels = try (other ?? database).parcels()
    return Dictionary(uniqueKeysWithValues: parcels.map { ($0.id.bytes[0], $0.state) })
  }

  /// One of each kind and state, numbered from 1.
  private func addAll(secret: UInt8? = nil) throws {
    // Of a secret a peer is asked only once, but any number of shares of it may be on their way.
    let deliveries = try secret.map { _ in [try enqueueDelivery(database), try enqueueDelivery(database)] }
    try add(
      sampleParcel(1, .request, secret: secret, delivery: deliveries?[0]),
      sampleParcel(2, .request, .posted, secret: secret, delivery: deliveries?[1]),
      sampleParcel(3, .request, .answered, secret: secret),
      sampleParcel(4, .answer, secret: secret),
      sampleParcel(5, .answer, .posted, secret: secret),
      sampleParcel(6, .received, secret: secret),
      sampleParcel(7, .received, .answered, secret: secret))
  }

  private func expectWithdrawn(_ ids: [UInt8], kept: [UInt8] = [], isLogEmpty: Bool = true) throws {
    let states = try states()
    #expect(Set(states.keys) == Set(ids + kept))
    for id in ids {
      #expect(states[id] == .withdrawn)
      #expect(try database.parcelContent(sampleID(id)) == nil)
      // What a delivery carries is sealed to its recipient: it may stay in the log for a while, as in the outbox.
      guard isLogEmpty else { continue }
      #expect(home.files(containing: Array("content of \(hexadecimal(sampleID(id)))".utf8)) == [])
    }
    for id in kept { #expect(states[id] != .withdrawn) }
  }

  @Test func `when their time is over, what may be in a group is withdrawn and the rest goes`() throws {
    try addAll()
    try add(sampleParcel(8, .received, expiresAt: 1001))
    #expect(try database.removeExpiredParcels(at: 999).isEmpty)
    let ended = try database.removeExpiredParcels(at: 1000)
    #expect(ended.map { $0.id.bytes[0] }.sorted() == [1, 2, 3, 4, 5, 6, 7])
    #expect(ended.first { $0.id.bytes[0] == 2 }?.state == .posted)
    try expectWithdrawn([1, 2, 4, 5], kept: [8])
    #expect(try database.removeExpiredParcels(at: 1000).isEmpty)
  }

  @Test func `what nobody takes out of its group is forgotten in the end`() throws {
    try add(sampleParcel(1, .request, .posted))
    try database.removeExpiredParcels(at: 1000)
    let end = 1000 + VaultDatabase.withdrawnParcelTime
    #expect(try database.removeExpiredParcels(at: end - 1).isEmpty)
    #expect(try states() == [1: .withdrawn])
    #expect(try database.removeExpiredParcels(at: end).count == 1)
    #expect(try database.parcels().isEmpty)
    #expect(try database.removeExpiredParcels(at: .min).isEmpty)
  }

  @Test func `what is in no group goes at once`() throws {
    var records = [try sampleParcel(1, .request), try sampleParcel(2, .request)]
    records[0].group = []
    records[1].group = [UInt8](repeating: 0, count: 8)
    for record in records { try add(record) }
    #expect(try Set(database.removeExpiredParcels(at: 1000)) == Set(records))
    #expect(try database.parcels().isEmpty)
  }

  @Test func `a peer that is removed gets nothing more`() throws {
    let peer = try samplePeer("cleo")
    try addAll()
    try add(sampleParcel(8, .request, peer: "dan"))
    let sealed = try sealedSecret(sampleParcel(2, .request))
    #expect(home.files(containing: sealed) != [])
    _ = try database.removePeer(peer.digest)
    // Should it come back, what somebody has kept of its parcels isn't taken for new.
    try expectWithdrawn([1, 2, 4, 5], kept: [6, 7, 8])
    #expect(try states().filter { $0.key == 6 || $0.key == 7 } == [6: .answered, 7: .answered])
    #expect(try database.parcelContent(sampleID(6)) == nil)
    #expect(home.files(containing: sealed) == [])
  }

  @Test func `a damaged parcel keeps no peer`() throws {
    let peer = try samplePeer("cleo")
    try add(sampleParcel(1, .request), sampleParcel(2, .received, peer: "dan"))
    try database.write { db in
      try db.execute(sql: "UPDATE parcels SET peer = zeroblob(32) WHERE id = ?", arguments: [sampleID(1).blob])
    }
    _ = try database.removePeer(peer.digest)
    #expect(try states() == [2: .waiting])
    #expect(try database.removeDamagedParcels() == [])
  }

  @Test func `a secret that is deleted takes along what was on its way about it`() throws {
    let fragment = try placeFragment(database, 1, index: 2)
    _ = try database.deposit(sampleSecret(1), share: text("share"), index: 2, fragment: fragment)
    try addAll(secret: 1)
    try add(sampleParcel(8, .request, secret: 2), sampleParcel(9, .received))
    try database.deleteSecret(sampleID(1), at: 30)
    try expectWithdrawn([1, 2, 4, 5], kept: [6, 7, 8, 9])
    // Whoever brings one of the received ones again doesn't have it taken for a new one.
    #expect(try states().filter { $0.key == 6 || $0.key == 7 } == [6: .answered, 7: .answered])
    #expect(try database.parcelContent(sampleID(6)) == nil)
  }

  @Test func `a delivery that is done, or given up, is no longer on its way, and one that was refused may be`() throws {
    let deliveries = try (0..<3).map { _ in try enqueueDelivery(database) }
    for (number, delivery) in deliveries.enumerated() {
      try add(sampleParcel(UInt8(number + 1), .request, .posted, delivery: delivery))
    }
    try database.settleDelivered(deliveries[0], route: nil)
    #expect(try states() == [1: .withdrawn, 2: .posted, 3: .posted])
    try database.settleRefused(deliveries[1], route: nil, error: "no")
    #expect(try states() == [1: .withdrawn, 2: .posted, 3: .posted])
    try database.cancelDelivery(deliveries[2], reason: "given up")
    try expectWithdrawn([1, 3], kept: [2], isLogEmpty: false)
  }

  @Test func `a group that is forgotten leaves only what needs it no more`() throws {
    try addAll()
    var elsewhere = try sampleParcel(8, .request)
    elsewhere.group = [UInt8](repeating: 8, count: 8)
    try add(elsewhere)
    try database.setMailbox(group: ParcelsTests.group, tag: sampleID(1))
    try database.setMailbox(group: elsewhere.group, tag: sampleID(1))
    try database.removeGroupEntries(of: ParcelsTests.group)
    #expect(try states() == [3: .answered, 7: .answered, 8: .waiting])
    #expect(try database.mailboxes(of: ParcelsTests.group) == [])
    #expect(try database.mailboxes(of: elsewhere.group) == [sampleID(1)])
  }

  @Test(arguments: ["forgetting", "removing", "withdrawing", "expiring"])
  func `nothing is left in any file of a secret that is no longer needed, nor of what was in the parcel`(_ way: String)
    throws
  {
    let record = try sampleParcel(1, .request, .posted)
    try add(record)
    let sealed = try sealedSecret(record)
    #expect(home.files(containing: sealed) != [] && home.files(containing: content(record)) != [])
    #expect(home.files(containing: Array("reply".utf8)) == [])
    switch way {
    case "forgetting": try database.updateParcel(record, from: record, content: .clear, forgetsSecret: true)
    case "removing": try database.removeParcels([record.id])
    case "expiring": try database.removeExpiredParcels(at: 1000)
    default:
      var withdrawn = record
      withdrawn.state = .withdrawn
      try database.updateParcel(withdrawn, from: record)
    }
    #expect(home.files(containing: sealed) == [])
    #expect(home.files(containing: content(record)) == [])
  }

  @Test func `a database from before there were parcels gets their tables`() throws {
    try database.setMeta("kept", to: [1])
    try database.write { db in
      try db.execute(
        sql: """
          DROP TABLE parcel_contents; DROP TABLE parcels; DROP TABLE mailboxes;
          DELETE FROM grdb_migrations WHERE identifier = 'parcels'
          """)
    }
    let newer = try home.reopen()
    #expect(try newer.meta("kept") == [1])
    #expect(try newer.addParcel(sampleParcel(1, .request), content: [1], replySecret: nil))
    #expect(try newer.setMailbox(group: ParcelsTests.group, tag: sampleID(1)))
  }

  @Test func `parcels from before there were messages are given up to the last byte, and their deliveries wait again`()
    throws
  {
    let record = try sampleParcel(1, .request, .posted)
    let delivery = try enqueueDelivery(database)
    try add(record, sampleParcel(2, .request, .posted, delivery: delivery))
    let sealed = try sealedSecret(record)
    try database.write { db in
      try db.execute(
        sql: """
          DROP INDEX parcels_by_message; ALTER TABLE parcels DROP COLUMN message_id;
          DROP TABLE messages; DROP TABLE message_parts; DROP TABLE removed_messages; DROP TABLE former_peers; DROP TABLE courier;
          DROP TABLE carried; DROP TABLE accounts; DROP TABLE friends; DROP TABLE peer_addresses;
          DELETE FROM grdb_migrations WHERE identifier IN ('messages', 'copies of parcels')
          """)
    }
    #expect(home.files(containing: sealed) != [])
    let newer = try home.reopen()
    #expect(try newer.parcels().isEmpty && newer.dueDeliveries(at: 1).map(\.id) == [delivery])
    #expect(home.files(containing: sealed) == [] && home.files(containing: content(record)) == [])
    #expect(try newer.addParcel(record, content: [1], replySecret: nil))
  }

  @Test func `from a backup nothing goes on its way, and mailboxes stay`() throws {
    try database.createIdentity(
      IdentityRecord(card: [1], serial: 1, label: "a", addresses: [], createdAt: 0), secrets: text("secrets"),
      beaconKey: text("beacon0123456789"))
    try addAll()
    let large = [UInt8](repeating: 0xA5, count: 3_000_000)
    #expect(try database.addParcel(sampleParcel(8, .received), content: large, replySecret: nil))
    try database.setMailbox(group: ParcelsTests.group, tag: sampleID(1))
    let sealed = try sealedSecret(sampleParcel(2, .request))
    let path = home.path + "/backup"
    let summary = try database.writeBackup(to: path, overwrites: false, at: 5)
    // Nor does what was deleted leave its room.
    #expect(summary.byteCount < 1_000_000)
    let bytes = contents(path)
    #expect(bytes.firstRange(of: sealed) == nil)
    #expect(bytes.firstRange(of: Array("content of ".utf8)) == nil)
    // The vault itself goes on as before.
    #expect(try states()[2] == .posted)
    #expect(try database.parcels().count == 8)
    database.finish()
    let alone = try #require(try UseLock.takeAlone(home.folders))
    let restoration = try BackupRestoration(
      BackupArchive(path: path), home.folders, keys: database.keys, alone: alone,
      note: AuditRecord(at: 6, event: "restored"))
    try restoration.commit()
    alone.release()
    let restored = try home.reopen()
    #expect(try states(in: restored) == [1: .withdrawn, 2: .withdrawn, 4: .withdrawn, 5: .withdrawn])
    #expect(try restored.mailboxes(of: ParcelsTests.group) == [sampleID(1)])
  }

  @Test func `a copy that is kept doesn't tell how many meetings there were, and leaves none of their room`() throws {
    func last() throws -> Int? {
      try database.read { db in try Int.fetchOne(db, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'meetings'") }
    }
    for time in 1...3 {
      try database.addMeeting(
        MeetingRecord(
          peer: digest("cleo"), beganAt: Int64(time), duration: 1, isNearby: false, isDialled: true, ending: .regular),
        at: Int64(time))
    }
    // Those of the last days have gone, and were still there.
    try database.removeOldMeetings(at: 1 + VaultDatabase.meetingTime * 2)
    #expect(try last() == 3)
    #expect(try database.write { db in try database.endAllParcels(db) })
    #expect(try last() == nil)
    #expect(try database.write { db in try !database.endAllParcels(db) })
  }
}
