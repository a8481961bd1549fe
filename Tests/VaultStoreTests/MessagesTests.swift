import GRDB
import Sodium
import Testing
import VaultProtocol

@testable import VaultStore

@Suite struct MessagesTests {
  let home: TestHome
  let database: VaultDatabase

  init() throws {
    home = try TestHome()
    database = try home.makeDatabase()
    for name in ["cleo", "dan"] { try database.addPeer(samplePeer(name), beaconKey: nil) }
  }

  // MARK: - Keeping

  @Test func `a message is read as it was stored, by another process too`() throws {
    var full = try sampleMessage(1, .received, .partial, kind: .photo, parts: 3)
    full.partsDone = 2
    full.deliveredAt = 40
    full.readAt = 50
    full.route = "carriers"
    full.hops = 3
    full.carriers = [try digest("dan"), try digest("somebody")]
    full.ways = .init([.session, .carriers])
    full.expiresAt = 999
    let bare = try sampleMessage(2, .sent, .waiting)
    let first = try add(full, [0: "one", 2: "three", -1: "said about it"])
    let second = try add(bare)
    let other = try home.reopen()
    #expect(try other.messages() == [second, first])
    #expect(first.number == 1 && second.number == 2)
    #expect(try other.message(number: 1) == first)
    #expect(try other.message(direction: .received, peer: full.peer ?? digest("x"), id: full.id) == first)
    #expect(try content(1, 0, in: other) == "one")
    #expect(try content(1, 1, in: other) == nil)
    #expect(try content(1, 2, in: other) == "three")
    #expect(try content(1, -1, in: other) == "said about it")
    #expect(try other.message(number: 3) == nil)
    #expect(try other.messagePart(3, part: 0) == nil)
    #expect(try other.message(direction: .sent, peer: digest("cleo"), id: full.id) == nil)
  }

  @Test
  func `what comes twice is stored once, and the same id from another or in another direction is another message`()
    throws
  {
    let first = try add(sampleMessage(1, .received, .new))
    #expect(try database.addMessage(sampleMessage(1, .received, .new), parts: [0: held("again")]) == nil)
    #expect(try content(first.number, 0) == "text")
    try add(sampleMessage(1, .received, .new, peer: "dan"))
    try add(sampleMessage(1, .sent, .waiting))
    #expect(try database.messages().count == 3)
  }

  @Test func `a message is stored with its parcels or not at all`() throws {
    let message = try sampleMessage(1, .sent, .waiting)
    let known = try sampleParcel(8, .request)
    try #require(try database.addParcel(known, content: nil, replySecret: nil))
    let parcels = [try sampleParcel(7, of: message), try sampleParcel(8, of: message)]
    let text = try held("text")
    #expect(try database.addMessage(message, parts: [0: text], parcels: parcels.map { ($0, [1]) }) == nil)
    #expect(try database.messages().isEmpty && database.parcels() == [known])
    let number = try database.addMessage(message, parts: [0: text], parcels: [(parcels[0], [1, 2])])
    #expect(number == 1)
    let all = try database.parcels()
    #expect(all.count == 2 && all.filter { $0.message == message.id } == [parcels[0]])
    #expect(try database.parcelByteCounts() == [parcels[0].id: 2])
    #expect(try database.parcels(nil, [.posted]).isEmpty)
    #expect(try database.parcelContent(parcels[0].id) == [1, 2])
    #expect(try home.reopen().parcel(parcels[0].id) == parcels[0])
  }

  @Test func `a message for which its peer has no room isn't stored`() throws {
    let peer = try digest("cleo")
    let kept = try add(sampleMessage(1, .received, .new))
    let text = try held("text")
    for room in [
      MessageRoom(count: 1, byteCount: .max), MessageRoom(count: 9, byteCount: UInt64(2 * kept.byteCount - 1)),
    ] {
      #expect(try database.addMessage(sampleMessage(2, .received, .new), parts: [0: text], within: room) == nil)
    }
    #expect(try database.messageCounts(peer: peer).count == 1)
    let room = MessageRoom(count: 2, byteCount: UInt64(2 * kept.byteCount))
    #expect(try database.addMessage(sampleMessage(2, .received, .new), parts: [0: text], within: room) != nil)
    // Others have a room of their own.
    let other = try sampleMessage(1, .received, .new, peer: "dan")
    #expect(try database.addMessage(other, parts: [0: text], within: room) != nil)
  }

  @Test func `of a message that was removed it is known that it was here`() throws {
    let message = try sampleMessage(1, .received, .partial, parts: 2)
    let peer = try #require(message.peer)
    #expect(try !database.wasRemoved(peer: peer, id: message.id))
    let parcel = try sampleParcel(7, of: message, direction: .received)
    let number = try #require(
      try database.addMessage(message, parts: [0: held("one")], parcels: [(parcel, nil)]))
    #expect(try !database.wasRemoved(peer: peer, id: message.id))
    #expect(try database.removeMessage(number))
    #expect(try database.wasRemoved(peer: peer, id: message.id))
    #expect(try !database.wasRemoved(peer: digest("dan"), id: message.id))
  }

  @Test func `a parcel of another message isn't stored with one`() throws {
    let message = try sampleMessage(1, .sent, .waiting)
    let others = [
      try sampleParcel(7, of: sampleMessage(2, .sent, .waiting)), try sampleParcel(7, .receipt),
      try sampleParcel(7, of: sampleMessage(1, .sent, .waiting, peer: "dan")),
      try sampleParcel(7, of: message, direction: .received),
    ]
    for other in others {
      #expect(throws: StoreError.invalid("a parcel of another message")) {
        try database.addMessage(message, parts: [:], parcels: [(other, nil)])
      }
    }
    #expect(try database.messages().isEmpty && database.parcels().isEmpty)
  }

  @Test func `messages are with peers and accounts only`() throws {
    let stranger = try sampleMessage(1, .received, .new, peer: "nobody")
    #expect(throws: StoreError.unknownRecipient(try digest("nobody"))) { try add(stranger) }
    let plain = samplePlainMessage(1)
    #expect(throws: StoreError.notFound("the account")) { try add(plain) }
    try database.setAccount(sampleAccount(1))
    let stored = try add(plain)
    #expect(try database.message(number: stored.number) == stored)
    #expect(try database.addMessage(plain, parts: [:]) == nil)
  }

  @Test func `what can't be a message isn't stored`() throws {
    let peer = try digest("cleo")
    let account: [UInt8] = sampleID(1)
    func message(
      id: [UInt8] = sampleID(1), peer: Digest? = peer, account: [UInt8]? = nil, contact: String? = nil,
      isSealed: Bool = true, name: String? = nil, type: String? = nil, bytes: Int64 = 1, parts: Int = 1, done: Int = 0,
      route: String = "", carriers: [Digest] = [], state: MessageRecord.State = .waiting
    ) -> MessageRecord {
      MessageRecord(
        id: id, peer: peer, account: account, contact: contact, direction: .sent, kind: .file, isSealed: isSealed,
        name: name, mediaType: type, byteCount: bytes, partCount: parts, partsDone: done, sentAt: 1, storedAt: 1,
        route: route, carriers: carriers, state: state)
    }
    let bad = [
      message(id: [1]), message(peer: nil), message(account: account, contact: "a@b"),
      message(peer: nil, account: account), message(peer: nil, account: account, contact: "a@b"),
      message(peer: nil, account: [1], contact: "a@b", isSealed: false),
      message(name: ""), message(name: String(repeating: "n", count: 256)), message(name: "a\0b"),
      message(type: String(repeating: "t", count: 128)), message(bytes: -1), message(parts: 0), message(parts: 4097),
      message(parts: 2, done: 3), message(done: -1), message(route: String(repeating: "r", count: 33)),
      message(carriers: [Digest](repeating: peer, count: 6)), message(state: .new),
    ]
    for record in bad {
      #expect(throws: StoreError.invalid("a message")) { try database.addMessage(record, parts: [:]) }
    }
    for part in [-2, 1] {
      #expect(throws: StoreError.invalid("a part of a message")) {
        try database.addMessage(message(), parts: [part: held("text")])
      }
    }
    #expect(try database.messages().isEmpty)
  }

  @Test func `a part as large as may be is kept, and no larger one`() throws {
    let limit = MessageRecord.partByteLimit
    let large = HeldSecret(try secret([UInt8](repeating: 5, count: limit)))
    let message = try sampleMessage(1, .received, .partial, kind: .file, parts: 4096)
    #expect(try database.addMessage(message, parts: [4095: large]) == 1)
    let kept = try #require(try database.messagePart(1, part: 4095))
    let isSame = kept.bytes.matches(large.bytes)
    #expect(isSame)
    let larger = HeldSecret(try secret([UInt8](repeating: 5, count: limit + 1)))
    #expect(throws: StoreError.invalid("a part of a message")) {
      try database.addMessagePart(
        direction: .received, peer: digest("cleo"), id: message.id, number: 0, content: larger)
    }
  }

  // MARK: - Parts

  @Test func `parts come in any order, each once, and the last says that it is whole`() throws {
    let message = try sampleMessage(1, .received, .partial, kind: .file, parts: 3)
    try add(message, [1: "two"])
    func take(_ part: Int, _ text: String, caption: String? = nil) throws -> MessageRecord? {
      try database.addMessagePart(
        direction: .received, peer: digest("cleo"), id: message.id, number: part, content: held(text),
        caption: caption.map { try held($0) },
        parcels: [(sampleParcel(UInt8(10 + part), of: message, direction: .received, state: .answered), nil)]
      ) { if $0.partsDone == 2 { $0.state = .new } }
    }
    let second = try #require(try take(2, "three"))
    #expect(second.state == .partial && second.partsDone == 1)
    #expect(try take(2, "another") == nil)
    #expect(try take(1, "another") == nil)
    let last = try #require(try take(0, "one", caption: "said"))
    #expect(last.state == .new && last.partsDone == 2)
    #expect(try database.message(number: 1) == last)
    #expect(try [-1, 0, 1, 2].map { try content(1, $0) } == ["said", "one", "two", "three"])
    #expect(try database.parcels(.received).map { $0.id.bytes[0] }.sorted() == [10, 12])
    #expect(
      try database.addMessagePart(
        direction: .received, peer: digest("cleo"), id: sampleID(9), number: 0, content: held("x")) == nil)
  }

  @Test func `a part whose parcel is known changes nothing`() throws {
    let message = try sampleMessage(1, .received, .partial, kind: .file, parts: 2)
    let parcel = try sampleParcel(7, of: message, direction: .received, state: .answered)
    let number = try database.addMessage(message, parts: [0: held("one")], parcels: [(parcel, nil)])
    #expect(number == 1)
    let added = try database.addMessagePart(
      direction: .received, peer: digest("cleo"), id: message.id, number: 1, content: held("two"),
      parcels: [(parcel, nil)])
    #expect(added == nil)
    #expect(try content(1, 0) == "one" && content(1, 1) == nil)
  }

  // MARK: - Changing

  @Test func `a message is changed only as it was read`() throws {
    let before = try add(sampleMessage(1, .sent, .waiting))
    var after = before
    after.state = .underway
    after.route = "group"
    #expect(try database.updateMessage(after, from: before))
    #expect(try database.message(number: 1) == after)
    var late = before
    late.state = .lost
    #expect(try !database.updateMessage(late, from: before))
    #expect(try database.message(number: 1) == after)
    #expect(throws: StoreError.invalid("another message")) {
      try database.updateMessage(sampleMessage(2, .sent, .read), from: after)
    }
    #expect(try database.removeMessage(1))
    #expect(try !database.updateMessage(before, from: after))
  }

  @Test func `word of a parcel's arrival reaches its message once`() throws {
    let message = try sampleMessage(1, .sent, .waiting, kind: .file, parts: 2)
    let parcels = [try sampleParcel(7, of: message), try sampleParcel(8, of: message, state: .posted)]
    let parts = [0: try held("one"), 1: try held("two")]
    _ = try database.addMessage(message, parts: parts, parcels: parcels.map { ($0, [3]) })
    func confirm(_ number: UInt8) throws -> (parcel: ParcelRecord, message: MessageRecord?)? {
      try database.confirmParcel(sampleID(number)) { $0.state = $0.partsDone == $0.partCount ? .delivered : .underway }
    }
    let first = try #require(try confirm(8))
    #expect(first.parcel == parcels[1])
    #expect(first.message?.state == .underway && first.message?.partsDone == 1)
    #expect(try confirm(8) == nil)
    #expect(try database.parcel(sampleID(8))?.state == .answered)
    #expect(try database.parcelContent(sampleID(8)) == nil)
    #expect(try database.parcelContent(sampleID(7)) == [3])
    #expect(try confirm(7)?.message?.state == .delivered)
    #expect(try database.message(number: 1)?.partsDone == 2)
    #expect(try confirm(9) == nil)
    // Its id is known until it expires.
    #expect(try database.removeExpiredParcels(at: 1000).count == 2)
    #expect(try database.parcels().isEmpty)
  }

  @Test func `a receipt has no message, and what was received isn't confirmed`() throws {
    try #require(try database.addParcel(sampleParcel(1, .receipt), content: [1], replySecret: nil))
    try #require(try database.addParcel(sampleParcel(2, .received), content: [1], replySecret: nil))
    let confirmed = try #require(try database.confirmParcel(sampleID(1)))
    #expect(confirmed.message == nil && confirmed.parcel.direction == .receipt)
    #expect(try database.confirmParcel(sampleID(2)) == nil)
    #expect(try database.parcelContent(sampleID(2)) == [1])
  }

  // MARK: - Finding

  @Test func `messages are found by who, how far and when, newest first`() throws {
    try database.setAccount(sampleAccount(1))
    try database.setAccount(sampleAccount(2))
    try add(sampleMessage(1, .sent, .waiting, storedAt: 10))
    try add(sampleMessage(2, .received, .new, storedAt: 20))
    try add(sampleMessage(3, .received, .seen, peer: "dan", storedAt: 30))
    try add(samplePlainMessage(4))
    try add(samplePlainMessage(5, account: 2))
    func found(_ filter: MessageFilter) throws -> [UInt8] { try database.messages(filter).map { $0.id[0] } }
    #expect(try found(MessageFilter()) == [5, 4, 3, 2, 1])
    #expect(try found(MessageFilter(limit: 2)) == [5, 4])
    #expect(try found(MessageFilter(limit: -1)) == [])
    #expect(try found(MessageFilter(peer: digest("cleo"))) == [2, 1])
    #expect(try found(MessageFilter(account: sampleID(2))) == [5])
    #expect(try found(MessageFilter(contact: "friend@example.org")) == [5, 4])
    #expect(try found(MessageFilter(plain: .none)) == [3, 2, 1])
    #expect(try found(MessageFilter(plain: .of(account: sampleID(1)))) == [4, 3, 2, 1])
    #expect(try found(MessageFilter(direction: .sent)) == [1])
    #expect(try found(MessageFilter(states: [.new, .waiting], since: 20)) == [5, 4, 2])
    #expect(try found(MessageFilter(states: [])) == [])
    #expect(try database.hasMessages(MessageFilter(states: [.seen])))
    #expect(try !database.hasMessages(MessageFilter(states: [.lost])))
  }

  @Test func `those of which nothing comes any more are found by their time`() throws {
    for (number, time) in [0, 100, 200].enumerated() {
      var message = try sampleMessage(UInt8(number), .sent, .waiting)
      message.expiresAt = Int64(time)
      try add(message)
    }
    #expect(try database.messages(MessageFilter(expiredAt: 100)).map(\.expiresAt) == [100])
    #expect(try database.messages(MessageFilter(expiredAt: 99)).isEmpty)
  }

  @Test func `what a peer has sent is counted as it was announced`() throws {
    #expect(try database.messageCounts(peer: digest("cleo")) == MessageCounts(count: 0, bytes: 0))
    try add(sampleMessage(1, .received, .partial, kind: .file, byteCount: 5000, parts: 2))
    try add(sampleMessage(2, .received, .seen, byteCount: 4))
    try add(sampleMessage(3, .sent, .waiting, byteCount: 100))
    try add(sampleMessage(4, .received, .new, peer: "dan", byteCount: 100))
    #expect(try database.messageCounts(peer: digest("cleo")) == MessageCounts(count: 2, bytes: 5004))
  }

  // MARK: - Damage

  @Test(arguments: [
    "number = 77", "id = zeroblob(16)", "direction = 'sent', state = 'read'", "state = 'seen'", "byte_count = 5",
    "stored_at = 5", "expires_at = 5", "sealed = X'01'", "sealed = (SELECT sealed FROM messages WHERE number = 2)",
    "state = 'unheard of'", "peer = zeroblob(32)",
  ])
  func `a row that somebody changed is left out, said to be damaged, and can be removed`(_ change: String) throws {
    try database.addPeer(
      PeerRecord(
        digest: Digest([UInt8](repeating: 0, count: 32)), signingKey: digest("1").bytes, noiseKey: digest("2").bytes,
        boxKey: digest("3").bytes, name: "nil", card: [], state: .proven, addedAt: 0), beaconKey: nil)
    try add(sampleMessage(1, .received, .new))
    let sound = try add(sampleMessage(2, .received, .new))
    try database.write { db in
      try db.execute(sql: "PRAGMA defer_foreign_keys = ON; UPDATE messages SET \(change) WHERE number = 1")
      try db.execute(
        sql: "UPDATE message_parts SET number = 77 WHERE number = 1 AND ?", arguments: [change.contains("77")])
    }
    let number: Int64 = change.contains("77") ? 77 : 1
    #expect(try database.messages() == [sound])
    #expect(throws: StoreError.damaged("message \(number)")) { try database.message(number: number) }
    #expect(throws: StoreError.damaged("message \(number)")) { try database.messagePart(number, part: 0) }
    #expect(try database.removeMessage(number))
    let hasParts = try database.read { db in try db.has("message_parts WHERE number = \(number)") }
    #expect(!hasParts)
    #expect(try !database.removeMessage(number))
  }

  @Test(arguments: [
    "number = 2 WHERE number = 1 AND part = 0", "part = 1 WHERE number = 1 AND part = 0",
    "sealed = zeroblob(60) WHERE number = 1 AND part = 0",
  ])
  func `a part in the place of another doesn't open`(_ change: String) throws {
    try add(sampleMessage(1, .received, .partial, kind: .file, parts: 2))
    try add(sampleMessage(2, .received, .new), [:])
    try database.write { db in try db.execute(sql: "UPDATE message_parts SET \(change)") }
    let (number, part): (Int64, Int) = change.hasPrefix("number") ? (2, 0) : (1, change.hasPrefix("part") ? 1 : 0)
    #expect(throws: StoreError.damaged("message \(number)")) { try database.messagePart(number, part: part) }
  }

  @Test func `a text without its part is damaged, a file without a caption isn't`() throws {
    let text = try add(sampleMessage(1, .received, .new)).number
    let file = try add(sampleMessage(2, .received, .new, kind: .file)).number
    try database.write { db in try db.execute(sql: "DELETE FROM message_parts") }
    #expect(throws: StoreError.damaged("message \(text)")) { try database.messagePart(text, part: 0) }
    #expect(try database.messagePart(file, part: -1) == nil)
  }

  @Test func `the table takes nothing larger than is ever written`() throws {
    try add(sampleMessage(1, .received, .new))
    for change in [
      "messages SET id = zeroblob(17)", "messages SET peer = zeroblob(31)", "messages SET sealed = zeroblob(8193)",
      "messages SET peer = NULL", "messages SET account = zeroblob(16), contact = 'a@b'",
      "messages SET byte_count = -1", "message_parts SET sealed = zeroblob(1048641)", "message_parts SET part = 4096",
      "message_parts SET part = -2", "parcels SET message_id = zeroblob(15)",
    ] {
      if change.hasPrefix("parcels") {
        try #require(try database.addParcel(sampleParcel(1, .receipt), content: nil, replySecret: nil))
      }
      #expect(throws: StoreError.self, "\(change)") {
        try database.write { db in try db.execute(sql: "UPDATE \(change)") }
      }
    }
  }

  // MARK: - Helpers

  @discardableResult
  private func add(_ record: MessageRecord, _ parts: [Int: String] = [0: "text"]) throws -> MessageRecord {
    let number = try database.addMessage(record, parts: parts.mapValues { try held($0) })
    var stored = record
    stored.number = try #require(number)
    return stored
  }

  private func content(_ number: Int64, _ part: Int, in other: VaultDatabase? = nil) throws -> String? {
    guard let found = try (other ?? database).messagePart(number, part: part) else { return nil }
    return String(decoding: publicCopy(found.bytes), as: UTF8.self)
  }
}
