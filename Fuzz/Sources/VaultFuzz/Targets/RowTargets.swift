import Courier
import Foundation
import GRDB
import ShamirKit
import Sodium
@testable import VaultStore

/// Rows of the database, with any value in any column, as somebody leaves them who can write the file.
enum RowTargets {
  static let all = [
    FuzzTarget("rows", upTo: 3000, judges: false) { try readRow($0) },
    FuzzTarget("peer-row", upTo: 3000) { try storePeer($0) },
  ]

  private static let id = [UInt8](repeating: 2, count: 16)
  private static let secretID = SecretID(high: 0x0202_0202_0202_0202, low: 0x0202_0202_0202_0202)
  private static let digest = [UInt8](repeating: 4, count: 32)

  /// A vault whose tables take everything: the checks of a schema protect nobody from who writes the file.
  private static let home = prepared { () throws -> ScratchHome in
    let home = try ScratchHome()
    try home.database.pool.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF")
      for table in tables {
        let columns = table.row.map { $0.0 }.joined(separator: ", ")
        try db.execute(sql: "DROP TABLE \(table.name); CREATE TABLE \(table.name) (\(columns))")
      }
    }
    return home
  }

  private struct Table: Sendable {
    let name: String
    /// A row as the program writes it.
    let row: [(String, DatabaseValue.Storage)]
    /// Everything that reads it.
    let read: @Sendable (VaultDatabase) throws -> Void
  }

  private static let idBlob = DatabaseValue.Storage.blob(Data(id))
  private static let digestBlob = DatabaseValue.Storage.blob(Data(digest))
  private static let emptyList = DatabaseValue.Storage.blob(Data([0, 0]))

  private static let tables: [Table] = [
    Table(
      name: "identity",
      row: [
        ("id", .int64(1)), ("secrets", digestBlob), ("beacon", digestBlob), ("card", digestBlob), ("serial", .int64(1)),
        ("label", .string("device")), ("addresses", emptyList), ("created_at", .int64(5)), ("mac", digestBlob),
      ]
    ) {
      _ = try $0.identity()
    },
    Table(
      name: "peers",
      row: [
        ("digest", digestBlob), ("signing_key", digestBlob), ("noise_key", digestBlob), ("box_key", digestBlob),
        ("name", .string("bob")), ("name_key", .string("bob")), ("card", digestBlob), ("addresses", emptyList),
        ("beacon", .null), ("state", .string("proven")), ("added_at", .int64(5)), ("last_seen_at", .null),
        ("mac", digestBlob), ("person", .null),
      ]
    ) {
      _ = try? $0.removePeer(Digest(digest))
      _ = try? $0.peer(named: "bob")
      _ = try $0.peers()
    },
    Table(
      name: "secrets",
      row: [
        ("id", idBlob), ("ask_tag", digestBlob), ("header_digest", digestBlob), ("header", digestBlob),
        ("origin", .string("held")), ("dealer", digestBlob), ("description", .null), ("kind", .int64(1)),
        ("threshold", .int64(2)), ("share_count", .int64(3)), ("own_index", .int64(1)), ("created_at", .int64(5)),
        ("received_at", .int64(6)), ("state", .string("active")), ("mac", digestBlob),
      ]
    ) {
      _ = try? $0.usage(ofDealer: Digest(digest))
      _ = try? $0.listing()
      for line in (try? $0.listing(verifying: false))?.lines ?? [] {
        require(line.threshold > 0 && line.shareCount > 0, "a listed secret's numbers are in range")
      }
      for secret in try $0.secrets() {
        require((1...255).contains(secret.threshold), "a secret's numbers are in range")
      }
    },
    Table(
      name: "shares",
      row: [("secret_id", idBlob), ("epoch", .int64(0)), ("share_index", .int64(1)), ("sealed", digestBlob)]
    ) {
      _ = try? $0.epochs(ofSecret: secretID)
      _ = try $0.share(ofSecret: secretID)?.index
    },
    Table(
      name: "fragments",
      row: [
        ("secret_id", idBlob), ("fragment_index", .int64(1)), ("byte_count", .int64(64)),
        ("trailer_byte_count", .int64(32)), ("pieces", .int64(1)), ("complete", .int64(1)), ("expires_at", .null),
        ("header_digest", digestBlob), ("source", digestBlob),
      ]
    ) {
      _ = try? $0.usage(ofDealer: Digest(digest))
      _ = try? $0.openFragment(of: secretID, index: 1)
      _ = try $0.fragments(of: secretID)
    },
    Table(
      name: "outbox",
      row: [
        ("id", .int64(1)), ("recipient", digestBlob), ("kind", .string("deposit")), ("secret_id", idBlob),
        ("share_index", .int64(1)), ("payload", digestBlob), ("has_fragment", .int64(0)), ("state", .string("waiting")),
        ("attempts", .int64(0)), ("next_attempt_at", .int64(5)), ("expires_at", .null), ("route", .null),
        ("last_error", .null), ("created_at", .int64(5)),
      ]
    ) {
      _ = try? $0.hasWaitingDeliveries()
      _ = try? $0.claimDelivery(1, at: 10, retryAt: 20)
      _ = try? $0.dueDeliveries(at: .max)
      _ = try? $0.settleRefused(1, route: nil, error: "no")
      _ = try $0.deliveries(ofSecret: secretID)
    },
    Table(
      name: "tombstones", row: [("secret_id", idBlob), ("deleted_at", .int64(5)), ("mac", digestBlob)]
    ) {
      _ = try $0.tombstone(secretID)
    },
    Table(
      name: "evidence",
      row: [
        ("id", .int64(1)), ("secret_id", idBlob), ("header_digest", digestBlob), ("header", digestBlob),
        ("peer", digestBlob), ("seen_at", .int64(5)),
      ]
    ) {
      _ = try $0.evidence(aboutSecret: secretID)
    },
    Table(
      name: "audit",
      row: [
        ("id", .int64(1)), ("at", .int64(5)), ("event", .string("released")), ("peer", digestBlob),
        ("peer_label", .string("bob")), ("secret_id", idBlob), ("detail", .null),
      ]
    ) {
      _ = try $0.auditLog(limit: 10)
      _ = try $0.pruneAuditLog(keeping: 0)
    },
    Table(
      name: "drills",
      row: [
        ("secret_id", idBlob), ("checked_at", .int64(5)), ("answered", .int64(2)), ("needed", .int64(2)),
        ("recoverable", .int64(1)), ("warned", .int64(0)), ("holders", emptyList), ("mac", digestBlob),
        ("elsewhere", .null),
      ]
    ) {
      _ = try? $0.drills()
      _ = try $0.drill(ofSecret: secretID)
    },
    Table(
      name: "items",
      row: [
        ("id", digestBlob), ("key_id", idBlob), ("header", digestBlob), ("byte_count", .int64(64)),
        ("state", .string("seen")), ("origin", .string("sent")), ("sender", digestBlob), ("label", .null),
        ("received_at", .int64(5)), ("mac", digestBlob),
      ]
    ) {
      _ = try? $0.usage(ofDealer: Digest(digest))
      _ = try? $0.deleteItem(digest)
      _ = try? $0.discardArrival(digest)
      _ = try? $0.setItem(digest, state: .new, label: nil)
      _ = try? $0.itemCounts()
      for item in try $0.items() {
        require(item.byteCount >= 0 && item.id.count == 32, "an item's numbers are in range")
        _ = try? $0.openItem(item)
      }
    },
    Table(name: "meta", row: [("key", .string("user.key")), ("value", digestBlob)]) {
      _ = try? $0.consentClock()
      _ = try $0.meta("key")
    },
    Table(
      name: "policies", row: [("secret_id", idBlob), ("policy", .string("ask")), ("mac", digestBlob)]
    ) {
      _ = try $0.policy(ofSecret: secretID)
    },
    Table(
      name: "requests",
      row: [
        ("id", .int64(1)), ("kind", .string("release")), ("peer", digestBlob), ("secret_id", idBlob),
        ("header_digest", digestBlob), ("description", .null), ("byte_count", .null), ("state", .string("waiting")),
        ("asked_at", .int64(5)), ("started_at", .int64(5)), ("delay", .null), ("ends_at", .int64(9)),
        ("mac", digestBlob),
      ]
    ) {
      let peer = try Digest(digest)
      _ = try? $0.request(1)
      _ = try? $0.decideRequest(1, at: 6) { (row) throws(StoreError) in row.state = .refused }
      _ = try? $0.changeRequest(.release, of: peer, secret: secretID, at: 6) { (row, _) throws(StoreError) in
        row = nil
      }
      _ = try? $0.dropWaitingDeposits()
      _ = try $0.requests()
    },
    Table(
      name: "releases",
      row: [("peer", digestBlob), ("secret_id", idBlob), ("released_at", .int64(5)), ("mac", digestBlob)]
    ) {
      _ = try $0.countRelease(of: secretID, to: Digest(digest), at: 6, since: 0, limit: 3)
    },
    Table(
      name: "messages",
      row: [
        ("number", .int64(1)), ("id", idBlob), ("direction", .string("sent")), ("peer", digestBlob),
        ("account", .null), ("contact", .null), ("state", .string("waiting")), ("byte_count", .int64(4)),
        ("stored_at", .int64(5)), ("expires_at", .int64(9)), ("sealed", digestBlob),
      ]
    ) {
      _ = try? $0.messages(MessageFilter(peer: Digest(digest), states: [.waiting], expiredAt: 10))
      _ = try? $0.messageCounts(peer: Digest(digest))
      _ = try? $0.message(direction: .sent, peer: Digest(digest), id: id)
      _ = try? $0.messagePart(1, part: 0)
      _ = try? $0.removeMessage(1)
      _ = try $0.message(number: 1)
    },
    Table(name: "courier", row: [("id", .int64(1)), ("sealed", digestBlob)]) {
      guard let own = DeviceKey(digest) else { return }
      _ = try $0.readCourier(own: own)
    },
    Table(name: "carried", row: [("id", idBlob), ("digest", idBlob), ("mac", digestBlob), ("content", digestBlob)]) {
      guard let copy = CopyKey(id + id) else { return }
      _ = try $0.carriedContent(copy)
    },
    Table(name: "accounts", row: [("id", idBlob), ("sealed", digestBlob), ("secret", .null)]) {
      _ = try? $0.accountPassword(id)
      _ = try? $0.updateAccount(id) { $0.archivedTo = "there" }
      _ = try $0.accounts()
    },
    Table(name: "friends", row: [("account", idBlob), ("address", .string("a@b")), ("sealed", digestBlob)]) {
      _ = try? $0.friend(id, "a@b")
      _ = try $0.friends(id)
    },
    Table(name: "peer_addresses", row: [("peer", digestBlob), ("sealed", digestBlob)]) {
      _ = try? $0.peerAddresses()
      _ = try $0.peerAddress(Digest(digest))
    },
    Table(
      name: "meetings",
      row: [("number", .int64(1)), ("mark", digestBlob), ("began_at", .int64(5)), ("sealed", digestBlob)]
    ) {
      _ = try $0.meetings(at: 6)
    },
    Table(
      name: "lifecycle",
      row: [
        ("secret_id", idBlob), ("kind", .int64(2)), ("digest", digestBlob), ("content", digestBlob),
        ("added_at", .int64(5)), ("mac", digestBlob),
      ]
    ) { database in
      _ = try? database.secretsWithLifecycle()
      _ = try? database.hasRecords(ofSecret: secretID)
      let rows = prepared { try database.lifecycle(ofSecret: secretID) }
      require(rows.isEmpty, "a row without its MAC counts for nothing")
      try database.changeLifecycle(ofSecret: secretID, removing: [.init(.joining, Digest(digest))])
    },
    Table(
      name: "replacements",
      row: [
        ("old", digestBlob), ("new", digestBlob), ("card", digestBlob), ("added_at", .int64(5)), ("mac", digestBlob),
      ]
    ) {
      _ = try $0.replacements()
    },
  ]

  private static func readRow(_ bytes: [UInt8]) throws -> Bool {
    var tape = Tape(bytes)
    let table = tables[tape.number(below: tables.count)]
    let values = table.row.map { value(&tape, usual: $0.1) }
    let names = table.row.map { $0.0 }.joined(separator: ", ")
    let places = table.row.map { _ in "?" }.joined(separator: ", ")
    prepared {
      try home.database.pool.writeWithoutTransaction { db in
        try db.execute(sql: "DELETE FROM \(table.name)")
        try db.execute(
          sql: "INSERT INTO \(table.name) (\(names)) VALUES (\(places))", arguments: StatementArguments(values))
      }
    }
    try table.read(home.database)
    return true
  }

  private static func value(_ tape: inout Tape, usual: DatabaseValue.Storage) -> DatabaseValue {
    switch tape.byte() % 12 {
    case 0: .null
    case 1: Int64(bitPattern: tape.anyNumber()).databaseValue
    case 2: Int64(bitPattern: ~tape.anyNumber()).databaseValue
    case 3: Double(bitPattern: tape.u64()).databaseValue
    case 4: tape.text(upTo: 300).databaseValue
    case 5: Data(tape.bytes(upTo: 300)).databaseValue
    case 6: Data(tape.bytes(exactly: 32)).databaseValue
    default: DatabaseValue(storage: usual)
    }
  }

  /// A peer as the program stores it: what it takes it must give back.
  private static func storePeer(_ bytes: [UInt8]) throws -> Bool {
    var tape = Tape(bytes)
    let home = StoreTargets.home
    let keys = prepared { try Digest(tape.bytes(exactly: 32)) }
    let peer = PeerRecord(
      digest: keys, signingKey: keys.bytes, noiseKey: tape.bytes(exactly: 32), boxKey: tape.bytes(exactly: 32),
      name: tape.text(upTo: 1100), card: tape.bytes(upTo: 300),
      addresses: (0..<Int(tape.byte() & 7)).map { _ in tape.text(upTo: 300) }, state: tape.flag() ? .proven : .scanned,
      addedAt: Int64(bitPattern: tape.anyNumber()))
    defer { _ = try? home.database.removePeer(keys) }
    try home.database.addPeer(peer, beaconKey: nil)
    let stored = prepared { try home.database.peer(keys) }
    require(
      stored == peer && stored?.name.utf8.elementsEqual(peer.name.utf8) == true, "a peer is read as it was stored")
    let named = prepared { try home.database.peer(named: peer.name) }
    require(named == peer, "a peer is found by its name")
    return true
  }
}

extension DatabaseValue {
  fileprivate init(storage: Storage) {
    switch storage {
    case .null: self = .null
    case .int64(let number): self = number.databaseValue
    case .double(let number): self = number.databaseValue
    case .string(let text): self = text.databaseValue
    case .blob(let data): self = data.databaseValue
    }
  }
}
