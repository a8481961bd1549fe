import Sodium
import WireCodec

/// A message with its sender's signature, as it is dealt, kept, and handed on by others.
package struct SignedMessage: Hashable, Sendable {
  package let message: GrouperMessage
  /// As it was signed: the message, then 64 bytes of signature.
  package let bytes: [UInt8]

  /// Signs a message with its sender's keys.
  package init(_ message: GrouperMessage, by keys: MemberKeys) throws(GroupError) {
    guard message.sender == keys.card.node else { throw .unknownMember(message.sender) }
    let encoded = try wire { () throws(WireError) in try message.encoded() }
    bytes = encoded + (try keys.sign(Self.digest(encoded, group: message.group)))
    self.message = message
  }

  /// Reads a message. Whose it is, ``verify(_:)`` tells.
  package init(_ bytes: [UInt8]) throws(GroupError) {
    guard bytes.count <= MessageDealing.messageByteLimit else {
      throw .malformed(.limitExceeded(field: "message", limit: MessageDealing.messageByteLimit))
    }
    guard bytes.count > Ed25519.signatureByteCount else { throw .malformed(.truncated(field: "message")) }
    let body = bytes.count - Ed25519.signatureByteCount
    message = try wire { () throws(WireError) in
      try GrouperMessage.decode(bytes.span.bytes.extracting(first: body), limit: body)
    }
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
    let body = Array(bytes.dropLast(Ed25519.signatureByteCount))
    let digest = try Self.digest(body, group: message.group)
    do throws(SodiumError) {
      try Ed25519.verify(
        Array(bytes.suffix(Ed25519.signatureByteCount)), of: digest, by: member.card.signingKey)
    } catch { throw error.forged("the signature of \(message.sender)") }
  }

  private static func digest(_ body: [UInt8], group: GroupID) throws(GroupError) -> Digest {
    try sodium { () throws(SodiumError) in
      var hash = try DomainHash("vault/group-signature/v1")
      hash.append(group.bytes)
      hash.append(body)
      return hash.digest()
    }
  }
}
