package import Foundation

/// A message as JSON, with the attributes' names of the thesis's Table 4.3: for people and for logs of their choosing. On the wire
/// the binary form goes.
package struct MessageView: Codable, Hashable, Sendable {
  /// `update`, `delete`, `chunk`, `confirm`, `resend`, `skip` or `roster`.
  package let type: String
  /// A marshalled object or what a control message says, in Base64.
  package let content: Data
  package let sequence: UInt64
  package let `class`: String
  package let objectId: String
  /// Node identifiers of the receivers, or `*`.
  package let receiverId: [String]
  package let senderId: NodeID
  package let email: String
  package let name: String
  /// Time the message is sent, in milliseconds since 1970.
  package let sentTime: UInt64
  /// The paper's identifier of the message.
  package let messageId: MessageID
  package let groupId: GroupID
  package let epoch: UInt32
  /// Which counting of the sender's the sequence number is of, in hexadecimal.
  package let incarnation: String
  /// What the object's version has seen, by node identifier and incarnation.
  package let version: [String: UInt64]
  /// The version's time, in milliseconds since 1970.
  package let versionTime: UInt64

  package init(_ message: GrouperMessage) {
    type = "\(message.type)"
    content = Data(message.content)
    sequence = message.sequence
    `class` = message.className
    objectId = message.objectID
    receiverId = message.receivers.isEmpty ? ["*"] : message.receivers.map(\.description)
    senderId = message.sender
    email = message.email
    name = message.name
    sentTime = message.sentTime
    messageId = message.id
    groupId = message.group
    epoch = message.epoch
    incarnation = String(message.stream.incarnation, radix: 16)
    version = Dictionary(uniqueKeysWithValues: message.version.entries.map { ($0.key.description, $0.value) })
    versionTime = message.time.milliseconds
  }
}
