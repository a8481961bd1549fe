import GRDB
import Sodium
import Testing

@testable import VaultStore

@Suite struct ParcelsTests {
  let home: TestHome
  let database: VaultDatabase
  static let group = [UInt8](repeating: 9, count: 8)

  init() throws {
    home = try TestHome()
    database = try home.makeDatabase()
    for name in ["cleo", "dan"] { try database.addPeer(samplePeer(name), beaconKey: nil) }
  }

  @discardableResult
  private func add(
    _ record: ParcelRecord, content: [UInt8]? = Array("what is in it".utf8), secret reply: [UInt8]? = nil
  ) throws -> ParcelRecord {
    let secret: SecretBytes? = if let reply { try VaultStoreTests.secret(reply) } else { nil }
    #expect(try database.addParcel(record, content: content, replySecret: secret))
    return record
  }

  private func replySecret(_ record: ParcelRecord, in other: VaultDatabase? = nil) throws -> [UInt8]? {
    switch try (other ?? database).replySecret(record.id) {
    case .some(let secret): publicCopy(secret)
    case .none: nil
    }
  }

  // MARK: - Keeping

  @Test func `a parcel is read as it was stored, by another process too`() throws {
    var full = try sampleParcel(1, .request, .posted, secret: 4)
    full.inReplyTo = sampleID(5)
    full.handedOver = [.group: 30, .account: 35]
    full.nextAttemptAt = 40
    try add(full, content: [1, 2, 3], secret: [7, 7, 7])
    var bare = try sampleParcel(2, .received)
    bare.group = []
    try add(bare, content: nil)
    let carrying = try add(sampleParcel(3, .request, secret: 4, delivery: enqueueDelivery(database), createdAt: 20))
    let other = try home.reopen()
    #expect(try other.parcels() == [full, bare, carrying])
    #expect(try other.parcel(full.id) == full)
    #expect(try other.parcel(bare.id) == bare)
    #expect(try other.parcelContent(full.id) == [1, 2, 3])
    #expect(try other.parcelContent(bare.id) == nil)
    #expect(try replySecret(full, in: other) == [7, 7, 7])
    #expect(try replySecret(bare, in: other) == nil)
    #expect(try other.parcel(sampleID(4)) == nil)
  }

  @Test func `a program behind which a newer one has written erases nothing of what it can't read`() throws {
    let row = try add(sampleParcel(1, .request))
    try database.write { db in
      try db.execute(sql: "UPDATE parcels SET sealed = x'00'")
      try db.execute(sql: "INSERT INTO grdb_migrations VALUES ('v999')")
    }
    #expect(throws: StoreError.tooNew(home.folders.databasePath)) { try database.removeDamagedParcels() }
    try database.write { db in try db.execute(sql: "DELETE FROM grdb_migrations WHERE identifier = 'v999'") }
    #expect(try database.removeDamagedParcels() == [row.id])
  }

  @Test func `a row whose id can't be one hides no other parcel's length`() throws {
    let (bad, good) = (try add(sampleParcel(1, .request)), try add(sampleParcel(2, .request)))
    try database.write { db in
      try db.execute(sql: "UPDATE parcels SET id = zeroblob(16) WHERE id = ?", arguments: [bad.id.blob])
    }
    #expect(try database.parcelByteCounts() == [good.id: 13])
  }

  @Test func `an id is taken only once, whatever it was for`() throws {
    let first = try add(sampleParcel(1, .request))
    #expect(try !database.addParcel(sampleParcel(1, .received), content: [1], replySecret: nil))
    #expect(try database.parcels() == [first])
    #expect(try database.parcelContent(first.id) == Array("what is in it".utf8))
  }

  @Test func `there is one request for a delivery, and one for a peer's share of a secret`() throws {
    func isAdded(_ record: ParcelRecord) throws -> Bool {
      try database.addParcel(record, content: nil, replySecret: nil)
    }
    let (one, two) = (try enqueueDelivery(database), try enqueueDelivery(database))
    let first = try add(sampleParcel(1, .request, secret: 1, delivery: one))
    #expect(try !isAdded(sampleParcel(2, .request, secret: 2, delivery: one)))
    #expect(try isAdded(sampleParcel(3, .request, secret: 1, delivery: two)))
    let asked = try add(sampleParcel(4, .request, .posted, secret: 1))
    #expect(try !isAdded(sampleParcel(5, .request, secret: 1)))
    #expect(try isAdded(sampleParcel(6, .request, peer: "dan", secret: 1)))
    #expect(try isAdded(sampleParcel(7, .request, secret: 2)))
    #expect(try isAdded(sampleParcel(8, .received, secret: 1)))
    // After an answer to a delivery that still waits it is tried again; an answer with a share is to be used.
    var (settled, answered) = (first, asked)
    (settled.state, answered.state) = (.answered, .answered)
    try database.updateParcel(settled, from: first)
    try database.updateParcel(answered, from: asked)
    #expect(try isAdded(sampleParcel(9, .request, secret: 1, delivery: one)))
    #expect(try !isAdded(sampleParcel(10, .request, secret: 1)))
    var withdrawn = answered
    withdrawn.state = .withdrawn
    try database.updateParcel(withdrawn, from: answered)
    #expect(try isAdded(sampleParcel(10, .request, secret: 1)))
  }

  @Test func `nothing is made for somebody who is no peer, or of a delivery that doesn't wait`() throws {
    let delivery = try enqueueDelivery(database)
    #expect(
      try !database.addParcel(
        sampleParcel(1, .request, peer: "dan", delivery: delivery), content: nil, replySecret: nil))
    #expect(try !database.addParcel(sampleParcel(1, .request, delivery: 99), content: nil, replySecret: nil))
    try database.settleRefused(delivery, route: nil, error: "no")
    #expect(try !database.addParcel(sampleParcel(1, .request, delivery: delivery), content: nil, replySecret: nil))
    let received = try add(sampleParcel(2, .received))
    _ = try home.reopen().removePeer(received.peer)
    #expect(throws: StoreError.unknownRecipient(received.peer)) {
      try database.addParcel(sampleParcel(3, .request), content: nil, replySecret: nil)
    }
    var answered = received
    answered.state = .answered
    #expect(try !database.answerParcel(received: answered, answer: sampleParcel(4, .answer), content: [1]))
    #expect(try database.parcels() == [answered])
  }

  @Test func `parcels are listed by direction and state, oldest first`() throws {
    let late = try add(sampleParcel(1, .request, createdAt: 50))
    let early = try add(sampleParcel(2, .request, createdAt: 10))
    let posted = try add(sampleParcel(3, .request, .posted))
    let received = try add(sampleParcel(4, .received))
    #expect(try database.parcels(.request, [.waiting]) == [early, late])
    #expect(try database.parcels(.request, [.posted, .answered]) == [posted])
    #expect(try Set(database.parcels(nil, [.waiting])) == [early, late, received])
    #expect(try database.parcels(.answer).isEmpty)
    #expect(try database.parcels(nil, []).isEmpty)
  }

  @Test func `what can't be a parcel isn't stored`() throws {
    let good = try sampleParcel(1, .request)
    for bad in [good.with(group: [1]), good.with(seed: [1]), good.with(message: [1])] {
      #expect(throws: StoreError.invalid("a parcel")) {
        try database.addParcel(bad, content: nil, replySecret: nil)
      }
    }
    let secret: SecretBytes? = try text("reply")
    let carrying = try sampleParcel(1, .request, delivery: enqueueDelivery(database))
    #expect(throws: StoreError.self) { try database.addParcel(carrying, content: nil, replySecret: secret) }
    #expect(try database.parcels().isEmpty)
  }

  @Test func `more than the limit isn't kept, and as much is`() throws {
    let limit = ParcelRecord.contentByteLimit
    let record = try sampleParcel(1, .received)
    #expect(throws: StoreError.invalid("what is in a parcel")) {
      try database.addParcel(record, content: [UInt8](repeating: 1, count: limit + 1), replySecret: nil)
    }
    try add(record, content: [UInt8](repeating: 1, count: limit))
    #expect(throws: StoreError.invalid("what is in a parcel")) {
      try database.updateParcel(record, from: record, content: .set([UInt8](repeating: 1, count: limit + 1)))
    }
    #expect(try database.parcelContent(record.id)?.count == limit)
  }

  @Test func `what is in a parcel is read only when it is asked for`() throws {
    let record = try add(sampleParcel(1, .received), content: [UInt8](repeating: 0xA5, count: 100_000))
    database.emptyLog()
    database.finish()
    // Whoever reads it follows from page to page, and comes to one that there isn't.
    let pageSize = 4096
    var bytes = contents(home.folders.databasePath)
    var broken = 0
    for page in stride(from: 0, to: bytes.count, by: pageSize)
    where bytes[page + 4..<page + pageSize].allSatisfy({ $0 == 0xA5 }) {
      bytes.replaceSubrange(page..<page + 4, with: [0x7F, 0xFF, 0xFF, 0xFF])
      broken += 1
    }
    try #require(broken > 10)
    try write(bytes, to: home.folders.databasePath)
    let other = try home.reopen()
    #expect(try other.parcels() == [record])
    #expect(try other.parcel(record.id) == record)
    #expect(try other.hasParcels([.waiting]))
    #expect(try other.parcelCounts(ofPeer: record.peer).bytes == 100_000)
    #expect(try other.claimParcel(record.id, at: 1, until: 2))
    #expect(throws: StoreError.self) { try other.parcelContent(record.id) }
  }

  // MARK: - Changing

  @Test func `a parcel goes on, and what is in it stays, is replaced or goes`() throws {
    let first = try add(sampleParcel(1, .request), content: [1])
    var posted = first
    posted.state = .posted
    posted.handedOver[.group] = 100
    posted.nextAttemptAt = 200
    posted.group = [UInt8](repeating: 8, count: 8)
    #expect(try database.updateParcel(posted, from: first))
    #expect(try database.parcelContent(first.id) == [1])
    var answered = posted
    answered.state = .answered
    answered.inReplyTo = sampleID(9)
    #expect(try database.updateParcel(answered, from: posted, content: .set([2, 2])))
    #expect(try home.reopen().parcel(first.id) == answered)
    #expect(try database.parcelContent(first.id) == [2, 2])
    #expect(try database.updateParcel(answered, from: answered, content: .clear))
    #expect(try database.parcelContent(first.id) == nil)
    #expect(try database.parcel(first.id) == answered)
  }

  @Test func `nobody overwrites what has happened since he looked`() throws {
    let first = try add(sampleParcel(1, .request), content: [1])
    var answered = first
    answered.state = .answered
    try database.updateParcel(answered, from: first, content: .set([2]))
    var posted = first
    posted.state = .posted
    #expect(try !database.updateParcel(posted, from: first, content: .set([3])))
    #expect(try database.parcel(first.id) == answered)
    #expect(try database.parcelContent(first.id) == [2])
  }

  @Test func `what a parcel is never changes, and one that is gone doesn't come back`() throws {
    let record = try add(sampleParcel(1, .request, secret: 2))
    for other in [try sampleParcel(1, .request, peer: "dan", secret: 2), try sampleParcel(1, .request)] {
      #expect(throws: StoreError.invalid("another parcel")) { try database.updateParcel(other, from: record) }
    }
    #expect(try database.parcels() == [record])
    try database.removeParcels([record.id, sampleID(7)])
    #expect(try !database.updateParcel(record, from: record))
    #expect(try database.parcels().isEmpty)
  }

  @Test func `what was withdrawn stays so, in its group, without content and secret`() throws {
    let record = try add(sampleParcel(1, .request, .posted), secret: [5])
    var withdrawn = record
    withdrawn.state = .withdrawn
    var elsewhere = withdrawn
    elsewhere.group = [UInt8](repeating: 8, count: 8)
    #expect(try database.updateParcel(elsewhere, from: record, content: .set([1])))
    #expect(try database.parcels() == [withdrawn])
    #expect(try !database.updateParcel(record, from: withdrawn, content: .set([1])))
    #expect(try !database.updateParcel(elsewhere, from: withdrawn))
    #expect(try database.parcels() == [withdrawn])
    #expect(try database.parcelContent(record.id) == nil)
    #expect(try replySecret(record) == nil)
  }

  @Test func `an answer and the note of it are stored together or not at all`() throws {
    let received = try add(sampleParcel(1, .received))
    var done = received
    done.state = .answered
    let answer = try sampleParcel(2, .answer)
    try add(sampleParcel(3, .request))
    #expect(throws: StoreError.self) {
      try database.answerParcel(received: done, answer: sampleParcel(3, .answer), content: [4])
    }
    #expect(try database.parcel(received.id) == received)
    #expect(try database.parcelContent(received.id) != nil)
    #expect(try database.answerParcel(received: done, answer: answer, content: [4]))
    #expect(try database.parcel(received.id) == done)
    #expect(try database.parcelContent(received.id) == nil)
    #expect(try database.parcel(answer.id) == answer)
    #expect(try database.parcelContent(answer.id) == [4])
    // Another process was faster.
    #expect(try !database.answerParcel(received: done, answer: sampleParcel(4, .answer), content: [5]))
    #expect(try database.parcels(.answer) == [answer])
    #expect(throws: StoreError.self) {
      try database.answerParcel(received: received, answer: sampleParcel(4, .answer), content: [5])
    }
  }

  @Test func `what waits to be answered is taken by one only, until its time`() throws {
    let record = try add(sampleParcel(1, .received))
    #expect(try database.claimParcel(record.id, at: 100, until: 200))
    #expect(try !home.reopen().claimParcel(record.id, at: 199, until: 300))
    #expect(try database.parcel(record.id)?.nextAttemptAt == 200)
    #expect(try database.parcelContent(record.id) != nil)
    #expect(try database.claimParcel(record.id, at: 200, until: 90_000_000_000))
    // The clock was far ahead then.
    #expect(try !database.claimParcel(record.id, at: 90_000_000_000 - 86_400_000, until: 300))
    #expect(try database.claimParcel(record.id, at: 300, until: 300))
    try add(sampleParcel(2, .received, .answered), content: nil)
    try add(sampleParcel(3, .request))
    for number in [UInt8(2), 3, 4] {
      #expect(try !database.claimParcel(sampleID(number), at: 300, until: 400))
    }
  }

  // MARK: - What there is

  @Test func `what waits is seen without opening anything`() throws {
    #expect(try !database.hasParcels(Set(ParcelRecord.State.allCases)))
    var record = try sampleParcel(1, .received)
    record.nextAttemptAt = 500
    try add(record)
    #expect(try database.hasParcels([.waiting]))
    #expect(try !database.hasParcels([.posted, .answered, .withdrawn]))
    #expect(try !database.hasParcels([]))
    #expect(try !database.hasParcels([.waiting], direction: .request))
    #expect(try !database.hasParcels([.waiting], direction: .received, dueAt: 499))
    #expect(try database.hasParcels([.waiting], direction: .received, dueAt: 500))
    #expect(try database.parcelGroups([.waiting]) == [Self.group])
    #expect(try database.parcelGroups([.waiting], direction: .request) == [])
    #expect(try database.parcelGroups([.waiting], dueAt: 499) == [])
    // The rows themselves aren't read for it.
    try database.write { db in try db.execute(sql: "UPDATE parcels SET sealed = zeroblob(100)") }
    #expect(try database.hasParcels([.waiting], dueAt: 500))
  }

  @Test(arguments: [
    "SELECT 1 FROM parcels WHERE state IN ('posted', 'waiting') AND direction = 'answer' AND next_attempt_at <= 5",
    "SELECT DISTINCT group_id FROM parcels WHERE state IN ('posted') AND next_attempt_at <= 5 AND group_id IS NOT NULL",
  ])
  func `what is asked once a second is answered from an index`(_ query: String) throws {
    let plan = try database.read { db in
      try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN " + query).map { $0["detail"] as String? ?? "" }
    }
    #expect(plan.contains { $0.contains("SEARCH parcels USING COVERING INDEX parcels_by_state") }, "\(plan)")
  }

  @Test func `parcels of peers are counted, those that wait and those that are only known`() throws {
    try add(sampleParcel(1, .received), content: [1, 2, 3])
    try add(sampleParcel(2, .received), content: [1, 2])
    try add(sampleParcel(3, .received, .answered), content: nil)
    try add(sampleParcel(4, .request), content: [1])
    try add(sampleParcel(5, .received, peer: "dan"), content: [1])
    try add(sampleParcel(6, .answer, .posted), content: [1, 2, 3, 4])
    try add(sampleParcel(7, .answer, .withdrawn), content: nil)
    try add(sampleParcel(8, .answer, peer: "dan"), content: [1])
    #expect(
      try database.parcelCounts(ofPeer: digest("cleo"))
        == ParcelCounts(count: 2, bytes: 5, known: 3, all: 3, answerBytes: 4, allAnswerBytes: 5))
    #expect(
      try database.parcelCounts(ofPeer: digest("eva"))
        == ParcelCounts(count: 0, bytes: 0, known: 0, all: 3, answerBytes: 0, allAnswerBytes: 5))
  }

  @Test func `parcels of a delivery are found, whatever became of them`() throws {
    let delivery = try enqueueDelivery(database)
    let first = try add(sampleParcel(1, .request, .answered, delivery: delivery))
    try add(sampleParcel(2, .request, delivery: enqueueDelivery(database)))
    #expect(try database.parcels(ofDelivery: delivery) == [first])
  }

  // MARK: - Somebody who writes the file

  @Test(arguments: [
    "direction = 'received'", "state = 'waiting'", "peer = zeroblob(32)", "secret_id = NULL",
    "secret_id = zeroblob(16)", "delivery = NULL", "delivery = 8", "group_id = NULL", "group_id = zeroblob(8)",
    "expires_at = 99999999", "next_attempt_at = 1", "sealed = zeroblob(200)", "sealed = x''", "secret = NULL",
    "state = 'other'",
  ])
  func `a row that was changed in the file counts for nothing, and the others go on`(change: String) throws {
    // One with a delivery has no secret.
    let delivery = change.contains("delivery") ? try enqueueDelivery(database) : nil
    let bad = try add(
      sampleParcel(1, .request, .posted, secret: 4, delivery: delivery), secret: delivery == nil ? [1] : nil)
    let good = try add(sampleParcel(2, .request))
    try database.write { db in
      try db.execute(sql: "UPDATE parcels SET \(change) WHERE id = ?", arguments: [bad.id.blob])
      try #require(db.changesCount == 1)
    }
    #expect(try database.parcels() == [good])
    let name = "parcel \(bad.id)"
    #expect(throws: StoreError.damaged(name)) { try database.parcel(bad.id) }
    #expect(throws: StoreError.damaged(name)) { try database.parcelContent(bad.id) }
    #expect(throws: StoreError.damaged(name)) { _ = try database.replySecret(bad.id) }
    #expect(throws: StoreError.damaged(name)) { try database.claimParcel(bad.id, at: 1, until: 2) }
    #expect(throws: StoreError.damaged(name)) { try database.updateParcel(bad, from: bad) }
    #expect(try database.removeDamagedParcels() == [bad.id])
    #expect(try database.removeDamagedParcels() == [])
    #expect(try database.parcel(bad.id) == nil)
    #expect(try database.parcels() == [good])
  }

  @Test func `what is in a parcel can't be changed or exchanged in the file, nor can its secret`() throws {
    let one = try add(sampleParcel(1, .request), content: [1], secret: [1])
    let two = try add(sampleParcel(2, .request), content: [2], secret: [2])
    try database.write { db in
      try db.execute(
        sql: "UPDATE parcel_contents SET content = x'02' WHERE place = (SELECT place FROM parcels WHERE id = ?)",
        arguments: [one.id.blob])
      try db.execute(
        sql: "UPDATE parcels SET secret = (SELECT secret FROM parcels WHERE id = ?) WHERE id = ?",
        arguments: [one.id.blob, two.id.blob])
    }
    #expect(throws: StoreError.self) { try database.parcelContent(one.id) }
    #expect(try database.parcelContent(two.id) == [2])
    let three = try add(sampleParcel(3, .request), content: [3])
    try database.write { db in try db.execute(sql: "DELETE FROM parcel_contents WHERE content = x'03'") }
    #expect(throws: StoreError.self) { try database.parcelContent(three.id) }
    #expect(throws: StoreError.self) { _ = try database.replySecret(two.id) }
    #expect(try replySecret(one) == [1])
  }

  @Test func `a row doesn't open in another one's place`() throws {
    let one = try add(sampleParcel(1, .request))
    try database.write { db in try db.execute(sql: "UPDATE parcels SET id = ?", arguments: [sampleID(2).blob]) }
    #expect(try database.parcels().isEmpty)
    #expect(try database.parcel(one.id) == nil)
    #expect(throws: StoreError.self) { try database.parcel(sampleID(2)) }
    // The id is taken all the same.
    #expect(try !database.addParcel(sampleParcel(2, .request), content: nil, replySecret: nil))
    try database.removeParcels([sampleID(2)])
    try add(sampleParcel(2, .request))
  }
}

func sampleParcel(
  _ number: UInt8, _ direction: ParcelRecord.Direction, _ state: ParcelRecord.State = .waiting, peer: String = "cleo",
  secret: UInt8? = nil, delivery: Int64? = nil, createdAt: Int64 = 10, expiresAt: Int64 = 1000
) throws -> ParcelRecord {
  ParcelRecord(
    id: sampleID(number), direction: direction, state: state, peer: try digest(peer),
    secretID: secret.map { sampleID($0) }, delivery: delivery, group: ParcelsTests.group, createdAt: createdAt,
    expiresAt: expiresAt, request: 3)
}

func enqueueDelivery(_ database: VaultDatabase) throws -> Int64 {
  try database.enqueue(
    NewOutboxRecord(
      recipient: digest("cleo"), kind: "deposit", secretID: nil, index: nil, payload: [1], hasFragment: false,
      nextAttemptAt: 0, createdAt: 0))
}

extension ParcelRecord {
  fileprivate func with(group: [UInt8]? = nil, seed: [UInt8]? = nil, message: [UInt8]? = nil) -> ParcelRecord {
    ParcelRecord(
      id: id, direction: direction, peer: peer, secretID: secretID, group: group ?? self.group, createdAt: createdAt,
      expiresAt: expiresAt, seed: seed, message: message)
  }
}
