package import Sodium
package import WireCodec

/// An invitation to a group, on its way, waiting for a user, or answered.
package struct GroupLetterRecord: WireValue, Hashable, Sendable {
  /// Whose invitation it is.
  package enum Kind: UInt8, Hashable, Sendable {
    /// This device's, to a peer.
    case sent = 1
    /// A peer's, to this device.
    case received = 2
  }

  package enum State: UInt8, Hashable, Sendable {
    /// A sent one is still to be delivered; a received one waits for the user.
    case waiting = 1
    /// A sent one is with the peer.
    case delivered = 2
    /// The peer has joined; this device has asked to join.
    case taken = 3
  }

  package static let idByteCount = 16
  package static let nameByteLimit = 64
  package static let errorByteLimit = 400
  static let byteLimit = 1024

  package let id: [UInt8]
  package let kind: Kind
  package let peer: Digest
  /// The group, as its members know it.
  package let group: [UInt8]
  /// What its owner calls it.
  package var name: String
  /// The folder of the group here; empty while there is none.
  package var folder: String
  /// The member that has come of it, as the group knows him; nil while there is none.
  package var node: [UInt8]?
  package var state: State
  /// When it was made or came, in milliseconds since 1970.
  package let createdAt: Int64
  package var nextAttemptAt: Int64
  package var attempts: UInt32
  /// How it failed last; empty if it didn't.
  package var lastError: String

  package init(
    kind: Kind, peer: Digest, group: [UInt8], name: String, folder: String, createdAt: Int64
  ) throws(StoreError) {
    id = try withSodium(try Randomness.bytes(Self.idByteCount))
    self.kind = kind
    self.peer = peer
    self.group = group
    self.name = name
    self.folder = folder
    state = .waiting
    self.createdAt = createdAt
    nextAttemptAt = createdAt
    attempts = 0
    lastError = ""
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(1)
    try writer.bytes(id)
    try writer.u8(kind.rawValue)
    try writer.bytes(peer.bytes)
    try writer.bytes(group)
    try writer.text16(name)
    try writer.text16(folder)
    try writer.flag(node != nil)
    try writer.bytes(node ?? [UInt8](repeating: 0, count: Self.idByteCount))
    try writer.u8(state.rawValue)
    try writer.signed(createdAt)
    try writer.signed(nextAttemptAt)
    try writer.u32(attempts)
    try writer.text16(lastError)
  }

  package init(from reader: inout Reader) throws(WireError) {
    guard try reader.u8("version") == 1 else { throw .invalidValue(field: "version") }
    id = try reader.bytes(Self.idByteCount, "id")
    guard let kind = Kind(rawValue: try reader.u8("kind")) else { throw .invalidValue(field: "kind") }
    self.kind = kind
    peer = try reader.digest("peer")
    group = try reader.bytes(Self.idByteCount, "group")
    name = try reader.text16(limit: Self.nameByteLimit, "name")
    folder = try reader.text16(limit: GroupFolders.nameLength, "folder")
    let hasNode = try reader.flag("node")
    let bytes = try reader.bytes(Self.idByteCount, "node")
    guard hasNode || bytes.allSatisfy({ $0 == 0 }) else { throw .invalidValue(field: "node") }
    node = hasNode ? bytes : nil
    guard let state = State(rawValue: try reader.u8("state")) else { throw .invalidValue(field: "state") }
    self.state = state
    createdAt = try reader.signed("created")
    nextAttemptAt = try reader.signed("next attempt")
    attempts = try reader.u32("attempts")
    lastError = try reader.text16(limit: Self.errorByteLimit, "error")
  }
}
