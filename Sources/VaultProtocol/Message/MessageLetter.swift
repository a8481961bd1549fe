package import PeerAuth
package import Sodium
import WireCodec

package enum OpenedParcel: Sendable {
  /// Somebody asks or answers.
  case letter(ParcelLetter)
  /// Somebody writes.
  case message(MessageLetter)
}

/// A parcel in which one person writes to another: a text, a part of a file, or receipts. Nobody answers it but with a ``ParcelReceipt``.
///
/// Signed and sealed as every parcel is, see ``ParcelLetter``. What is in it stays in secret memory. A value of this type has been opened, and
/// everything in it holds.
package struct MessageLetter: Sendable {
  /// The parcel's name, which follows from its seed.
  package let id: ParcelID
  /// What its receipts follow from.
  package let seed: ParcelSeed
  /// Milliseconds since 1970, by the sender's clock.
  package let createdAt: Int64
  /// Milliseconds since 1970, a whole hour.
  package let expiresAt: Int64
  /// Card digest of whoever signed it.
  package let sender: Digest
  /// Card digest of whoever it is for.
  package let recipient: Digest
  package let content: MessageContent

  init(_ head: LetterHead, _ content: MessageContent) {
    id = head.id
    seed = head.seed
    createdAt = head.createdAt
    expiresAt = head.expiresAt
    sender = head.sender
    recipient = head.recipient
    self.content = content
  }

  /// Signs a content and seals it. Throws what its reader would throw for it.
  package static func seal(
    seed: ParcelSeed, createdAt: Int64, expiresAt: Int64, content: MessageContent, from sender: Identity,
    to recipient: CardKeys
  ) throws(ProtocolError) -> Parcel {
    let head: LetterHead
    do throws(WireError) {
      head = try LetterHead(
        seed: seed, createdAt: createdAt, expiresAt: expiresAt, sender: sender.keys.digest,
        recipient: recipient.digest, kind: .message, inReplyTo: nil, replyKey: nil)
    } catch { throw .malformed(error) }
    let body = try content.encoded()
    return try ParcelLetter.seal(head, body.bytes, from: sender, to: recipient)
  }
}
