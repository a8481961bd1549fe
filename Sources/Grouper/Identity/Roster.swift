package import Sodium
package import WireCodec

/// Where a group's shares lie: one of its servers.
package struct RosterServer: WireValue, Hashable, Sendable {
  package static let addressByteLimit = 512

  package let address: String
  /// The group as this server knows it.
  package let group: ServerGroupID

  /// Throws ``GroupError/invalid(_:)`` if the address is empty or too long.
  package init(address: String, group: ServerGroupID) throws(GroupError) {
    guard !address.isEmpty else { throw .invalid("a server's address is empty") }
    try MemberCard.check(address, limit: Self.addressByteLimit, "a server's address")
    self.address = address
    self.group = group
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.text16(address)
    try group.encode(into: &writer)
  }

  package init(from reader: inout Reader) throws(WireError) {
    address = try reader.text16(limit: Self.addressByteLimit, "server address")
    guard !address.isEmpty else { throw .invalidValue(field: "server address") }
    group = try ServerGroupID(from: &reader)
  }
}

public struct RosterMember: Hashable, Sendable {
  public package(set) var card: MemberCard
  /// As each server knows him, in the servers' order.
  package var users: [ServerUserID]
  /// Of one who was removed: the last of his messages that the owner had then. Nil while he is a member.
  package var lastSequence: UInt64?

  public var isActive: Bool { lastSequence == nil }

  package init(card: MemberCard, users: [ServerUserID], lastSequence: UInt64? = nil) {
    self.card = card
    self.users = users
    self.lastSequence = lastSequence
  }
}

/// Who is in a group and where its shares lie. Only the owner makes rosters; a member keeps the newest.
///
/// The group's id is the hash of the owner's signing key and a nonce, so that whoever knows the id knows whose signature
/// counts, from the first roster on.
package struct Roster: Hashable, Sendable {
  /// Most members, those who were included.
  package static let memberLimit = 256
  package static let serverLimit = 64
  package static let nameByteLimit = 64
  package static let applicationByteLimit = 128
  /// Longest encoding with signature.
  package static let byteLimit = 480 << 10

  package let group: GroupID
  /// Makes the group's id with the owner's signing key.
  package let nonce: [UInt8]
  /// Grows with each roster.
  package var serial: UInt64
  /// Which key the group uses, from 1.
  package var epoch: UInt32
  package var keyHash: Digest
  /// What the roster before this one is; of the first, zeros.
  package var previous: Digest
  /// When it was made, by the owner's clock.
  package var issued: UInt64
  /// The application (the papers' `appId`).
  package let application: String
  package var name: String
  /// k: servers that a message can be recovered from.
  package var threshold: Int
  /// s: servers that must have a message before it counts as sent.
  package var sufficient: Int
  /// Seconds that servers keep shares.
  package var ttl: UInt32
  package var servers: [RosterServer]
  /// The owner first.
  package var members: [RosterMember]

  package static func groupID(owner signingKey: [UInt8], nonce: [UInt8]) throws(GroupError) -> GroupID {
    GroupID(try publicHash("vault/group-id/v1", [signingKey, nonce]))
  }

  /// A group's first roster, and its key. `owner.users` are the owner on each server.
  package static func first(
    application: String, name: String, owner: RosterMember, threshold: Int, sufficient: Int, ttl: UInt32,
    servers: [RosterServer], issued: UInt64
  ) throws(GroupError) -> (Roster, EpochKey) {
    let nonce = try sodium(Randomness.bytes(32))
    let group = try groupID(owner: owner.card.signingKey, nonce: nonce)
    let key = try EpochKey.random(group: group, epoch: 1)
    let roster = try Roster(
      application: application, name: name, owner: owner, threshold: threshold, sufficient: sufficient, ttl: ttl,
      servers: servers, issued: issued, nonce: nonce, key: key)
    return (roster, key)
  }

  init(
    application: String, name: String, owner: RosterMember, threshold: Int, sufficient: Int, ttl: UInt32,
    servers: [RosterServer], issued: UInt64, nonce: [UInt8], key: EpochKey
  ) throws(GroupError) {
    self.nonce = nonce
    group = key.group
    serial = 1
    epoch = key.epoch
    keyHash = try key.hash()
    previous = try sodium(Digest([UInt8](repeating: 0, count: 32)))
    self.issued = issued
    self.application = application
    self.name = name
    self.threshold = threshold
    self.sufficient = sufficient
    self.ttl = ttl
    self.servers = servers
    members = [owner]
    try check()
  }

  /// Throws ``GroupError/invalid(_:)`` unless all of it makes sense.
  package func check() throws(GroupError) {
    try MemberCard.check(application, limit: Self.applicationByteLimit, "the application's name")
    try MemberCard.check(name, limit: Self.nameByteLimit, "the group's name")
    guard nonce.count == 32 else { throw .invalid("the nonce has no 32 bytes") }
    guard serial > 0, epoch > 0 else { throw .invalid("serial and epoch begin at 1") }
    guard (2...Self.serverLimit).contains(servers.count) else {
      throw .invalid("a group needs 2 to \(Self.serverLimit) servers")
    }
    guard Set(servers.map(\.address)).count == servers.count else { throw .invalid("a server is there twice") }
    guard 2 <= threshold, threshold <= sufficient, sufficient <= servers.count else {
      throw .invalid("2 ≤ k ≤ s ≤ n doesn't hold for k = \(threshold), s = \(sufficient), n = \(servers.count)")
    }
    guard ServerLimits.acceptedTTLs.contains(Int(ttl)) else {
      throw .invalid("the time to live is not between 60 and 2592000 seconds")
    }
    guard (1...Self.memberLimit).contains(members.count), members.first?.isActive == true else {
      throw .invalid("a group has 1 to \(Self.memberLimit) members, the owner first")
    }
    guard Set(members.map(\.card.node)).count == members.count else { throw .invalid("a member is there twice") }
    for member in members where member.users.count != servers.count {
      throw .invalid("a member isn't known to every server")
    }
    guard try Self.groupID(owner: owner.card.signingKey, nonce: nonce) == group else {
      throw .forged("the owner's key")
    }
  }

  package var owner: RosterMember { members[0] }

  /// The member with this device, or the one who was.
  package func member(_ node: NodeID) -> RosterMember? { members.first { $0.card.node == node } }

  package var activeNodes: [NodeID] { members.filter(\.isActive).map(\.card.node) }
}

extension Roster: WireValue {
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(1)
    try group.encode(into: &writer)
    try writer.bytes(nonce)
    try writer.u64(serial)
    try writer.u32(epoch)
    try writer.bytes(keyHash.bytes)
    try writer.bytes(previous.bytes)
    try writer.u64(issued)
    try writer.text16(application)
    try writer.text16(name)
    try writer.u8(UInt8(truncatingIfNeeded: threshold))
    try writer.u8(UInt8(truncatingIfNeeded: sufficient))
    try writer.u32(ttl)
    try writer.u8(UInt8(truncatingIfNeeded: servers.count))
    for server in servers { try server.encode(into: &writer) }
    try writer.count16(members.count)
    for member in members {
      try member.card.encode(into: &writer)
      for user in member.users { try user.encode(into: &writer) }
      try writer.flag(member.isActive)
      try writer.u64(member.lastSequence ?? 0)
    }
  }

  /// Reads a roster, and refuses one that makes no sense.
  package init(from reader: inout Reader) throws(WireError) {
    try reader.version(1, "roster version")
    group = try GroupID(from: &reader)
    nonce = try reader.bytes(32, "roster nonce")
    serial = try reader.u64("serial")
    epoch = try reader.u32("epoch")
    keyHash = try reader.digest("digest")
    previous = try reader.digest("digest")
    issued = try reader.u64("issued")
    application = try reader.text16(limit: Self.applicationByteLimit, "application")
    name = try reader.text16(limit: Self.nameByteLimit, "group name")
    threshold = Int(try reader.u8("threshold"))
    sufficient = Int(try reader.u8("sufficient"))
    ttl = try reader.u32("ttl")
    let serverCount = Int(try reader.u8("server count"))
    guard serverCount <= Self.serverLimit else { throw .limitExceeded(field: "servers", limit: Self.serverLimit) }
    servers = try reader.list(serverCount)
    let memberCount = try reader.count16(limit: Self.memberLimit, "members")
    members = []
    for _ in 0..<memberCount {
      let card = try MemberCard(from: &reader)
      let users: [ServerUserID] = try reader.list(serverCount)
      let isActive = try reader.flag("member state")
      let last = try reader.u64("last sequence")
      guard !isActive || last == 0 else { throw .invalidValue(field: "last sequence") }
      members.append(RosterMember(card: card, users: users, lastSequence: isActive ? nil : last))
    }
    do throws(GroupError) { try check() } catch { throw .invalidValue(field: "roster") }
  }
}

extension Reader {
  mutating func digest(_ field: StaticString) throws(WireError) -> Digest {
    let bytes = try bytes(Digest.byteCount, field)
    do throws(SodiumError) { return try Digest(bytes) } catch { throw .invalidValue(field: field.description) }
  }
}
