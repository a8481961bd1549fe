import Sodium
import WireCodec

/// What makes somebody a member, or brings a member from an old key to a new one: the roster, which the owner has signed, the
/// group's key, whose hash the roster has, and, from the owner, his keys on the servers. Sealed to him (crypto_box_seal), so
/// that it may take any way: a session, a file, a message of the group itself. Any member can make one for any other: he has
/// nothing to add. Keys of servers that are wrong open nothing, and the old ones stay.
public struct Invitation: Hashable, Sendable {
  package static let byteLimit = 500 << 10

  /// As it is handed over.
  public let bytes: [UInt8]

  /// Takes bytes from outside; ``Grouper/Grouper/accept(_:)`` checks them.
  public init(_ bytes: [UInt8]) throws(GroupError) {
    guard bytes.count <= Self.byteLimit else {
      throw .malformed(.limitExceeded(field: "invitation", limit: Self.byteLimit))
    }
    guard bytes.count > 1 + X25519.sealOverhead else { throw .malformed(.truncated(field: "invitation")) }
    guard bytes.first == 1 else {
      throw .malformed(.unsupported(field: "invitation version", value: UInt64(bytes.first ?? 0)))
    }
    self.bytes = bytes
  }

  /// Seals one to a member of the roster. `keys` are his on each server; nil where he has the right one, or will get it later.
  init(_ roster: SignedRoster, key: EpochKey, keys: [ServerKey?], to card: MemberCard) throws(GroupError) {
    let count = 16 + 4 + roster.bytes.count + 4 + 32 + 1 + keys.count * 33
    var inside = try sodium(SecretBytes(zeros: count))
    try inside.withUnsafeMutableBytes { (buffer) throws(GroupError) in
      var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
      try wire(
        write(into: &output) { writer throws(WireError) in
          try card.node.encode(into: &writer)
          try writer.bytes32(roster.bytes)
          try writer.u32(key.epoch)
          try writer.secret(key.secret)
          try writer.u8(UInt8(truncatingIfNeeded: keys.count))
          for key in keys {
            try writer.flag(key != nil)
            if let key {
              try writer.secret(key.secret)
            } else {
              try writer.bytes([UInt8](repeating: 0, count: ServerKey.byteCount))
            }
          }
        })
      _ = output.finalize(for: buffer)
    }
    bytes = try sodium([1] + X25519.seal(inside, to: card.boxKey))
    guard bytes.count <= Self.byteLimit else { throw .invalid("the roster is too large for an invitation") }
  }

  struct Content: Sendable {
    let roster: SignedRoster
    let key: EpochKey
    /// In the servers' order.
    let accessKeys: [ServerKey?]
  }

  /// Opens an invitation to this device, of this group if it is in one, and checks that the
  /// group's owner has signed the roster, and that the key is the one that the roster names.
  func opened(by keys: MemberKeys, group: GroupID?) throws(GroupError) -> Content {
    let inside = try keys.open(bytes.span.bytes.extracting(droppingFirst: 1))
    let parts = try Parts(inside)
    let roster = try SignedRoster(parts.roster, group: group)
    guard parts.node == keys.card.node, let member = roster.roster.member(keys.card.node), member.isActive,
      member.card == keys.card
    else { throw .unknownMember(keys.card.node) }
    guard parts.epoch == roster.roster.epoch, parts.accessKeys.count == roster.roster.servers.count else {
      throw .malformed(.invalidValue(field: "invitation"))
    }
    let key = try EpochKey(
      group: roster.roster.group, epoch: parts.epoch,
      secret: sodium(parts.key.bytes.duplicate()))
    guard try key.hash() == roster.roster.keyHash else { throw .forged("the group's key") }
    return Content(roster: roster, key: key, accessKeys: parts.accessKeys)
  }

  private struct Parts {
    let node: NodeID
    let roster: [UInt8]
    let epoch: UInt32
    let key: GroupSecret
    let accessKeys: [ServerKey?]

    init(_ inside: borrowing SecretBytes) throws(GroupError) {
      var reader = Reader(inside.bytes)
      do throws(WireError) {
        node = try NodeID(from: &reader)
        roster = try reader.bytes32(limit: Roster.byteLimit, "roster")
        epoch = try reader.u32("epoch")
        key = GroupSecret(try Self.secret(reader.span(EpochKey.byteCount, "key")))
        let count = Int(try reader.u8("key count"))
        guard count <= Roster.serverLimit else {
          throw WireError.limitExceeded(field: "keys", limit: Roster.serverLimit)
        }
        var accessKeys: [ServerKey?] = []
        for _ in 0..<count {
          let isThere = try reader.flag("key")
          let bytes = try reader.span(ServerKey.byteCount, "key")
          let secret = try Self.secret(bytes)
          do throws(SodiumError) { accessKeys.append(isThere ? try ServerKey(secret, .access) : nil) } catch {
            throw WireError.invalidValue(field: "key")
          }
        }
        self.accessKeys = accessKeys
        try reader.finish()
      } catch { throw .malformed(error) }
    }

    private static func secret(_ bytes: RawSpan) throws(WireError) -> SecretBytes {
      do throws(SodiumError) { return try SecretBytes(copying: bytes) } catch { throw .capacityExceeded }
    }
  }
}

extension Writer {
  /// Secret bytes as they are, without a length.
  @_lifetime(self: copy self)
  mutating func secret(_ value: borrowing SecretBytes) throws(WireError) { try bytes(value.bytes) }
}
