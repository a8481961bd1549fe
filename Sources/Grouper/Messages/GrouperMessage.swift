import Sodium
package import WireCodec

package enum MessageType: UInt8, Sendable, CaseIterable {
  /// Normal: an object, new or changed.
  case update = 1
  /// Normal: an object is gone.
  case delete = 2
  /// Normal: a part of a file or of a large object.
  case chunk = 3
  /// Control: how far the sender has everybody's messages.
  case confirm = 4
  /// Control: the sender asks for messages.
  case resend = 5
  /// Control: messages that were asked for and mean nothing any more.
  case skip = 6
  /// Control: who is in the group, and its keys.
  case roster = 7

  /// Whether it has a sequence number and is delivered for certain.
  package var isNormal: Bool { self == .update || self == .delete || self == .chunk }
}

/// A message between members, with every attribute of the thesis's Table 4.3, the paper's `messageId`, and what telling
/// versions apart takes.
package struct GrouperMessage: Hashable, Sendable {
  package static let contentByteLimit = 512 << 10
  package static let classByteLimit = 128
  package static let objectByteLimit = 256

  package let type: MessageType
  package let group: GroupID
  /// The epoch in which it was made. It may be sent again in a later one.
  package let epoch: UInt32
  package let id: MessageID
  /// Counts the sender's normal messages from 1; 0 for control messages.
  package let sequence: UInt64
  package let className: String
  package let objectID: String
  /// Whom it is for; empty for everybody ("*").
  package let receivers: [NodeID]
  /// What the sequence number counts: messages of the sender in one of his countings.
  package let stream: StreamID
  package let email: String
  package let name: String
  /// When it was made, by the sender's clock, in milliseconds since 1970.
  package let sentTime: UInt64
  /// What the object's version has seen.
  package let version: VersionVector
  /// When the object's version was made, after everything that it has seen.
  package let time: HybridTime
  /// The marshalled object, or what control messages say.
  package let content: [UInt8]

  package var sender: NodeID { stream.node }

  /// Throws ``GroupError/invalid(_:)`` if a part is too long.
  package init(
    type: MessageType, group: GroupID, epoch: UInt32, id: MessageID, sequence: UInt64, className: String = "",
    objectID: String = "", receivers: [NodeID] = [], stream: StreamID, email: String, name: String, sentTime: UInt64,
    version: VersionVector = VersionVector(), time: HybridTime = .zero, content: [UInt8]
  ) throws(GroupError) {
    try MemberCard.check(className, limit: Self.classByteLimit, "the name of the object's class")
    try MemberCard.check(objectID, limit: Self.objectByteLimit, "the object's id")
    try MemberCard.check(email, limit: MemberCard.emailByteLimit, "the e-mail address")
    try MemberCard.check(name, limit: MemberCard.nameByteLimit, "the name")
    guard content.count <= Self.contentByteLimit else { throw .invalid("a message's content is over 512 KiB") }
    guard type.isNormal == (sequence > 0), sequence <= SequenceSet.numberLimit else {
      throw .invalid("normal messages have a sequence number, control messages have 0")
    }
    guard receivers.count <= Roster.memberLimit else { throw .invalid("too many receivers") }
    guard receivers.isEmpty || !type.isNormal else { throw .invalid("normal messages are for everybody") }
    guard time.milliseconds <= HybridTime.millisecondLimit else { throw .invalid("the time is too late") }
    guard stream.incarnation != 0 else { throw .invalid("an incarnation of 0") }
    self.type = type
    self.group = group
    self.epoch = epoch
    self.id = id
    self.sequence = sequence
    self.className = className
    self.objectID = objectID
    self.receivers = receivers
    self.stream = stream
    self.email = email
    self.name = name
    self.sentTime = sentTime
    self.version = version
    self.time = time
    self.content = content
  }
}

extension GrouperMessage: WireValue {
  /// Writes the canonical encoding, without a signature.
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(1)
    try writer.u8(type.rawValue)
    try group.encode(into: &writer)
    try writer.u32(epoch)
    try id.encode(into: &writer)
    try writer.u64(sequence)
    try writer.text16(className)
    try writer.text16(objectID)
    try writer.count16(receivers.count)
    for receiver in receivers { try receiver.encode(into: &writer) }
    try stream.encode(into: &writer)
    try writer.text16(email)
    try writer.text16(name)
    try writer.u64(sentTime)
    try version.encode(into: &writer)
    try time.encode(into: &writer)
    try writer.bytes32(content)
  }

  /// Reads a message without its signature.
  package init(from reader: inout Reader) throws(WireError) {
    try reader.version(1, "message version")
    type = try reader.choice("message type")
    group = try GroupID(from: &reader)
    epoch = try reader.u32("epoch")
    id = try MessageID(from: &reader)
    sequence = try reader.u64("sequence")
    guard type.isNormal == (sequence > 0), sequence <= SequenceSet.numberLimit else {
      throw .invalidValue(field: "sequence")
    }
    className = try reader.text16(limit: Self.classByteLimit, "class")
    objectID = try reader.text16(limit: Self.objectByteLimit, "object id")
    let count = try reader.count16(limit: Roster.memberLimit, "receivers")
    var receivers: [NodeID] = []
    for _ in 0..<count {
      let receiver = try NodeID(from: &reader)
      if let last = receivers.last, last >= receiver { throw .invalidValue(field: "receiver order") }
      receivers.append(receiver)
    }
    guard receivers.isEmpty || !type.isNormal else { throw .invalidValue(field: "receivers") }
    self.receivers = receivers
    stream = try StreamID(from: &reader)
    email = try reader.text16(limit: MemberCard.emailByteLimit, "email")
    name = try reader.text16(limit: MemberCard.nameByteLimit, "name")
    sentTime = try reader.u64("sent time")
    version = try VersionVector(from: &reader)
    time = try HybridTime(from: &reader)
    content = try reader.bytes32(limit: Self.contentByteLimit, "content")
  }
}
