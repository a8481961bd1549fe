import Courier
import GRDB
import Glibc
import Sodium
import Testing
import WireCodec

@testable import VaultStore

/// Regenerates the walked examples of `docs/formats/store.md` and `backup.md` and compares them with their text.
@Suite struct FormatExampleTests {
  let deviceKey = [UInt8](repeating: 0x11, count: 32)
  let masterKey = [UInt8](repeating: 0x22, count: 32)

  @Test func `master.key without a passphrase`() throws {
    let file = try VaultKeys.seal(
      secret(masterKey), device: secret(deviceKey), passphrase: nil, costLogarithm: 17,
      salt: [UInt8](repeating: 0x55, count: 32), nonce: [UInt8](repeating: 0x33, count: 24))
    try expectInDocument(lines(file.encoded()))
    #expect(try MasterKeyFile.decode(file.encoded(), limit: 8192).encoded() == file.encoded())
  }

  @Test func `master.key with a passphrase`() throws {
    let passphrase: SecretBytes? = try text("correct horse")
    let file = try VaultKeys.seal(
      secret(masterKey), device: secret(deviceKey), passphrase: passphrase, costLogarithm: 17,
      salt: [UInt8](repeating: 0x55, count: 32), nonce: [UInt8](repeating: 0x33, count: 24))
    try expectInDocument(lines(file.encoded()))
  }

  @Test func `the copy of the card`() throws {
    let file = try CardCopy.file(Array("card".utf8), device: secret(deviceKey))
    try expectInDocument(lines(file))
    #expect(try CardCopy.card(in: file, device: secret(deviceKey)) == Array("card".utf8))
    #expect(try CardCopy.card(in: file, device: secret(masterKey)) == nil)
  }

  @Test func `a sealed record`() throws {
    let keys = try VaultKeys(master: secret(masterKey))
    let name = VaultDatabase.shareName(sampleID(1), 2, epoch: 0)
    let nonce = [UInt8](repeating: 0x44, count: 24)
    try expectInDocument(lines(keys.seal(text("share and salt"), name, nonce: nonce)))
  }

  @Test func `the companion of a secret`() throws {
    let keys = try VaultKeys(master: secret(masterKey))
    try expectInDocument(lines(Companion.secret(companion(keys)).file(keys)))
    let deleted = DeletedCompanion(secretID: sampleID(1), deletedAt: 1_700_000_000_000)
    try expectInDocument(lines(Companion.deleted(deleted).file(keys)))
  }

  @Test func `the companion of a secret whose holders have changed`() throws {
    let keys = try VaultKeys(master: secret(masterKey))
    let older = try companion(keys).shares
    let row = LifecycleRecord(
      secretID: sampleID(1), name: .init(.joining, try Digest([UInt8](repeating: 0x99, count: 32))),
      content: Array("joining".utf8), addedAt: 1_700_000_002_000)
    let changed = try companion(keys, epoch: 1, olderShares: older, lifecycle: [row])
    try expectInDocument(lines(Companion.secret(changed).file(keys)))
    let read = try SecretCompanion.decode(changed.encoded(), limit: SecretCompanion.byteLimit)
    #expect(read.shares == changed.shares && read.lifecycle == [row])
  }

  @Test func `the MACs of what is said about holders and of a replaced device`() throws {
    let home = try TestHome()
    try home.folders.create()
    let database = try VaultDatabase(home.folders, keys: VaultKeys(master: secret(masterKey)), creating: true)
    let row = LifecycleRecord(
      secretID: sampleID(1), name: .init(.joining, try Digest([UInt8](repeating: 0x99, count: 32))),
      content: Array("joining".utf8), addedAt: 1_700_000_002_000)
    try expectInDocument(lines(row.rowMAC(database.keys)))
    try database.put(
      Replacement(
        old: Digest([UInt8](repeating: 0x66, count: 32)), new: Digest([UInt8](repeating: 0x77, count: 32)),
        card: Array("card".utf8), addedAt: 1_700_000_000_000))
    let mac = try database.read { db in
      try StoredRow(row: Row.fetchOne(db, sql: "SELECT mac FROM replacements") ?? Row(), what: "it")
        .bytes("mac", count: 32)
    }
    try expectInDocument(lines(mac))
  }

  private func companion(
    _ keys: VaultKeys, epoch: Int64 = 0, olderShares: [SealedShareRow] = [], lifecycle: [LifecycleRecord] = []
  ) throws -> SecretCompanion {
    let dealer = try Digest([UInt8](repeating: 0x77, count: 32))
    let headerDigest = try Digest([UInt8](repeating: 0x66, count: 32))
    let name = VaultDatabase.shareName(sampleID(1), 2, epoch: epoch)
    return SecretCompanion(
      secret: SecretRecord(
        id: sampleID(1), askTag: try Digest([UInt8](repeating: 0x88, count: 32)), headerDigest: headerDigest,
        header: Array("header".utf8), origin: .held, dealer: dealer, description: "house keys", kind: 1, threshold: 2,
        shareCount: 3, ownIndex: 2, createdAt: 1_700_000_000_000, receivedAt: 1_700_000_001_000),
      sealedShare: try keys.seal(text("share and salt"), name, nonce: [UInt8](repeating: 0x44, count: 24)),
      epoch: epoch, policy: "ask",
      fragments: [
        FragmentRecord(
          completeOf: sampleID(1), index: 2, byteCount: 4096, trailerByteCount: 32, pieces: 1,
          headerDigest: headerDigest, source: dealer)
      ], deliveries: [],
      introductions: [
        IntroductionRecord(
          secretID: sampleID(1), digest: headerDigest, noiseKey: [UInt8](repeating: 0x55, count: 32), index: 3,
          dealer: dealer, card: Array("card".utf8), addedAt: 1_700_000_000_000)
      ], olderShares: olderShares, lifecycle: lifecycle)
  }

  @Test func `who this device is and whom it trusts, and the note of an item`() throws {
    let keys = try VaultKeys(master: secret(masterKey))
    let trust = TrustCompanion(
      identity: IdentityRecord(
        card: Array("card".utf8), serial: 2, label: "Alice", addresses: ["192.0.2.1:4721"], createdAt: 1_700_000_000_000
      ),
      sealed: VaultDatabase.SealedIdentity(secrets: Array("sealed".utf8), beacon: Array("beacon".utf8)),
      peers: [
        VaultDatabase.StoredPeer(
          record: PeerRecord(
            digest: try Digest([UInt8](repeating: 0x77, count: 32)), signingKey: [UInt8](repeating: 0x33, count: 32),
            noiseKey: [UInt8](repeating: 0x44, count: 32), boxKey: [UInt8](repeating: 0x55, count: 32), name: "Bob",
            card: Array("his".utf8), addresses: [], state: .proven, addedAt: 1_700_000_001_000),
          beacon: nil, nameKey: "bob")
      ], removedCards: [try Digest([UInt8](repeating: 0x88, count: 32))])
    try expectInDocument(lines(Companion.trust(trust).file(keys)))
    let note = ItemNote(
      ItemRecord(
        id: [UInt8](repeating: 1, count: 32), keyID: sampleID(2), header: Array("header".utf8), byteCount: 100,
        state: .waiting, origin: .sent, sender: try Digest([UInt8](repeating: 0x77, count: 32)), label: nil,
        receivedAt: 1_700_000_000_000))
    try expectInDocument(lines(note.file(keys)))
    #expect(try ItemNote.decode(note.encoded(), limit: ItemNote.byteLimit) == note)
  }

  @Test func `the MAC of a tombstone`() throws {
    let home = try TestHome()
    try home.folders.create()
    let database = try VaultDatabase(home.folders, keys: VaultKeys(master: secret(masterKey)), creating: true)
    try database.write { db in try database.putTombstone(sampleID(1), at: 1_700_000_000_000, db) }
    let mac = try database.read { db in
      try StoredRow(row: Row.fetchOne(db, sql: "SELECT mac FROM tombstones") ?? Row(), what: "it")
        .bytes("mac", count: 32)
    }
    try expectInDocument(lines(mac))
  }

  @Test func `the MAC of a secret's row`() throws {
    let record = SecretRecord(
      id: sampleID(1), askTag: try digest("tag"), headerDigest: try Digest([UInt8](repeating: 0x66, count: 32)),
      header: [1], origin: .held, dealer: try Digest([UInt8](repeating: 0x77, count: 32)), description: "house keys",
      kind: 1, threshold: 2, shareCount: 3, ownIndex: 2, createdAt: 1_700_000_000_000, receivedAt: 1_700_000_001_000)
    try expectInDocument(lines(record.rowMAC(VaultKeys(master: secret(masterKey)))))
  }

  @Test func `the MACs of a policy, a request, a release and the clock`() throws {
    let home = try TestHome()
    try home.folders.create()
    let database = try VaultDatabase(home.folders, keys: VaultKeys(master: secret(masterKey)), creating: true)
    let peer = try Digest([UInt8](repeating: 0x77, count: 32))
    try expectInDocument(lines(database.policyMAC(sampleID(1), "delay:2d")))
    var request = RequestRecord(
      kind: .release, peer: peer, secretID: sampleID(1), headerDigest: try Digest([UInt8](repeating: 0x66, count: 32)),
      askedAt: 1_700_000_000_000, delay: 172_800_000, endsAt: 1_700_777_600_000)
    request.id = 3
    try expectInDocument(lines(request.rowMAC(database.keys)))
    try expectInDocument(lines(database.releaseMAC(peer, sampleID(1), 1_700_000_000_000)))
    try expectInDocument(lines(database.clockMAC(1_700_000_000_000)))
  }

  @Test func `the MACs of an introduction and of a removed card`() throws {
    let home = try TestHome()
    try home.folders.create()
    let database = try VaultDatabase(home.folders, keys: VaultKeys(master: secret(masterKey)), creating: true)
    let record = IntroductionRecord(
      secretID: sampleID(1), digest: try Digest([UInt8](repeating: 0x66, count: 32)),
      noiseKey: [UInt8](repeating: 0x55, count: 32), index: 3, dealer: try Digest([UInt8](repeating: 0x77, count: 32)),
      card: Array("card".utf8), addedAt: 1_700_000_000_000)
    try expectInDocument(lines(database.introductionMAC(record)))
    try expectInDocument(lines(database.removedCardMAC(record.digest)))
  }

  @Test func `the MAC of a mailbox and what is sealed of a parcel`() throws {
    let home = try TestHome()
    try home.folders.create()
    let database = try VaultDatabase(home.folders, keys: VaultKeys(master: secret(masterKey)), creating: true)
    let group = [UInt8](repeating: 0x99, count: 8)
    try expectInDocument(lines(database.mailboxMAC(group, [UInt8](repeating: 0x88, count: 16))))
    let record = ParcelRecord(
      id: sampleID(1), direction: .request, state: .posted, peer: try Digest([UInt8](repeating: 0x77, count: 32)),
      secretID: sampleID(2), delivery: 5, group: group, createdAt: 1_700_000_000_000, expiresAt: 1_701_208_800_000,
      request: 7, nextAttemptAt: 1_700_086_400_000, handedOver: [.group: 1_700_000_000_000])
    let parcel = StoredParcel(
      record: record, content: try StoredParcel.digest(of: Array("parcel".utf8)), hasSecret: false)
    try expectInDocument(lines(parcel.encoded()))
    #expect(try StoredParcel.decode(parcel.encoded(), limit: StoredParcel.byteLimit) == parcel)
  }

  @Test func `what is sealed of a message, and of carriers`() throws {
    let record = MessageRecord(
      number: 3, id: sampleID(1), peer: try Digest([UInt8](repeating: 0x77, count: 32)), direction: .received,
      kind: .photo, isSealed: true, name: "a.jpg", mediaType: "image/jpeg", byteCount: 5, partsDone: 1,
      digest: try Digest([UInt8](repeating: 0x66, count: 32)), sentAt: 1_700_000_000_000, storedAt: 1_700_000_001_000,
      deliveredAt: 1_700_000_001_000, route: "carriers", hops: 1,
      carriers: [try Digest([UInt8](repeating: 0x88, count: 32))], expiresAt: 1_701_208_800_000, state: .new)
    try expectInDocument(lines(record.encoded()))
    #expect(try MessageRecord.decode(record.encoded(), limit: MessageRecord.byteLimit) == record)
    let courier = Courier(own: try #require(DeviceKey([UInt8](repeating: 0x11, count: 32))))
    try expectInDocument(lines(courier.encoded()))
  }

  @Test func `what is known of who has an own parcel`() throws {
    func device(_ byte: UInt8) throws -> DeviceKey {
      try #require(DeviceKey([UInt8](repeating: byte, count: 32)))
    }
    var courier = Courier(own: try device(0x11))
    let copy = try #require(
      CopyKey([UInt8](repeating: 0x22, count: 16) + [UInt8](repeating: 0x99, count: 16)))
    let tag = try #require(RecipientTag([UInt8](repeating: 0x33, count: 16)))
    let isSent = courier.send(
      copy, tag: tag, size: 4096, expiresAt: 1_700_086_400_000, to: try device(0x44), allowsServers: true,
      at: 1_700_000_000_000)
    #expect(isSent)
    for (byte, branch, at) in [(0x55, 0, 1000), (0x55, 0, 1500), (0x66, 1, 2000)] as [(UInt8, UInt8, Int64)] {
      let header = try #require(
        ParcelHeader(
          copy: copy, tag: tag, size: 4096, expiresAt: 1_700_086_400_000, hopsLeft: 2, branch: branch,
          allowsServers: true))
      let isPromised = courier.promise(header, to: try device(byte), isTheirs: false, at: 1_700_000_000_000 + at)
      #expect(isPromised)
      if byte == 0x66 { courier.gave(header, to: try device(byte), isTheirs: false, at: 1_700_000_000_000 + at) }
    }
    try expectInDocument(lines(courier.encoded()))
    #expect(try Courier.decode(courier.encoded(), limit: Courier.byteLimit).outgoing == courier.outgoing)
  }

  @Test func `what is sealed of a meeting`() throws {
    var given = MeetingRecord.Given()
    (given.delivered, given.toCarry, given.passedOn, given.byteCount, given.receipts) = (2, 1, 3, 8192, 4)
    var taken = MeetingRecord.Taken()
    (taken.received, taken.byteCount, taken.receipts) = (1, 4096, 2)
    let record = MeetingRecord(
      peer: try Digest([UInt8](repeating: 0x77, count: 32)), beganAt: 1_700_000_000_000, duration: 1500,
      isNearby: false, isDialled: true, ending: .regular, given: given, taken: taken)
    try expectInDocument(lines(record.encoded()))
    #expect(try MeetingRecord.decode(record.encoded(), limit: MeetingRecord.byteLimit) == record)
  }

  @Test func `a list of texts`() throws {
    try expectInDocument(lines(TextList(["a:1", "é"]).encoded()))
  }

  @Test func `what names are compared by`() throws {
    for name in ["Alice  Liddell", "Straße"] { try expectInDocument("| `\(name)` | `\(PeerName.skeleton(name))` |") }
    try expectInDocument("| `\u{FF21}lice` with a full-width A | `\(PeerName.skeleton("\u{FF21}lice"))` |")
  }

  @Test func `a settings file`() throws {
    let home = try TestHome()
    try home.folders.create()
    let settings = SettingsFile(home.folders, keys: try VaultKeys(master: secret(masterKey)))
    try settings.save(["release": "ask", "notify": "/usr/bin/true"])
    try expectInDocument(String(decoding: contents(home.folders.settingsPath), as: UTF8.self))
  }

  @Test func `a backup`() throws {
    let home = try TestHome()
    try home.folders.create()
    let keys = try VaultKeys(master: secret(masterKey))
    let path = home.folders.data + "/backup"
    let device = try Digest([UInt8](repeating: 0x66, count: 32))
    let files = [
      ("master.key", "key"), ("vault.db", "database"), ("fragments/01010101010101010101010101010101.2", ""),
    ]
    var writer = try BackupWriter(
      path: path, overwrites: false, notes: OutputNotes(home.folders), keys: keys, device: device, count: files.count,
      at: 1_700_000_000_000)
    for (name, contents) in files {
      try AtomicFile.write(Array(contents.utf8).span.bytes, to: home.folders.data + "/part", replacing: true)
      try writer.add(name, from: home.folders.data + "/part")
    }
    _ = try writer.finish()
    try expectInDocument(lines(contents(path)), "backup.md")
  }

  /// Hexadecimal, 32 bytes a line.
  @Test func `a recovery kit`() throws {
    let kit = try RecoveryKit(
      of: secret(deviceKey), passphrase: text("correct horse"), at: 1_700_000_000_000, costLogarithm: 17,
      salt: [UInt8](repeating: 0x55, count: 32))
    try expectInDocument(lines(kit.encoded()), "backup.md")
  }

  private func lines(_ bytes: [UInt8]) -> String {
    stride(from: 0, to: bytes.count, by: 32).map { hexadecimal(bytes[$0..<min(bytes.count, $0 + 32)]) + "\n" }.joined()
  }

  private func expectInDocument(
    _ example: String, _ name: String = "store.md", sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let folder = String(#filePath.dropLast("FormatExampleTests.swift".count))
    let real = try #require(realpath(folder, nil))
    defer { free(real) }
    let document = contents(String(cString: real) + "/../../docs/formats/" + name)
    #expect(!document.isEmpty, sourceLocation: sourceLocation)
    let isThere = String(decoding: document, as: UTF8.self).contains("\n" + example)
    #expect(isThere, "the document should contain:\n\(example)", sourceLocation: sourceLocation)
  }
}
