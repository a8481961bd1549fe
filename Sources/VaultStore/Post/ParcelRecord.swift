package import ShamirKit
package import Sodium
package import VaultProtocol
package import WireCodec

/// A parcel: something sealed that goes to a peer, or came from one, by whatever way, and how far it is. What is in it lies
/// beside it and is read only when it is needed.
package struct ParcelRecord: WireValue, Hashable, Sendable {
  package enum Direction: String, Hashable, Sendable, CaseIterable {
    /// This device's, with something to ask of a peer.
    case request
    /// This device's, in answer to a peer's.
    case answer
    /// A peer's, whatever is in it.
    case received
    /// This device's, with a message or a part of one.
    case message
    /// This device's, with word of what arrived here.
    case receipt
    /// This device's, with what it knows of a secret's holders, and a question for what a peer knows.
    case change
  }

  package enum State: String, Hashable, Sendable, CaseIterable {
    /// A request or an answer is still to be posted; a received one is still to be answered.
    case waiting
    /// A request or an answer is durable among what the group sends.
    case posted
    /// A request's answer is here; a received one's answer has a record of its own.
    case answered
    /// A request or an answer is to be taken out of the group. Nothing comes of it any more.
    case withdrawn
  }

  package static let seedByteCount = 32
  package static let contentByteLimit = 9 * 1024 * 1024
  static let byteLimit = 512

  /// Names it, on both sides.
  package let id: ParcelID
  package let direction: Direction
  package var state: State
  package let peer: Digest
  /// The secret it is about, 16 bytes; nil if that isn't known.
  package let secretID: SecretID?
  /// The delivery that a request carries, as the outbox counts; nil if it carries none.
  package let delivery: Int64?
  /// The folder of the group through which it goes or came, 8 bytes; empty or zeros while there is none.
  package var group: [UInt8]
  /// When it was made, as it says itself.
  package let createdAt: Int64
  /// When it means nothing any more.
  package let expiresAt: Int64
  /// The number of the request, as in its messages.
  package let request: UInt64
  /// The id of the parcel that this one answers or, of one that was answered, of its answer; nil while there is none.
  package var inReplyTo: ParcelID?
  /// When something is to be done with it next.
  package var nextAttemptAt: Int64
  /// From which its id and the proofs of its delivery come, 32 bytes; nil if it isn't known.
  package let seed: [UInt8]?
  /// The message that is in it, or the first of which it says that it was read, 16 bytes; nil if there is none.
  package let message: [UInt8]?
  package var ways: Ways
  /// When it was handed last to each way that keeps it until its peer has it.
  package var handedOver: [Way: Int64]

  package init(
    id: ParcelID, direction: Direction, state: State = .waiting, peer: Digest, secretID: SecretID? = nil,
    delivery: Int64? = nil, group: [UInt8] = [], createdAt: Int64, expiresAt: Int64, request: UInt64 = 0,
    inReplyTo: ParcelID? = nil, nextAttemptAt: Int64 = 0, seed: [UInt8]? = nil, message: [UInt8]? = nil,
    ways: Ways = .all, handedOver: [Way: Int64] = [:]
  ) {
    self.id = id
    self.direction = direction
    self.state = state
    self.peer = peer
    self.secretID = secretID
    self.delivery = delivery
    self.group = group
    self.createdAt = createdAt
    self.expiresAt = expiresAt
    self.request = request
    self.inReplyTo = inReplyTo
    self.nextAttemptAt = nextAttemptAt
    self.seed = seed
    self.message = message
    self.ways = ways
    self.handedOver = handedOver
  }

  /// Whether a group was chosen for it.
  var isInGroup: Bool { group.contains { $0 != 0 } }

  /// Whether `other` is the same parcel, perhaps further on its way.
  func isSame(as other: ParcelRecord) -> Bool {
    id == other.id && direction == other.direction && peer == other.peer && secretID == other.secretID
      && delivery == other.delivery && createdAt == other.createdAt && expiresAt == other.expiresAt
      && request == other.request && seed == other.seed && message == other.message
  }

  func check() throws(StoreError) {
    let isSound =
      (group.isEmpty || group.count == GroupEntry.groupByteCount)
      && seed?.count ?? Self.seedByteCount == Self.seedByteCount
      && message?.count ?? MessageRecord.idByteCount == MessageRecord.idByteCount
      && (direction != .message || message != nil) && Ways.all.isSuperset(of: ways)
    guard isSound else { throw .invalid("a parcel") }
  }
}

/// What becomes of what is in a parcel when its record changes.
package enum ParcelContentChange: Hashable, Sendable {
  case keep
  case set([UInt8])
  /// It is erased.
  case clear
}

package struct ParcelCounts: Hashable, Sendable {
  /// Received of this peer and not answered yet.
  package let count: Int
  package let bytes: Int
  /// Received of this peer, answered ones included: ids that are known again.
  package let known: Int
  /// Received of anybody and not answered yet.
  package let all: Int
  /// Bytes of answers to this peer.
  package let answerBytes: Int
  /// Bytes of answers to anybody.
  package let allAnswerBytes: Int
}

// MARK: - Encoding

extension ParcelRecord.Direction: NumberedWord {}
extension ParcelRecord.State: NumberedWord {}

extension ParcelRecord {
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(1)
    try id.encode(into: &writer)
    try writer.u8(direction.code)
    try writer.u8(state.code)
    try writer.bytes(peer.bytes)
    try writer.optionalBytes(secretID?.bytes)
    try writer.flag(delivery != nil)
    if let delivery { try writer.signed(delivery) }
    try writer.flag(!group.isEmpty)
    try writer.bytes(group)
    try writer.signed(createdAt)
    try writer.signed(expiresAt)
    try writer.u64(request)
    try writer.optionalBytes(inReplyTo?.bytes)
    try writer.signed(handedOver[.group] ?? 0)
    try writer.signed(nextAttemptAt)
    try writer.optionalBytes(seed)
    try writer.optionalBytes(message)
    try writer.u8(ways.rawValue)
    try writer.signed(handedOver[.account] ?? 0)
  }

  package init(from reader: inout Reader) throws(WireError) {
    guard try reader.u8("version") == 1 else { throw .invalidValue(field: "version") }
    id = try ParcelID(from: &reader)
    direction = try reader.word("direction")
    state = try reader.word("state")
    peer = try reader.digest("peer")
    secretID = try reader.flag("secret") ? try SecretID(from: &reader) : nil
    delivery = try reader.flag("delivery") ? try reader.signed("delivery") : nil
    group = try reader.flag("group") ? try reader.bytes(GroupEntry.groupByteCount, "group") : []
    createdAt = try reader.signed("created")
    expiresAt = try reader.signed("expires")
    request = try reader.u64("request")
    inReplyTo = try reader.flag("in reply to") ? try ParcelID(from: &reader) : nil
    let postedAt = try reader.signed("posted")
    nextAttemptAt = try reader.signed("next attempt")
    seed = try reader.optionalBytes(Self.seedByteCount, "seed")
    message = try reader.optionalBytes(MessageRecord.idByteCount, "message")
    ways = Ways(rawValue: try reader.u8("ways"))
    guard Ways.all.isSuperset(of: ways) else { throw .invalidValue(field: "ways") }
    handedOver = [.group: postedAt, .account: try reader.signed("account")].filter { $0.value != 0 }
  }
}
