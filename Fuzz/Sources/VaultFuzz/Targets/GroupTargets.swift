@testable import Grouper
import ShamirKit
import Sodium
@testable import VaultGroups
import WireCodec

/// A group on paper, the same each time.
struct FuzzGroup: Sendable {
  let keys: MemberKeys
  let key: EpochKey
  let roster: Roster

  init() throws {
    func id<Kind>(_ byte: UInt8) throws -> Identifier<Kind> {
      guard let id = Identifier<Kind>(many(byte, 16)) else { throw GroupError.invalid("id") }
      return id
    }
    func secret(_ byte: UInt8) throws -> SecretBytes {
      let bytes = many(byte, 32)
      return try SecretBytes(copying: bytes.span.bytes)
    }
    keys = try MemberKeys(
      node: id(0x11), seed: secret(1), boxSecret: secret(2), email: "ann@example.org", name: "Ann")
    let nonce = many(3, 32)
    let group = try Roster.groupID(owner: keys.card.signingKey, nonce: nonce)
    key = try EpochKey(group: group, epoch: 1, secret: secret(4))
    let servers = try [UInt8](1...3).map {
      try RosterServer(address: "https://s\($0).example.org", group: id(0x20 + $0))
    }
    let users: [ServerUserID] = try [UInt8](1...3).map { try id(0x30 + $0) }
    roster = try Roster(
      application: "notes", name: "Family", owner: RosterMember(card: keys.card, users: users), threshold: 2,
      sufficient: 2, ttl: 86_400, servers: servers, issued: 1_700_000_000_000, nonce: nonce, key: key)
  }

  var stream: StreamID { StreamID(node: keys.card.node, incarnation: 5) }

  /// An update of an object.
  func message() throws -> GrouperMessage {
    guard let id = MessageID(many(0x41, 16)) else { throw GroupError.invalid("id") }
    return try GrouperMessage(
      type: .update, group: roster.group, epoch: 1, id: id, sequence: 1, className: "Note", objectID: "n1",
      stream: stream, email: "ann@example.org", name: "Ann", sentTime: 1_700_000_000_001,
      version: VersionVector([stream: 1]), time: HybridTime(milliseconds: 1_700_000_000_001, counter: 0),
      content: UpdateContent(body: .inline([1, 2, 3]), files: []).encoded())
  }

  /// The inside of blob 3 of a dealing of that message, and its fragment.
  func blob() throws -> (inside: [UInt8], fragment: [UInt8], whole: [UInt8]) {
    let signed = try SignedMessage(message(), by: keys)
    let dealing = try MessageDealing(
      signed.bytes, scheme: ThresholdScheme(threshold: 2, shareCount: 3), key: key)
    let opened = try GroupBlob.open(dealing.blobs[2], key: key)
    let share = opened.share.bytes.withUnsafeBytes { Array($0) }
    return (try opened.header.encoded() + share, opened.fragment, dealing.blobs[2])
  }
}

/// What members of a group get from servers, from each other, and from their own disk.
enum GroupTargets {
  static let group = prepared { try FuzzGroup() }
  private static let fragment = many(9, 512)

  /// The input signed by the group's owner under `label`.
  private static func signed(_ body: [UInt8], _ parts: (inout DomainHash) -> Void, _ label: StaticString) -> [UInt8] {
    prepared {
      var hash = try DomainHash(label)
      parts(&hash)
      hash.append(body)
      let digest = hash.digest()
      return body + (try group.keys.sign(digest))
    }
  }

  static let all = [
    FuzzTarget("group-roster", upTo: 40_000) { body in
      let bytes = signed(body, { _ in }, "vault/group-roster/v1")
      let roster = try SignedRoster(bytes, group: nil)
      require(roster.bytes == bytes && encoding(of: roster.roster) == body, "a roster has one encoding")
      return true
    },
    FuzzTarget("group-join", upTo: 1000) { body in
      let bytes = signed(body, { _ in }, "vault/group-join/v1")
      let request = try JoinRequest(bytes)
      require(request.bytes == bytes, "a join request has one encoding")
      return true
    },
    FuzzTarget("group-invitation", upTo: 20_000) { inside in
      let secret = try SecretBytes(copying: inside.span.bytes)
      let bytes = prepared { try [1] + X25519.seal(secret, to: group.keys.card.boxKey) }
      let content = try Invitation(bytes).opened(by: group.keys, group: nil)
      require(content.accessKeys.count == content.roster.roster.servers.count, "a key or none for each server")
      return true
    },
    FuzzTarget("group-message", upTo: 20_000) { body in
      let bytes = signed(body, { $0.append(group.roster.group.bytes) }, "vault/group-signature/v1")
      let message = try SignedMessage(bytes)
      require(encoding(of: message.message) == body, "a message has one encoding")
      require(message.message.type.isNormal == (message.message.sequence > 0), "normal messages are numbered")
      try message.verify(group.roster)
      return true
    },
    FuzzTarget("group-content", upTo: 20_000) { input in
      var tape = Tape(input)
      let kind = tape.byte()
      let bytes = tape.remainder()
      let limit = GrouperMessage.contentByteLimit
      switch kind % 5 {
      case 0: _ = try canonical(ConfirmContent.self, bytes, limit: limit)
      case 1:
        let table = try canonical(SequenceTable.self, bytes, limit: limit)
        require(table.rows.values.allSatisfy { !$0.isEmpty && $0.count > 0 }, "no row is empty")
      case 2: _ = try canonical(SkipContent.self, bytes, limit: limit)
      case 3: _ = try canonical(UpdateContent.self, bytes, limit: limit)
      default: _ = try canonical(ChunkContent.self, bytes, limit: limit)
      }
      return true
    },
    FuzzTarget("group-blob", upTo: 20_000) { bytes in
      _ = try GroupBlob.epoch(of: bytes)
      let blob = try GroupBlob.open(bytes, key: group.key)
      require(blob.header.index >= 1, "blobs are numbered from 1")
      return true
    },
    // The inside of the box is the input; the fragment is whatever follows two bytes of length.
    FuzzTarget("group-blob-inside", upTo: 20_000) { input in
      var tape = Tape(input)
      let count = Int(tape.byte()) << 8 | Int(tape.byte())
      let rest = tape.remainder()
      let inside = Array(rest.prefix(count))
      let fragment = Array(rest.dropFirst(count))
      let nonce = many(6, 24)
      let box = try SecretBox.seal(inside.span.bytes, key: group.key.blobKey, nonce: nonce)
      guard box.count <= 0xffff else { return false }
      let bytes = [1, 0, 0, 0, 1] + nonce + bigEndian(UInt16(box.count)) + box + fragment
      let blob = try GroupBlob.open(bytes, key: group.key)
      let header = blob.header
      let share = blob.share.bytes.withUnsafeBytes { Array($0) }
      require(encoding(of: header) + share == inside, "a blob has one encoding")
      _ = try? BlobCombiner.combine([bytes, bytes], key: group.key)
      return true
    },
    FuzzTarget("group-padding", upTo: 20_000) { bytes in
      let message = try MessageDealing.unpad(bytes)
      require(try MessageDealing.pad(message) == bytes, "padding has one form")
      return true
    },
    FuzzTarget("group-letter", upTo: 2000) { input in
      var tape = Tape(input)
      let kind = tape.byte()
      let bytes = tape.remainder()
      if kind.isMultiple(of: 2) {
        let letter = try canonical(InvitationLetter.self, bytes, limit: InvitationLetter.byteLimit)
        require(!letter.name.utf8.contains { $0 < 0x20 || $0 == 0x7f }, "a name has no control characters")
      } else {
        _ = try canonical(JoiningLetter.self, bytes, limit: JoiningLetter.byteLimit)
      }
      return true
    },
    FuzzTarget("group-item", upTo: 160 << 10) { bytes in
      let object = try canonical(ItemObject.self, bytes, limit: ItemObject.byteLimit)
      require(object.header.count <= ItemObject.headerByteLimit, "a header keeps its limit")
      return true
    },
    FuzzTarget("group-parcel", upTo: 160 << 10) { bytes in
      switch try canonical(ParcelObject.self, bytes, limit: ParcelObject.byteLimit) {
      case .inline(let parcel): require(parcel.count <= ParcelObject.inlineByteLimit, "a parcel keeps its limit")
      case .file(let notice, let file):
        require(notice.expiresAt >= 0 && file.byteCount <= ParcelObject.parcelByteLimit, "a file keeps its limit")
      }
      return true
    },
    FuzzTarget("group-text", upTo: 4000) { text in
      guard let kind = GroupText.Kind.allCases.first(where: { GroupText.bytes($0, text) != nil }),
        let bytes = GroupText.bytes(kind, text)
      else { throw GroupError.invalid("text") }
      require(Array(GroupText.text(kind, bytes).utf8) == text, "bytes have one text")
      return true
    },
    FuzzTarget("group-object", upTo: 40_000) { bytes in
      var state = try canonical(ObjectState.self, bytes, limit: ObjectState.byteLimit)
      let message = prepared { try group.message() }
      _ = state.take(ObjectVersion(message), keepingConflicts: bytes.count.isMultiple(of: 2))
      _ = encoding(of: state)
      return true
    },
  ]
}
