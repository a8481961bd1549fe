@testable import Grouper
import Sodium
@testable import VaultGroups
import WireCodec

enum GroupSamples {
  private static let group = GroupTargets.group

  static func all() throws -> [Sample] { try rosters() + messages() + contents() + blobs() + objects() + letters() }

  private static func letters() throws -> [Sample] {
    let invitation = try [0] + InvitationLetter(group: group.roster.group, name: "Family").encoded()
    let request = try JoinRequest(application: "vault", by: group.keys).bytes
    let joining = try [1] + JoiningLetter(group: group.roster.group, request: request).encoded()
    let text = Array(GroupText.text(.request, request).utf8)
    let item = try ItemObject(header: [10, 11, 12], body: .inline([1, 2, 3, 4])).encoded()
    return try Sample.of(
      "group-letter",
      [
        "valid-invitation": invitation, "valid-joining": joining, "empty": [], "truncated": joining.without(last: 1),
        "trailing-byte": invitation + [0], "unknown-version": invitation.with(1, [2]),
        "name-with-escape": invitation.with(21, [0x1b]), "name-with-line-break": invitation.with(21, [0x0a]),
        "name-empty": invitation.without(last: 6).with(18, [0, 0]),
      ])
      + Sample.of(
        "group-item",
        [
          "valid-inline": item, "valid-empty": try ItemObject(header: [], body: .inline([])).encoded(), "empty": [],
          "truncated": item.without(last: 1), "trailing-byte": item + [0], "unknown-version": item.with(0, [2]),
          "unknown-body": item.with(6, [2]), "header-too-long": item.with(1, [0x20, 0x01]),
          "ciphertext-too-long": item.with(7, [0, 2, 0, 1]),
        ])
      + parcels()
      + Sample.of(
        "group-text",
        [
          "valid-request": text, "valid-invitation": Array(GroupText.text(.invitation, [1, 2, 3]).utf8), "empty": [],
          "nothing-inside": Array("VAULT-JOIN:".utf8), "one-digit-too-many": text + Array("AA".utf8),
          "small-letters": Array("vault-join:AAAA".utf8), "other-alphabet": text.with(20, Array("1".utf8)),
          "left-over-bits": Array("VAULT-JOIN:AB".utf8),
        ])
  }

  private static func parcels() throws -> [Sample] {
    let inline = try ParcelObject.inline([1, 2, 3, 4]).encoded()
    // A file of 5 MB: tag, id, expiry; author, incarnation, file, length, digest.
    let file: [UInt8] =
      [1, 1] + many(0xaa, 16) + many(0xbb, 16) + [0, 0, 1, 0x8b, 0xcf, 0xe5, 0x68, 0] + many(0x11, 16)
      + [0, 0, 0, 0, 0, 0, 0, 7] + many(0xcc, 16) + [0, 0, 0, 0, 0, 0x4c, 0x4b, 0x40] + many(0xdd, 32)
    return Sample.of(
      "group-parcel",
      [
        "valid-inline": inline, "valid-empty": try ParcelObject.inline([]).encoded(), "valid-file": file, "empty": [],
        "truncated": inline.without(last: 1), "truncated-file": file.without(last: 1), "trailing-byte": inline + [0],
        "unknown-version": inline.with(0, [2]), "unknown-body": inline.with(1, [2]),
        "parcel-too-long": inline.with(2, [0, 2, 0, 1]), "file-too-long": file.with(2 + 40 + 40 + 3, [1]),
        "time-too-late": file.with(34, [0x80]), "incarnation-zero": file.with(2 + 40 + 16 + 7, [0]),
      ])
  }

  private static func rosters() throws -> [Sample] {
    let roster = try group.roster.encoded()
    let request = try JoinRequest(application: "notes", by: group.keys).bytes.without(last: 64)
    let signed = try SignedRoster(group.roster, by: group.keys).bytes
    let key = group.key.secret.withUnsafeBytes { Array($0) }
    let inside =
      group.keys.card.node.bytes + [0, 0] + bigEndian(UInt16(signed.count)) + signed + [0, 0, 0, 1] + key + [3]
      + many(0, 99)
    let behindRoster = 16 + 4 + signed.count + 4
    return Sample.of(
      "group-roster",
      [
        "valid-one-member": roster, "empty": [], "truncated": roster.without(last: 1), "trailing-byte": roster + [0],
        "unknown-version": roster.with(0, [2]), "other-group": roster.with(1, [0]),
        "serial-zero": roster.with(49, many(0, 8)),
      ])
      + Sample.of(
        "group-join",
        [
          "valid": request, "empty": [], "truncated": request.without(last: 1), "trailing-byte": request + [0],
          "unknown-version": request.with(0, [2]),
        ])
      + Sample.of(
        "group-invitation",
        [
          "valid-without-keys": inside, "empty": [], "truncated": inside.without(last: 1),
          "trailing-byte": inside + [0], "other-member": inside.with(0, [0]),
          "other-key": inside.with(behindRoster, [0]),
          "too-few-keys": inside.without(last: 33).with(behindRoster + 32, [2]),
        ])
  }

  private static func messages() throws -> [Sample] {
    let message = try group.message().encoded()
    return Sample.of(
      "group-message",
      [
        "valid-update": message, "empty": [], "truncated": message.without(last: 1), "trailing-byte": message + [0],
        "unknown-version": message.with(0, [2]), "unknown-type": message.with(1, [9]),
        "control-with-a-number": message.with(1, [4]), "number-zero": message.with(38, many(0, 8)),
        "version-of-another-number": message.with(45, [2]),
      ])
  }

  private static func contents() throws -> [Sample] {
    let stream = group.stream
    let vector = VersionVector([stream: 7])
    let digest = try SignedRoster(group.roster, by: group.keys).digest()
    let confirm = try ConfirmContent(serial: 1, rosterDigest: digest, vector: vector).encoded()
    var set = SequenceSet(3...5)
    set.insert(9)
    let table = try SequenceTable([stream: set]).encoded()
    let skip = try SkipContent(table: SequenceTable([stream: set]), vector: vector).encoded()
    let update = try UpdateContent(body: .inline([1, 2]), files: []).encoded()
    guard let file = FileID(many(8, 16)) else { return [] }
    let chunk = try ChunkContent(file: file, part: 0, bytes: [1]).encoded()
    return Sample.of(
      "group-content",
      [
        "valid-confirm": [0] + confirm, "valid-table": [1] + table, "valid-skip": [2] + skip,
        "valid-update": [3] + update, "valid-chunk": [4] + chunk, "empty": [],
        "confirm-of-zero": [0] + confirm.with(confirm.count - 8, many(0, 8)),
        "ranges-that-touch": [1] + table.with(table.count - 16, bigEndian(UInt64(6))),
        "ranges-out-of-order": [1] + table.with(table.count - 16, bigEndian(UInt64(1))),
        "incarnation-zero": [1] + table.with(18, many(0, 8)), "update-too-long": [3] + update.with(4, [0xff]),
        "empty-chunk": [4] + chunk.without(last: 1).with(20, many(0, 4)),
      ])
  }

  private static func blobs() throws -> [Sample] {
    let blob = try group.blob()
    let counted = bigEndian(UInt16(blob.inside.count))
    let inside = counted + blob.inside + blob.fragment
    let padded = try MessageDealing.pad([1, 2, 3])
    return Sample.of(
      "group-blob",
      [
        "valid": blob.whole, "empty": [], "truncated": blob.whole.without(last: 1), "trailing-byte": blob.whole + [0],
        "unknown-version": blob.whole.with(0, [2]), "other-epoch": blob.whole.with(4, [2]),
        "damaged-box": blob.whole.with(40, [blob.whole[40] ^ 1]),
      ])
      + Sample.of(
        "group-blob-inside",
        [
          "valid": inside, "empty": [], "index-zero": inside.with(2 + 18, [0]), "index-four": inside.with(2 + 18, [4]),
          "threshold-one": inside.with(2 + 16, [1]), "other-fragment": inside.with(inside.count - 1, [0xee]),
        ])
      + Sample.of(
        "group-padding",
        [
          "valid": padded, "empty": [], "not-zero": padded.with(100, [1]), "too-long": padded + [0],
          "length-over": padded.with(0, [0xff]),
        ])
  }

  private static func objects() throws -> [Sample] {
    var state = ObjectState(className: "Note", objectID: "n1")
    _ = state.take(ObjectVersion(try group.message()), keepingConflicts: true)
    let bytes = try state.encoded()
    return Sample.of(
      "group-object",
      [
        "valid": bytes, "empty": [], "truncated": bytes.without(last: 1), "trailing-byte": bytes + [0],
        "unknown-version": bytes.with(0, [2]),
      ])
  }
}
