import GRDB
import Sodium
import Testing
import VaultProtocol

@testable import VaultStore

/// What becomes of messages when they, or others, go, and that nothing is left of what is erased.
@Suite struct MessageEndsTests {
  let home: TestHome
  let database: VaultDatabase

  init() throws {
    home = try TestHome()
    database = try home.makeDatabase()
    for name in ["cleo", "dan"] { try database.addPeer(samplePeer(name), beaconKey: nil) }
  }

  @discardableResult
  private func add(_ record: MessageRecord, parcels: [ParcelRecord] = []) throws -> Int64 {
    let parts = [0: try held("what is said")]
    return try #require(try database.addMessage(record, parts: parts, parcels: parcels.map { ($0, [1, 2, 3]) }))
  }

  private func sealed(_ number: Int64) throws -> [[UInt8]] {
    try database.read { db in
      try Row.fetchAll(
        db,
        sql: "SELECT sealed FROM messages WHERE number = :n UNION SELECT sealed FROM message_parts WHERE number = :n",
        arguments: ["n": number]
      ).map { try StoredRow(row: $0, what: "it").bytes("sealed") }
    }
  }

  private func states(in other: VaultDatabase? = nil) throws -> [UInt8: MessageRecord.State] {
    let messages = try (other ?? database).messages()
    return Dictionary(uniqueKeysWithValues: messages.map { ($0.id[0], $0.state) })
  }

  @Test func `what is said lies in no file in the clear`() throws {
    try add(sampleMessage(1, .sent, .waiting, kind: .file))
    try database.setAccount(sampleAccount(1))
    try database.setAccountPassword(sampleID(1), text("correct horse"))
    for word in ["what is said", "correct horse", "letter ✉️.pdf", "user1@example.org"] {
      #expect(home.files(containing: Array(word.utf8)) == [], "\(word)")
    }
  }

  @Test func `nothing is left in any file of a message that was deleted, nor of its parcels`() throws {
    let message = try sampleMessage(1, .sent, .waiting)
    var posted = try sampleParcel(8, of: message, state: .posted)
    posted.group = ParcelsTests.group
    let number = try add(message, parcels: [sampleParcel(7, of: message), posted])
    let kept = try add(sampleMessage(2, .sent, .waiting))
    let sealed = try sealed(number)
    #expect(sealed.count == 2)
    for one in sealed { #expect(home.files(containing: one) != []) }
    #expect(try database.removeMessage(number))
    for one in sealed { #expect(home.files(containing: one) == []) }
    #expect(try database.messages().map(\.number) == [kept])
    // What may be in a group is still to be taken out of it.
    #expect(try database.parcels().map(\.state) == [.withdrawn])
    #expect(try database.parcelContent(posted.id) == nil)
    #expect(try !database.removeMessage(number))
  }

  @Test func `a number isn't given twice`() throws {
    let number = try add(sampleMessage(1, .sent, .waiting))
    try database.removeMessage(number)
    #expect(try add(sampleMessage(1, .sent, .waiting)) == number + 1)
  }

  @Test func `a deleted message that was received leaves the ids of its parcels known`() throws {
    let message = try sampleMessage(1, .received, .new)
    let parcel = try sampleParcel(7, of: message, direction: .received, state: .answered)
    let parts = [0: try held("what is said")]
    let number = try #require(try database.addMessage(message, parts: parts, parcels: [(parcel, nil)]))
    try database.removeMessage(number)
    #expect(try database.parcels() == [parcel])
  }

  @Test func `what was said with a removed peer stays under its name, and what was on its way is lost`() throws {
    let cleo = try samplePeer("cleo")
    let waiting = try sampleMessage(1, .sent, .waiting)
    try add(waiting, parcels: [sampleParcel(7, of: waiting)])
    try add(sampleMessage(2, .sent, .underway))
    try add(sampleMessage(3, .sent, .read))
    try add(sampleMessage(4, .received, .new))
    let partial = try sealed(add(sampleMessage(5, .received, .partial, kind: .file, parts: 2)))
    try add(sampleMessage(6, .sent, .waiting, peer: "dan"))
    #expect(try database.formerName(ofPeer: cleo.digest) == nil)
    _ = try database.removePeer(cleo.digest)
    #expect(try states() == [1: .lost, 2: .lost, 3: .read, 4: .new, 6: .waiting])
    #expect(try database.parcels().isEmpty)
    for one in partial { #expect(home.files(containing: one) == []) }
    #expect(try home.reopen().formerName(ofPeer: cleo.digest) == "cleo")
    #expect(throws: StoreError.unknownRecipient(cleo.digest)) {
      try database.addMessage(sampleMessage(9, .received, .new), parts: [:])
    }
    // Whoever comes back has a name again.
    try database.addPeer(cleo, beaconKey: nil)
    #expect(try database.formerName(ofPeer: cleo.digest) == nil)
  }

  @Test func `a former name goes with the last message`() throws {
    let cleo = try samplePeer("cleo")
    let numbers = [try add(sampleMessage(1, .received, .new)), try add(sampleMessage(2, .sent, .read))]
    _ = try database.removePeer(cleo.digest)
    try database.removeMessage(numbers[0])
    #expect(try database.formerName(ofPeer: cleo.digest) == "cleo")
    try database.removeMessage(numbers[1])
    #expect(try database.formerName(ofPeer: cleo.digest) == nil)
    // Without any message none is kept.
    _ = try database.removePeer(digest("dan"))
    #expect(try database.formerName(ofPeer: digest("dan")) == nil)
  }

  @Test func `a removed peer has no address, and its friends are friends of nobody here`() throws {
    try database.setAccount(sampleAccount(1))
    try database.setPeerAddress(digest("cleo"), "cleo@example.org")
    try database.setPeerAddress(digest("dan"), "dan@example.org")
    try database.setFriend(
      FriendRecord(account: sampleID(1), address: "cleo@example.org", name: "Cleo", peer: digest("cleo")))
    try database.setFriend(FriendRecord(account: sampleID(1), address: "dan@example.org", peer: digest("dan")))
    _ = try database.removePeer(digest("cleo"))
    #expect(try database.peerAddresses() == [digest("dan"): "dan@example.org"])
    let friends = try database.friends(sampleID(1))
    #expect(friends.map(\.peer) == [nil, try digest("dan")])
    #expect(friends.first?.name == "Cleo")
  }

  @Test func `messages and receipts wait for another way when their group is forgotten`() throws {
    let message = try sampleMessage(1, .sent, .underway)
    var parcel = try sampleParcel(7, of: message, state: .posted)
    parcel.group = ParcelsTests.group
    try add(message, parcels: [parcel])
    try #require(try database.addParcel(sampleParcel(8, .receipt, .posted), content: [4], replySecret: nil))
    try #require(try database.addParcel(sampleParcel(9, .request, .posted), content: [5], replySecret: nil))
    try #require(try database.addParcel(sampleParcel(10, .receipt, .withdrawn), content: nil, replySecret: nil))
    try database.removeGroupEntries(of: ParcelsTests.group)
    let parcels = try database.parcels()
    #expect(parcels.map { $0.id.bytes[0] } == [7, 8])
    #expect(parcels.allSatisfy { $0.state == .waiting && $0.group.isEmpty })
    #expect(try database.parcelContent(parcel.id) == [1, 2, 3])
  }

  @Test func `a database from before there were messages gets their tables`() throws {
    try database.setMeta("kept", to: [1])
    try database.write { db in
      try db.execute(
        sql: """
          DROP TABLE message_parts; DROP TABLE messages; DROP TABLE former_peers; DROP TABLE courier;
          DROP TABLE removed_messages;
          DROP TABLE carried; DROP TABLE friends; DROP TABLE accounts; DROP TABLE peer_addresses;
          DELETE FROM grdb_migrations WHERE identifier IN ('messages', 'copies of parcels')
          """)
    }
    let newer = try home.reopen()
    #expect(try newer.meta("kept") == [1])
    #expect(try newer.addMessage(sampleMessage(1, .sent, .waiting), parts: [0: held("text")]) == 1)
    try newer.setAccount(sampleAccount(1))
    #expect(try home.reopen().accounts().count == 1)
  }

  @Test func `a backup has messages, accounts and addresses, and nothing that is carried or on its way`() throws {
    try database.createIdentity(
      IdentityRecord(card: [1], serial: 1, label: "a", addresses: [], createdAt: 0), secrets: text("secrets"),
      beaconKey: text("beacon0123456789"))
    let waiting = try sampleMessage(1, .sent, .waiting)
    try add(waiting, parcels: [sampleParcel(7, of: waiting)])
    try add(sampleMessage(2, .received, .new))
    try add(sampleMessage(3, .received, .partial, kind: .file, parts: 2))
    try database.setAccount(sampleAccount(1, isCurrent: true))
    try database.setAccountPassword(sampleID(1), text("correct horse"))
    try database.setFriend(FriendRecord(account: sampleID(1), address: "friend@example.org"))
    try database.setPeerAddress(digest("cleo"), "cleo@example.org")
    let carried = try carry(database, 1, [UInt8](repeating: 0xA5, count: 3_000_000))
    let path = home.path + "/backup"
    let summary = try database.writeBackup(to: path, overwrites: false, at: 5)
    // Nor does what is carried leave its room.
    #expect(summary.byteCount < 1_000_000)
    // The vault itself goes on as before.
    #expect(try states() == [1: .waiting, 2: .new, 3: .partial])
    #expect(try database.carriedContent(carried)?.count == 3_000_000)
    database.finish()
    let alone = try #require(try UseLock.takeAlone(home.folders))
    let restoration = try BackupRestoration(
      BackupArchive(path: path), home.folders, keys: database.keys, alone: alone,
      note: AuditRecord(at: 6, event: "restored"))
    try restoration.commit()
    alone.release()
    let restored = try home.reopen()
    #expect(try states(in: restored) == [1: .lost, 2: .new, 3: .partial])
    #expect(try restored.parcels().isEmpty)
    let said = try #require(try restored.messagePart(2, part: 0))
    #expect(publicCopy(said.bytes) == Array("what is said".utf8))
    #expect(try restored.currentAccount()?.address == "user1@example.org")
    let password = try #require(try restored.accountPassword(sampleID(1)))
    #expect(publicCopy(password.bytes) == Array("correct horse".utf8))
    #expect(try restored.friends(sampleID(1)).count == 1)
    #expect(try restored.peerAddress(digest("cleo")) == "cleo@example.org")
    #expect(try restored.carriedContent(carried) == nil)
    #expect(try restored.readCourier(own: device(0)).satchel.parcels.isEmpty)
  }
}
