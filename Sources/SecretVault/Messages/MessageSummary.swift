package enum MessageKind: String, Hashable, Sendable {
  case text, file, photo
}

/// A message without its contents.
package struct MessageSummary: Hashable, Sendable {
  /// Its name on this device.
  package let number: Int64
  /// The same on both sides: 32 hexadecimal digits.
  package let id: String
  /// The other side's name, or the start of its card's digest if it isn't trusted any more; nil for one without a vault.
  package let peer: String?
  /// The address of the other side of a plain message.
  package let contact: String?
  package let isMine: Bool
  package let kind: MessageKind
  /// `waiting`, `underway`, `delivered`, `read` or `lost` if it was sent from here, else `partial`, `new` or `seen`.
  package let state: String
  /// A file's name, as its sender says. Not to be trusted, and to be escaped.
  package let name: String?
  package let mediaType: String?
  /// Of the text or the file.
  package let byteCount: Int64
  /// Parcels in which it goes.
  package let parts: Int
  /// Those of them that have arrived, as far as is known.
  package let partsDone: Int
  /// By its sender's clock, in milliseconds since 1970.
  package let sentAt: Int64
  package let storedAt: Int64
  /// When the sender heard of its arrival.
  package let deliveredAt: Int64?
  /// When it was read, here or by its recipient's word.
  package let readAt: Int64?
  /// The way that it went, if known: `session`, `bluetooth`, `account`, `group`, `carriers` or `plain`.
  package let route: String?
  /// Carriers in a row.
  package let hops: Int?
  /// Names of those to whom it was given to be carried.
  package let carriers: [String]
  /// Whether only the two sides can read it.
  package let isSealed: Bool
  /// When it is given up.
  package let expiresAt: Int64?
  /// Whether it came after others of its conversation that were sent later.
  package internal(set) var isLate = false

  /// When it was sent, by its sender's clock, but not after it came.
  package var time: Int64 { isMine ? sentAt : min(sentAt, storedAt) }
}

/// What waits here to be sent, and what is carried for others.
package struct OutboxSummary: Hashable, Sendable {
  /// Not arrived, oldest first.
  package let messages: [MessageSummary]
  /// Own parcels, including those of messages, oldest first.
  package let parcels: [OutboxParcel]
  package let carried: CarriedSummary
}

/// An own parcel that is on its way.
package struct OutboxParcel: Hashable, Sendable {
  /// `deposit`, `request`, `change`, `item`, `probe`, `answer`, `receipt` or `message`.
  package let kind: String
  package let peer: String?
  package let byteCount: Int64
  /// In milliseconds since 1970.
  package let createdAt: Int64
  package let expiresAt: Int64
  /// Ways other than sessions that were tried: `account`, `group`, `carriers`.
  package let ways: [String]
}
