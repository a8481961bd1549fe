import GRDB
import Glibc
import Sodium
import Testing

@testable import VaultStore

/// Items under a shared key, of which this device holds share 2.
@Suite struct ItemTests {
  private static let ciphertext = [UInt8](repeating: 9, count: 100)
  private static let header = Array("the header of an item".utf8)

  private func itemID(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

  /// A vault that holds a share of the key with id 1.
  private func vault(_ home: TestHome, kind: UInt8 = 5, ownIndex: Int = 2) throws -> VaultDatabase {
    let database = try home.makeDatabase()
    try addKey(1, to: database, kind: kind)
    return database
  }

  private func addKey(_ number: UInt8, to database: VaultDatabase, kind: UInt8 = 5) throws {
    let sample = try sampleSecret(number)
    let key = SecretRecord(
      id: sample.id, askTag: sample.askTag, headerDigest: sample.headerDigest, header: sample.header,
      origin: sample.origin, dealer: sample.dealer, description: "key \(number)", kind: kind, threshold: 2,
      shareCount: 3, ownIndex: 2, createdAt: 10, receivedAt: 20)
    let fragment = try placeFragment(database, number, index: 2)
    #expect(try database.deposit(key, share: text("share"), index: 2, fragment: fragment) == .stored)
  }

  private func record(
    _ number: UInt8, key: UInt8 = 1, state: ItemRecord.State = .seen, origin: ItemRecord.Origin = .made,
    sender: String? = nil, at time: Int64 = 5
  ) throws -> ItemRecord {
    ItemRecord(
      id: itemID(number), keyID: sampleID(key), header: Self.header, byteCount: Int64(Self.ciphertext.count),
      state: state, origin: origin, sender: try sender.map { try digest($0) }, label: nil, receivedAt: time)
  }

  @discardableResult
  private func add(_ record: ItemRecord, to database: VaultDatabase) throws -> ItemOutcome {
    let file = try database.itemFiles.begin()
    try file.write(Self.header, at: 0)
    try file.write(Self.ciphertext, at: Int64(Self.header.count))
    return try database.addItem(record, file: file)
  }

  private func itemFiles(_ home: TestHome) -> [String] {
    files(below: home.folders.itemsPath).filter { !$0.hasSuffix(ItemStore.noteSuffix) }
  }

  @Test func `an item is stored whole, once, and read back, also a part of it`() throws {
    let home = try TestHome()
    let database = try vault(home)
    let item = try record(1)
    #expect(try add(item, to: database) == .stored)
    #expect(try add(item, to: database) == .alreadyStored)
    let reopened = try home.reopen()
    #expect(try reopened.items() == [item])
    #expect(try reopened.items(ofKey: sampleID(1)) == [item])
    #expect(try reopened.items(ofKey: sampleID(2)) == [])
    #expect(try reopened.item(itemID(1)) == item)
    let file = try reopened.openItem(item)
    #expect(try file.read(at: 0, count: Int(file.byteCount)) == Self.header + Self.ciphertext)
    #expect(try file.read(at: Int64(Self.header.count) + 90, count: 10) == Array(Self.ciphertext.suffix(10)))
    #expect(itemFiles(home) == [home.folders.itemsPath + "/" + hexadecimal(itemID(1))])
  }

  @Test func `nothing is kept under what is no key, or a key of which there is no share`() throws {
    let home = try TestHome()
    let database = try vault(home, kind: 1)
    #expect(try add(record(1), to: database) == .keyNotHeld)
    #expect(try add(record(2, key: 7), to: database) == .keyNotHeld)
    #expect(try database.items() == [])
    #expect(itemFiles(home) == [])
  }

  @Test func `a file that is given up leaves nothing`() throws {
    let home = try TestHome()
    let database = try vault(home)
    do {
      let file = try database.itemFiles.begin()
      try file.write(Self.ciphertext, at: 0)
      #expect(itemFiles(home).count == 1)
    }
    #expect(itemFiles(home) == [])
  }

  @Test func `an item that isn't whole is not stored`() throws {
    let home = try TestHome()
    let database = try vault(home)
    let file = try database.itemFiles.begin()
    try file.write(Self.header, at: 0)
    #expect(throws: StoreError.self) { try database.addItem(record(1), file: file) }
    #expect(try database.items() == [])
  }

  @Test func `state and label change, and nothing else`() throws {
    let home = try TestHome()
    let database = try vault(home)
    try add(record(1, state: .waiting, origin: .sent, sender: "bob"), to: database)
    let label = try database.keys.seal(text("a name"), ItemRecord.labelName(itemID(1)))
    try database.setItem(itemID(1), state: .new, label: label)
    try database.setItem(itemID(1), state: .seen, label: nil)
    let item = try #require(try database.item(itemID(1)))
    #expect(item.state == .seen)
    #expect(item.sender == (try digest("bob")))
    let opened = try database.keys.open(try #require(item.label), ItemRecord.labelName(itemID(1)), what: "it")
    #expect(publicCopy(opened) == Array("a name".utf8))
    #expect(throws: StoreError.self) {
      _ = try database.keys.open(try #require(item.label), ItemRecord.labelName(itemID(2)), what: "it")
    }
    #expect(home.files(containing: Array("a name".utf8)) == [])
  }

  @Test func `items are counted by key, new ones apart`() throws {
    let home = try TestHome()
    let database = try vault(home)
    try addKey(2, to: database)
    try add(record(1), to: database)
    try add(record(2, state: .new, origin: .imported), to: database)
    try add(record(3, key: 2, state: .waiting, origin: .sent, sender: "bob"), to: database)
    _ = try database.beginArrival(record(4, state: .arriving, origin: .sent, sender: "bob"))
    let counts = try database.itemCounts()
    #expect(counts[sampleID(1)]?.all == 2)
    #expect(counts[sampleID(1)]?.new == 1)
    #expect(counts[sampleID(2)]?.all == 1)
    #expect(counts[sampleID(2)]?.new == 1)
  }

  @Test func `deleting the key's share deletes its items, arriving ones too, and no others`() throws {
    let home = try TestHome()
    let database = try vault(home)
    try addKey(2, to: database)
    try add(record(1), to: database)
    try add(record(2, key: 2), to: database)
    do { _ = try database.beginArrival(record(3, state: .arriving, origin: .sent, sender: "bob")) }
    try database.deleteSecret(sampleID(1), at: 50)
    #expect(try database.items().map(\.id) == [itemID(2)])
    #expect(try database.item(itemID(3)) == nil)
    #expect(itemFiles(home) == [home.folders.itemsPath + "/" + hexadecimal(itemID(2))])
    #expect(try add(record(1), to: database) == .keyNotHeld)
  }

  @Test func `deleting an item removes its row and its file`() throws {
    let home = try TestHome()
    let database = try vault(home)
    try add(record(1), to: database)
    try database.deleteItem(itemID(1))
    #expect(try database.items() == [])
    #expect(itemFiles(home) == [])
    #expect(throws: StoreError.self) { try database.deleteItem(itemID(1)) }
  }

  @Test func `an arriving item is taken up again where it stopped, by the peer that sends it`() throws {
    let home = try TestHome()
    let database = try vault(home)
    let arriving = try record(1, state: .arriving, origin: .sent, sender: "bob")
    do {
      let file = try #require(try database.beginArrival(arriving))
      try file.write(Self.header + [1, 2, 3], at: 0)
      // Another session has to wait.
      #expect(throws: StoreError.self) { try database.beginArrival(arriving) }
    }
    #expect(try database.usage(ofDealer: digest("bob")) == DepositUsage(count: 1, byteCount: 100))
    let file = try #require(try database.beginArrival(arriving))
    #expect(try file.byteCount() == Int64(Self.header.count) + 3)
    try file.write(Self.ciphertext, at: Int64(Self.header.count))
    var whole = arriving
    whole.state = .waiting
    #expect(try database.items() == [])
    #expect(try database.addItem(whole, file: file) == .stored)
    #expect(try database.items() == [whole])
    #expect(itemFiles(home) == [home.folders.itemsPath + "/" + hexadecimal(itemID(1))])
    #expect(throws: StoreError.self) { try database.beginArrival(arriving) }
  }

  @Test func `what arrives lies under a name for each sender, which nobody else can foresee`() throws {
    let (home, other) = (try TestHome(), try TestHome())
    let database = try vault(home)
    let name = try database.arrivalID(of: itemID(1), from: digest("bob"))
    #expect(try name == database.arrivalID(of: itemID(1), from: digest("bob")))
    let others = try [
      itemID(1), database.arrivalID(of: itemID(1), from: digest("eve")),
      database.arrivalID(of: itemID(2), from: digest("bob")),
      vault(other).arrivalID(of: itemID(1), from: digest("bob")),
    ]
    #expect(!others.contains(name))
  }

  @Test func `an item that is accepted gets its own id, with its file, and the group's copy makes room`() throws {
    let home = try TestHome()
    let database = try vault(home)
    try add(record(1, state: .new, origin: .group), to: database)
    let sent = try record(9, state: .waiting, origin: .sent, sender: "bob")
    try add(sent, to: database)
    try database.acceptItem(itemID(9), as: itemID(1), label: nil)
    let item = try #require(try database.items().first)
    #expect(try database.items().count == 1)
    #expect(item.id == itemID(1) && item.origin == .sent && item.state == .new && item.sender == sent.sender)
    #expect(try database.openItem(item).read(at: Int64(Self.header.count), count: 100) == Self.ciphertext)
    #expect(itemFiles(home) == [home.folders.itemsPath + "/" + hexadecimal(itemID(1))])
    #expect(try database.lostItems().isEmpty && database.takeUpLostItems(thoroughly: true).isEmpty)
  }

  @Test(arguments: [ItemRecord.State.arriving, .waiting])
  func `what an earlier version has kept under an item's own id makes room for what is accepted`(
    _ state: ItemRecord.State
  ) throws {
    let home = try TestHome()
    let database = try vault(home)
    let old = try record(1, state: state, origin: .sent, sender: "eve")
    if state == .arriving { _ = try database.beginArrival(old) } else { try add(old, to: database) }
    try add(record(9, state: .waiting, origin: .sent, sender: "bob"), to: database)
    try database.acceptItem(itemID(9), as: itemID(1), label: nil)
    #expect(try database.items().map(\.sender) == [digest("bob")])
  }

  @Test func `an item that is accepted takes the place of nobody's own`() throws {
    let home = try TestHome()
    let database = try vault(home)
    try add(record(1), to: database)
    try add(record(9, state: .waiting, origin: .sent, sender: "bob"), to: database)
    #expect(throws: StoreError.self) { try database.acceptItem(itemID(9), as: itemID(1), label: nil) }
    #expect(try Set(database.items().map(\.id)) == [itemID(1), itemID(9)])
    #expect(try database.openItem(record(9, state: .waiting)).byteCount == Int64(Self.header.count) + 100)
  }

  @Test func `an item that is accepted takes the place of none under another key`() throws {
    let home = try TestHome()
    let database = try vault(home)
    try addKey(2, to: database)
    let brought = try record(1, state: .new, origin: .group)
    try add(brought, to: database)
    let sent = try record(9, key: 2, state: .waiting, origin: .sent, sender: "bob")
    try add(sent, to: database)
    #expect(throws: StoreError.self) { try database.acceptItem(itemID(9), as: itemID(1), label: nil) }
    #expect(try add(record(1, key: 2, origin: .imported), to: database) == .alreadyStored)
    #expect(try Set(database.items()) == [brought, sent])
  }

  @Test func `where a file can't have two names, an item that is accepted is copied`() throws {
    let home = try TestHome()
    let database = try vault(home)
    let item = try record(1)
    try add(item, to: database)
    let name = try database.itemFiles.secondName(of: item, mayLink: false)
    #expect(try AtomicFile.read(name, limit: 1000) == Self.header + Self.ciphertext)
    try write([], to: database.itemFiles.path(item.id))
    #expect(throws: StoreError.self) { try database.itemFiles.secondName(of: item, mayLink: false) }
    #expect(Set(itemFiles(home)) == [name, home.folders.itemsPath + "/" + hexadecimal(itemID(1))])
  }

  @Test func `what the user brings in takes the place of what a peer has sent, and not the other way round`() throws {
    let home = try TestHome()
    let database = try vault(home)
    let sent = try record(1, state: .arriving, origin: .sent, sender: "eve")
    let file = try #require(try database.beginArrival(sent))
    try file.write(Self.header + Self.ciphertext, at: 0)
    var waiting = sent
    waiting.state = .waiting
    #expect(try database.addItem(waiting, file: file) == .stored)
    #expect(try add(record(1, origin: .imported), to: database) == .stored)
    #expect(try database.items().map(\.origin) == [.imported])
    let another = try database.itemFiles.begin()
    try another.write(Self.header + Self.ciphertext, at: 0)
    #expect(try database.addItem(waiting, file: another) == .alreadyStored)
    #expect(try database.items().map(\.origin) == [.imported])
  }

  @Test func `items from a peer count against its quota, own ones don't`() throws {
    let home = try TestHome()
    let database = try vault(home)
    try add(record(1), to: database)
    try add(record(2, state: .waiting, origin: .sent, sender: "bob"), to: database)
    _ = try database.beginArrival(record(3, state: .arriving, origin: .sent, sender: "bob"))
    #expect(try database.usage(ofDealer: digest("bob")) == DepositUsage(count: 2, byteCount: 200))
    try database.discardArrival(itemID(3))
    #expect(try database.usage(ofDealer: digest("bob")) == DepositUsage(count: 1, byteCount: 100))
    try database.discardArrival(itemID(2))
    #expect(try database.items().count == 2)
  }

  @Test func `cleaning removes files that no row names and items that stopped arriving long ago, and nothing else`()
    throws
  {
    let home = try TestHome()
    let database = try vault(home)
    try add(record(1), to: database)
    let week: Int64 = 7 * 24 * 3600 * 1000
    do { _ = try database.beginArrival(record(2, state: .arriving, origin: .sent, sender: "bob", at: 100)) }
    do { _ = try database.beginArrival(record(3, state: .arriving, origin: .sent, sender: "bob", at: week)) }
    let orphans = [hexadecimal(itemID(4)), hexadecimal(itemID(1)) + ".part", ".vault-temporary-00"]
    for name in orphans { try write([1], to: home.folders.itemsPath + "/" + name) }
    let running = try database.itemFiles.begin()
    let held = try #require(try database.beginArrival(record(5, state: .arriving, origin: .sent, sender: "bob", at: 0)))
    let report = try database.clean(at: week + 100)
    #expect(report.orphanedFiles == 3)
    #expect(report.expiredPartials == 1)
    #expect(try database.item(itemID(2)) == nil)
    #expect(try database.item(itemID(3)) != nil)
    #expect(try database.item(itemID(5)) != nil)
    try running.write([1], at: 0)
    try held.write([1], at: 0)
    // The items that are there: 1, 3 and 5 arriving, and the one that is being made.
    #expect(itemFiles(home).count == 4)
  }

  @Test func `items whose rows the database has lost are taken up again, as they were`() throws {
    let home = try TestHome()
    let database = try vault(home)
    try add(record(1, state: .waiting, origin: .sent, sender: "bob"), to: database)
    let label = try database.keys.seal(text("a name"), ItemRecord.labelName(itemID(1)))
    try database.setItem(itemID(1), state: .new, label: label)
    try add(record(2), to: database)
    let before = try database.items()
    try database.write { db in try db.execute(sql: "DELETE FROM items") }
    #expect(try home.reopen().takeUpLostItems(thoroughly: false).count == 2)
    #expect(try database.items() == before && database.lostItems() == [])
    try database.write { db in try db.execute(sql: "DELETE FROM items") }
    #expect(try home.reopen().clean(at: 1000).takenUpItems.count == 2)
    #expect(try database.items() == before)
  }

  @Test(arguments: ["deleted", "deleted with its key", "not acknowledged"])
  func `an item that nobody misses stays gone, whatever a crash has left of it`(_ what: String) throws {
    let home = try TestHome()
    let database = try vault(home)
    try add(record(1), to: database)
    let path = home.folders.itemsPath + "/" + hexadecimal(itemID(1))
    let (file, note) = (contents(path), contents(path + ItemStore.noteSuffix))
    try #require(!file.isEmpty && !note.isEmpty)
    switch what {
    case "deleted": try database.deleteItem(itemID(1))
    case "deleted with its key":
      try database.deleteSecret(sampleID(1), at: 5)
      try write(note, to: path + ItemStore.noteSuffix)
    default:
      try database.write { db in try db.execute(sql: "DELETE FROM items") }
      unlink(path + ItemStore.noteSuffix)
    }
    try write(file, to: path)
    let report = try home.reopen().clean(at: 1000)
    #expect(report.takenUpItems == [] && report.orphanedFiles == (what == "deleted with its key" ? 2 : 1))
    #expect(try database.items() == [] && database.lostItems() == [])
    #expect(files(below: home.folders.itemsPath) == [])
  }

  @Test func `items that can't be taken up are named and kept`() throws {
    let home = try TestHome()
    let database = try vault(home)
    for number: UInt8 in 1...4 { try add(record(number), to: database) }
    let path = { (number: UInt8) in home.folders.itemsPath + "/" + hexadecimal(self.itemID(number)) }
    try database.write { db in
      try db.execute(sql: "DELETE FROM items WHERE id IN (?, ?)", arguments: [itemID(1).blob, itemID(2).blob])
    }
    try write([1], to: path(1) + ItemStore.noteSuffix)
    unlink(path(2))
    unlink(path(3))
    #expect(try database.clean(at: 1000).takenUpItems == [])
    let expected = [
      LostItem(id: itemID(1), reason: .recordsLost), LostItem(id: itemID(2), reason: .fileLost),
      LostItem(id: itemID(3), reason: .fileLost),
    ]
    #expect(try database.lostItems() == expected)
    #expect(exists(path(1)))
  }

  @Test func `items of an older version get notes`() throws {
    let home = try TestHome()
    let database = try vault(home)
    try add(record(1), to: database)
    let path = home.folders.itemsPath + "/" + hexadecimal(itemID(1)) + ItemStore.noteSuffix
    let note = contents(path)
    unlink(path)
    #expect(try home.reopen().takeUpLostItems(thoroughly: false) == [])
    #expect(contents(path) == note)
  }

  @Test func `a note with any bit changed, or cut anywhere, is damage`() throws {
    let home = try TestHome()
    let database = try vault(home)
    try add(record(1, state: .waiting, origin: .sent, sender: "bob"), to: database)
    let path = home.folders.itemsPath + "/" + hexadecimal(itemID(1)) + ItemStore.noteSuffix
    let bytes = contents(path)
    for place in bytes.indices {
      var changed = bytes
      changed[place] ^= 1 << UInt8(place % 8)
      try write(changed, to: path)
      #expect(throws: StoreError.damaged(path)) { _ = try database.itemFiles.readNote(itemID(1), database.keys) }
      try write(Array(bytes.prefix(place)), to: path)
      #expect(throws: StoreError.damaged(path)) { _ = try database.itemFiles.readNote(itemID(1), database.keys) }
    }
  }

  @Test func `a crash between name and row leaves a file that is swept up or replaced`() throws {
    let home = try TestHome()
    let database = try vault(home)
    do {
      let file = try database.itemFiles.begin()
      try file.write(Self.header + Self.ciphertext, at: 0)
      try file.publish(as: itemID(1))
    }
    #expect(itemFiles(home).count == 1)
    #expect(try add(record(1), to: database) == .stored)
    #expect(try database.clean(at: 1000).orphanedFiles == 0)
    _ = try database.openItem(record(1))
  }

  @Test(arguments: [
    "key_id = randomblob(16)", "header = randomblob(21)", "byte_count = 99", "state = 'seen'", "origin = 'made'",
    "sender = NULL", "sender = randomblob(32)", "label = randomblob(60)", "received_at = 6", "mac = randomblob(32)",
    "id = randomblob(32)", "state = 'other'",
  ])
  func `a changed row is noticed`(_ change: String) throws {
    let home = try TestHome()
    let database = try vault(home)
    try add(record(1, state: .waiting, origin: .sent, sender: "bob"), to: database)
    try database.write { db in try db.execute(sql: "UPDATE items SET \(change)") }
    #expect(throws: StoreError.self) { try database.items() }
  }

  @Test(arguments: [0, 5, 21])
  func `a file of another length, or with another header, is damage`(_ place: Int) throws {
    let home = try TestHome()
    let database = try vault(home)
    try add(record(1), to: database)
    let path = home.folders.itemsPath + "/" + hexadecimal(itemID(1))
    var bytes = Self.header + Self.ciphertext
    if place < 21 { bytes[place] ^= 1 } else { bytes.removeLast() }
    try write(bytes, to: path)
    #expect(throws: StoreError.damaged(path)) { try database.openItem(record(1)) }
    unlink(path)
    #expect(throws: StoreError.self) { try database.openItem(record(1)) }
  }

  @Test func `a database from before there were items gets their table`() throws {
    let home = try TestHome()
    do {
      let database = try home.makeDatabase()
      try database.write { db in
        try db.execute(sql: "DROP TABLE items; DELETE FROM grdb_migrations WHERE identifier = 'items'")
      }
    }
    rmdir(home.folders.itemsPath)
    let database = try home.reopen()
    try addKey(1, to: database)
    #expect(try add(record(1), to: database) == .stored)
  }
}
