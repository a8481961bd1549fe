package enum MessageKind: String, Hashable, Sendable {
  case text, file, photo
}

/// A message as people see it in a list: all but what it says.
package struct MessageSummary: Hashable, Sendable {
  /// By which it is called here.
  package let number: Int64
  /// Its id, the same on both sides: 32 hexadecimal digits.
  package let id: String
  /// The other side's name, or the start of its card's digest if it isn't trusted any more; nil for one without a vault.
  package let peer: String?
  /// The address of the other side of a message that went without being sealed.
  package let contact: String?
  /// Whether it was sent from here.
  package let isMine: Bool
  package let kind: MessageKind
  /// How it stands: `waiting`, `underway`, `delivered`, `read` or `lost` if it was sent from here, else `partial`, `new` or `seen`.
  package let state: String
  /// A file's name, as its sender says. Not to be trusted, and to be escaped.
  package let name: String?
  /// A file's type, as its sender says.
  package let mediaType: String?
  /// Bytes of the text or the file.
  package let byteCount: Int64
  /// In how many parcels it goes.
  package let parts: Int
  /// How many of these have arrived, as far as is known.
  package let partsDone: Int
  /// When it was sent, by its sender's clock, in milliseconds since 1970.
  package let sentAt: Int64
  /// When it was stored here.
  package let storedAt: Int64
  /// When its sender heard that it has arrived.
  package let deliveredAt: Int64?
  /// When it was read: here, or so says its recipient.
  package let readAt: Int64?
  /// The way that it went, as far as is known: `session`, `bluetooth`, `account`, `group` or `carriers`.
  package let route: String?
  /// By how many carriers in a row.
  package let hops: Int?
  /// Those to whom it was given to be carried, by name.
  package let carriers: [String]
  /// Whether only the two sides can read it.
  package let isSealed: Bool
  /// Until when it is tried to send it.
  package let expiresAt: Int64?
  /// Whether it has come behind others of its conversation that were sent later.
  package internal(set) var isLate = false

  /// When it was sent, by its sender's clock, but not after it came.
  package var time: Int64 { isMine ? sentAt : min(sentAt, storedAt) }

  /// A summary from its parts.
  package init(
    number: Int64, id: String, peer: String? = nil, contact: String? = nil, isMine: Bool, kind: MessageKind,
    state: String, name: String? = nil, mediaType: String? = nil, byteCount: Int64, parts: Int, partsDone: Int,
    sentAt: Int64, storedAt: Int64, deliveredAt: Int64? = nil, readAt: Int64? = nil, route: String? = nil,
    hops: Int? = nil, carriers: [String], isSealed: Bool, expiresAt: Int64? = nil
  ) {
    self.number = number
    self.id = id
    self.peer = peer
    self.contact = contact
    self.isMine = isMine
    self.kind = kind
    self.state = state
    self.name = name
    self.mediaType = mediaType
    self.byteCount = byteCount
    self.parts = parts
    self.partsDone = partsDone
    self.sentAt = sentAt
    self.storedAt = storedAt
    self.deliveredAt = deliveredAt
    self.readAt = readAt
    self.route = route
    self.hops = hops
    self.carriers = carriers
    self.isSealed = isSealed
    self.expiresAt = expiresAt
  }
}

/// What waits here to be sent, and what is carried for others.
package struct OutboxSummary: Hashable, Sendable {
  /// Messages that haven't arrived, oldest first.
  package let messages: [MessageSummary]
  /// Parcels of this device's own, those of messages among them, oldest first.
  package let parcels: [OutboxParcel]
  /// What is carried for others.
  package let carried: CarriedSummary

  /// A summary from its parts.
  package init(messages: [MessageSummary], parcels: [OutboxParcel], carried: CarriedSummary) {
    self.messages = messages
    self.parcels = parcels
    self.carried = carried
  }
}

/// A parcel of this device's own that is on its way.
package struct OutboxParcel: Hashable, Sendable {
  /// `deposit`, `request`, `item`, `answer`, `receipt` or `message`.
  package let kind: String
  package let peer: String?
  package let byteCount: Int64
  /// When it was made, in milliseconds since 1970.
  package let createdAt: Int64
  /// Until when it is worth something.
  package let expiresAt: Int64
  /// Ways that were tried so far, other than sessions: `account`, `group`, `carriers`.
  package let ways: [String]

  /// A parcel from its parts.
  package init(
    kind: String, peer: String?, byteCount: Int64, createdAt: Int64, expiresAt: Int64, ways: [String]
  ) {
    self.kind = kind
    self.peer = peer
    self.byteCount = byteCount
    self.createdAt = createdAt
    self.expiresAt = expiresAt
    self.ways = ways
  }
}
