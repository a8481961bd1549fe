import Sodium
import WireCodec

/// A message with its sender's signature, as it is dealt, kept, and handed on by others.
package struct SignedMessage: Hashable, Sendable {
  package let message: GrouperMessage
  /// As it was signed: the message, then 64 bytes of signature.
  package let bytes: [UInt8]

  package init(_ message: GrouperMessage, by keys: MemberKeys) throws(GroupError) {
    guard message.sender == keys.card.node else { throw .unknownMember(message.sender) }
    let encoded = try wire(message.encoded())
    bytes = encoded + (try keys.sign(Self.digest(encoded, group: message.group)))
    self.message = message
  }

  /// Reads a message. Whose it is, ``verify(_:)`` tells.
  package init(_ bytes: [UInt8]) throws(GroupError) {
    let body = try SignedBytes(bytes, limit: MessageDealing.messageByteLimit, "message").body
    message = try wire(GrouperMessage.decode(body, limit: body.count))
    self.bytes = bytes
  }

  /// Throws unless the message is of this roster's group, its sender is in it, and his signature holds.
  ///
  /// Of one who was removed counts what the owner had of him then, and what a member hands on: `isHandedOn` says that the message
  /// was dealt under a key that only those have who are members now.
  package func verify(_ roster: Roster, isHandedOn: Bool = false) throws(GroupError) {
    guard message.group == roster.group else { throw .forged("a message of another group") }
    guard let member = roster.member(message.sender) else { throw .unknownMember(message.sender) }
    if let last = member.lastSequence, !message.type.isNormal || (message.sequence > last && !isHandedOn) {
      throw .unknownMember(message.sender)
    }
    if message.type == .update || message.type == .delete {
      guard message.version[message.stream] == message.sequence else {
        throw .malformed(.invalidValue(field: "version"))
      }
      for stream in message.version.entries.keys where roster.member(stream.node) == nil {
        throw .unknownMember(stream.node)
      }
    }
    let signed = try SignedBytes(bytes, limit: MessageDealing.messageByteLimit, "message")
    try signed.verify(
      Self.digest(signed.body, group: message.group), by: member.card.signingKey, "the signature of \(message.sender)")
  }

  private static func digest(_ body: [UInt8], group: GroupID) throws(GroupError) -> Digest {
    try publicHash("vault/group-signature/v1", [group.bytes, body])
  }
}
