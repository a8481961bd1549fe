import ShamirKit
import Sodium
@testable import VaultStore
import WireCodec

enum StoreSamples {
  private static func companion(
    of id: SecretID, _ olderShares: [SealedShareRow] = [], _ lifecycle: [LifecycleRecord] = []
  ) throws -> SecretCompanion {
    SecretCompanion(
      secret: SecretRecord(
        id: id, askTag: try Digest(many(2, 32)), headerDigest: try Digest(many(3, 32)), header: many(4, 9),
        origin: .held, dealer: try Digest(many(5, 32)), description: "keys", kind: 1, threshold: 2, shareCount: 3,
        ownIndex: 2, createdAt: 1, receivedAt: 2),
      sealedShare: many(6, 60), epoch: olderShares.isEmpty ? 0 : 2, policy: "ask",
      fragments: [
        FragmentRecord(
          completeOf: id, index: 2, byteCount: 5, trailerByteCount: 32, pieces: 1,
          headerDigest: try Digest(many(3, 32)), source: nil)
      ],
      deliveries: [],
      introductions: [
        IntroductionRecord(
          secretID: id, digest: try Digest(many(7, 32)), noiseKey: many(8, 32), index: 3,
          dealer: try Digest(many(5, 32)), card: many(9, 4), addedAt: 3)
      ], olderShares: olderShares, lifecycle: lifecycle)
  }

  private static func olderShares() -> [SealedShareRow] {
    [SealedShareRow(epoch: 1, index: 2, sealed: many(1, 60)), SealedShareRow(epoch: 0, index: 2, sealed: many(2, 60))]
  }

  private static func lifecycle(of id: SecretID) throws -> [LifecycleRecord] {
    try LifecycleRecord.Kind.allCases.map { kind in
      LifecycleRecord(
        secretID: id, name: .init(kind, try Digest(many(kind.rawValue, 32))), content: many(7, 5), addedAt: 9)
    }
  }

  private static func companions(of id: SecretID) throws -> [Sample] {
    let (older, rows) = try (olderShares(), lifecycle(of: id))
    let companion = encoding(of: try self.companion(of: id))
    let changed = encoding(of: try self.companion(of: id, older, rows))
    // Behind what both have, and before the extension section.
    let counts = companion.count - 2
    return Sample.of(
      "secret-companion",
      [
        "valid-held": companion, "empty": [], "truncated": companion.without(last: 1),
        "trailing-byte": companion + [0], "wrong-magic": companion.with(0, [0]),
        "unknown-version": companion.with(8, [4]), "huge-header": companion.with(89, [0xff]),
        "valid-changed": changed,
        "valid-changed-without-older-shares": encoding(of: try self.companion(of: id, [], rows)),
        "valid-changed-without-rows": encoding(of: try self.companion(of: id, older)),
        "truncated-in-rows": changed.without(last: 9),
        "changed-without-changes": companion.without(last: 2).with(8, [3]) + many(0, 6),
        "changed-as-version-2": changed.with(8, [2]),
        "more-older-shares-than-there-are": changed.with(counts, [0x0f]),
        "row-of-unknown-kind": changed.with(counts + 2 + 2 * 70 + 2, [9]),
        "huge-row": changed.with(counts + 2 + 2 * 70 + 2 + 41, [0x7f]),
      ])
  }

  static func all() throws -> [Sample] {
    let file = MasterKeyFile(
      costLogarithm: 17, deviceID: try Digest(many(1, 32)), salt: many(2, 32), nonce: many(3, 24), sealed: many(4, 48))
    var open = file
    open.costLogarithm = nil
    open.salt = many(0, 32)
    let bytes = encoding(of: file)
    let body = bytes.without(last: 32)
    let list = encoding(of: TextList(["192.0.2.7:4721", ""]))
    let row = [0] as [UInt8]
    let id = try SecretID(many(1, 16))
    let companions = try self.companions(of: id)
    // Of the first ones, and of those of changes.
    let tables: [UInt8] = Array(0..<14) + [22, 23]
    let deleted = encoding(of: DeletedCompanion(secretID: id, deletedAt: 5))
    let trust = encoding(
      of: TrustCompanion(
        identity: IdentityRecord(card: many(1, 5), serial: 2, label: "me", addresses: ["192.0.2.7:4721"], createdAt: 3),
        sealed: VaultDatabase.SealedIdentity(secrets: many(2, 60), beacon: many(3, 60)),
        peers: [
          VaultDatabase.StoredPeer(
            record: PeerRecord(
              digest: try Digest(many(1, 32)), signingKey: many(2, 32), noiseKey: many(3, 32), boxKey: many(4, 32),
              name: "Bob", card: many(5, 9), state: .proven, addedAt: 1),
            beacon: many(6, 60), nameKey: "bob")
        ], removedCards: [try Digest(many(8, 32))]))
    let note = encoding(
      of: ItemNote(
        ItemRecord(
          id: many(1, 32), keyID: id, header: many(3, 9), byteCount: 100, state: .waiting,
          origin: .sent,
          sender: try Digest(many(4, 32)), label: many(5, 60), receivedAt: 6)))
    /// Choices for one column after the other of a table: `place` gets another value, the others what is usual.
    func rows(_ table: UInt8, _ place: Int, _ value: [UInt8]) -> [UInt8] {
      [0, table] + many(11, place) + value + many(11, 20)
    }
    func stored(_ name: String, _ contents: [UInt8]) -> [UInt8] {
      [0, UInt8(name.utf8.count)] + Array(name.utf8) + many(0, 4) + bigEndian(UInt32(contents.count)) + contents
        + many(5, 32)
    }
    func backup(_ count: UInt8, _ files: [UInt8]...) -> [UInt8] {
      Array("VAULTBAK".utf8) + [1] + many(0, 8) + many(1, 32) + [0, 0, 0, count] + files.joined() + many(6, 32)
    }
    let (key, database) = (stored("master.key", bytes), stored("vault.db", many(7, 50)))
    let fragment = stored("fragments/" + String(repeating: "0a", count: 16) + ".2", many(8, 9))
    let peer = many(1, 32) + many(2, 32) + many(3, 32)
    return Sample.of(
      "text-list",
      [
        "valid-two": list, "valid-none": [0, 0], "empty": [], "huge-count": [0xff, 0xff],
        "huge-text": [0, 1, 0xff, 0xff],
        "truncated": list.without(last: 1), "trailing-byte": list + row, "not-utf8": [0, 1, 0, 1, 0xff],
        "nul": [0, 1, 0, 1, 0],
      ])
      + Sample.of(
        "backup",
        [
          "valid-smallest": backup(2, key, database), "valid-fragment": backup(3, key, database, fragment),
          "valid-settings-and-item": backup(
            4, key, database, stored("settings.json", []), stored("items/" + String(repeating: "ff", count: 16), [1])),
          "empty": [], "without-database": backup(1, key), "without-key": backup(1, database),
          "out-of-order": backup(3, key, fragment, database),
          "same-file-twice": backup(4, key, database, fragment, fragment),
          "name-outside": backup(3, key, database, stored("fragments/../master.key", [1])),
          "name-unknown": backup(3, key, database, stored("device.key", many(1, 32))),
          "fragment-zero": backup(
            3, key, database, stored("fragments/" + String(repeating: "0a", count: 16) + ".0", [1])),
          "huge-count": backup(255, key, database), "truncated": backup(2, key, database).without(last: 1),
          "trailing-byte": backup(2, key, database) + [0],
          "huge-length": backup(2, key, [0, 8] + Array("vault.db".utf8) + many(0xff, 8)),
          "other-device": backup(2, key, database).with(17, [9]),
          "unknown-version": backup(2, key, database).with(8, [2]),
        ])
      + Sample.of(
        "drill-holders",
        [
          "valid-one": [0, 1] + many(3, 32) + [2, 1] + many(0, 8), "valid-none": [0, 0], "empty": [],
          "huge-count": [1, 0], "share-zero": [0, 1] + many(3, 32) + [0, 1] + many(0, 8),
          "flag-of-two": [0, 1] + many(3, 32) + [2, 2] + many(0, 8),
          "truncated": [0, 1] + many(3, 32) + [2, 1] + many(0, 7), "trailing-byte": [0, 0, 0],
        ])
      + companions
      + Sample.of(
        "deleted-companion",
        [
          "valid": deleted, "empty": [], "truncated": deleted.without(last: 1), "trailing-byte": deleted + [0],
          "wrong-magic": deleted.with(0, [0]), "unknown-version": deleted.with(8, [2]),
        ])
      + Sample.of(
        "trust-companion",
        [
          "valid-one-peer": trust, "empty": [], "truncated": trust.without(last: 1), "trailing-byte": trust + [0],
          "wrong-magic": trust.with(0, [0]), "unknown-version": trust.with(8, [2]), "huge-keys": trust.with(9, [0xff]),
        ])
      + Sample.of(
        "item-note",
        [
          "valid-sent": note, "empty": [], "truncated": note.without(last: 1), "trailing-byte": note + [0],
          "wrong-magic": note.with(0, [0]), "unknown-version": note.with(8, [2]), "huge-header": note.with(57, [0xff]),
          "arriving": note.with(76, [1]),
        ])
      + Sample.of(
        "master-key",
        [
          "valid-with-passphrase": bytes, "valid-without-passphrase": encoding(of: open), "empty": [],
          "truncated": bytes.without(last: 1),
          "trailing-byte": bytes + [0], "wrong-checksum": bytes.with(bytes.count - 1, [bytes[bytes.count - 1] ^ 1]),
          "wrong-magic": bytes.with(0, [0]),
          "too-long": bytes + many(0, 8200),
        ])
      + Sample.of(
        "recovery-kit",
        [
          "valid": [1, 20] + many(3, 96), "empty": [], "truncated": [1, 20] + many(3, 95),
          "trailing-byte": [1, 20] + many(3, 97), "unknown-version": [2, 20] + many(3, 96),
          "cost-of-16": [1, 16] + many(3, 96), "huge-cost": [1, 255] + many(3, 96),
        ])
      + Sample.of(
        "master-key-checksum",
        [
          "valid-with-passphrase": body, "unknown-version": body.with(8, [2]), "cost-of-16": body.with(9, [16]),
          "cost-of-21": body.with(9, [21]),
          "huge-cost": body.with(9, [255]), "salt-without-cost": body.with(9, [0]),
          "huge-extensions": body.without(last: 2) + [0xff, 0xff],
          "must-understand-extension": body.without(last: 2) + [0, 4, 0, 2, 0, 0],
          "valid-odd-extension": body.without(last: 2) + [0, 4, 0, 1, 0, 0],
          "empty": [],
        ])
      + Sample.of(
        "sealed-record",
        [
          "empty": [], "too-short": [1] + many(0, 39), "unknown-version": [2] + many(0, 60),
          "wrong-tag": [1] + many(0, 60),
        ])
      + Sample.of(
        "sealed-record-inside",
        ["empty": [], "share": many(1, 24) + [0, 2, 0x61, 0x62, 0, 1, 9, 0] + many(0, 8) + many(6, 64)])
      + Sample.of(
        "settings-file",
        texts: [
          "empty": "", "not-json": "{", "array": "[]", "null": "null", "no-mac": #"{"version":1,"settings":{}}"#,
          "wrong-mac": #"{"mac":"00","settings":{"listen":"0.0.0.0:1"},"version":1}"#,
          "mac-not-hexadecimal": #"{"mac":"zz","settings":{},"version":1}"#,
          "later-version": #"{"mac":"00","settings":{},"version":2}"#,
          "huge-version": #"{"mac":"","settings":{},"version":1e999}"#,
          "number-for-text": #"{"mac":"00","settings":{"listen":7},"version":1}"#,
          "deep": String(repeating: "[", count: 2000),
          "lone-surrogate": #"{"mac":"","settings":{"\ud800":""},"version":1}"#, "byte-order-mark": "\u{feff}{}",
        ])
      + Sample.of(
        "settings-mac",
        texts: [
          "valid-one": #"{"listen":"127.0.0.1:4721"}"#, "valid-none": "{}",
          "valid-escapes": #"{"notify-command":"a\n\u0000\"\\é😀"}"#,
          "valid-composed-and-decomposed": "{\"\u{e9}\":\"1\",\"e\u{301}\":\"2\"}",
          "valid-key-twice": #"{"a":"1","a":"2"}"#, "number": #"{"a":1}"#, "null": #"{"a":null}"#,
          "array": "[]", "empty": "", "valid-trailing-comma": #"{"a":"1",}"#, "text-behind": #"{} {}"#,
          "closed-early": #"{}}"#,
        ])
      + Sample.of(
        "partial-fragment",
        [
          "valid-two-pieces": [0, 9, 0, 0, 15, 0, 0, 0, 0, 0, 10] + many(7, 10) + [0, 0, 5] + many(8, 5) + [
            5, 0, 3, 1, 2, 3,
          ],
          "valid-taken-up-whole": [0, 9, 0, 0, 10, 0, 10] + many(7, 10) + [1, 4, 0],
          "piece-of-wrong-length": [0, 9, 0, 0, 10, 0, 0, 0, 0, 0, 3, 1, 1, 1],
          "file-longer-than-fragment": [0, 9, 0, 0, 5, 0, 20] + many(7, 20) + [0, 0, 0, 1, 1],
          "negative-length": [0, 9, 1, 64] + many(0xff, 8), "no-length": [0, 9, 0, 0, 0],
          "largest-length": [0xff, 0xfe, 1, 63] + many(0xff, 8) + [0, 2, 1, 1, 0, 0, 0, 1, 1],
          "trailer-of-incomplete": [0, 9, 0, 0, 10, 0, 0, 0, 3, 0],
          "truncated-to-negative": [0, 9, 0, 0, 10, 0, 0, 0, 2, 64] + many(0xff, 8),
          "finished-too-early": [0, 9, 0, 0, 10, 0, 0, 0, 5],
        ])
      + tables.flatMap { table in
        [
          Sample(target: "rows", name: "usual-\(table)", bytes: rows(table, 0, [])),
          Sample(target: "rows", name: "null-first-\(table)", bytes: rows(table, 0, [0])),
          Sample(target: "rows", name: "huge-number-\(table)", bytes: rows(table, 2, [1, 63] + many(0xff, 8))),
          Sample(target: "rows", name: "text-for-blob-\(table)", bytes: rows(table, 1, [4, 0, 3, 0x61, 0, 0xff])),
          Sample(target: "rows", name: "long-blob-\(table)", bytes: rows(table, 1, [5, 1, 0] + many(3, 256))),
        ]
      }
      + Sample.of(
        "peer-row",
        [
          "valid-bob": peer + Array("bob".utf8).counted + [0, 0, 1] + Array("host:1".utf8).counted + [1],
          "blank-name": peer + [0, 1, 0x20, 0, 0, 0],
          "name-with-nul": peer + [0, 3, 0x61, 0, 0x62, 0, 0, 0], "empty": [],
          "huge-name": peer + many(0x61, 1100).counted,
          "address-with-nul": peer + [0, 1, 0x61, 0, 0, 1, 0, 1, 0],
          "valid-sharp-s": peer + Array("Straße".utf8).counted,
          "invisible-name": peer + Array("\u{200b}\u{2800}".utf8).counted,
        ])
  }
}
