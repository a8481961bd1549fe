package import Sodium
import WireCodec

/// A message to or from somebody, and how far it is. What is in it lies beside it and is read only when it is needed.
package struct MessageRecord: WireValue, Hashable, Sendable {
  package enum Direction: String, Hashable, Sendable, CaseIterable {
    case sent
    case received
  }

  package enum Kind: String, Hashable, Sendable, CaseIterable {
    case text
    case file
    case photo
  }

  package enum State: String, Hashable, Sendable, CaseIterable {
    /// A sent one that nobody has yet.
    case waiting
    /// A sent one that has left this device.
    case underway
    /// A sent one that has arrived.
    case delivered
    /// A sent one that was read.
    case read
    /// A sent one of which nothing will come any more.
    case lost
    /// A received one of which parts are missing.
    case partial
    /// A received one that nobody has read here.
    case new
    /// A received one that was read here.
    case seen
  }

  package static let idByteCount = 16
  package static let nameByteLimit = 255
  package static let mediaTypeByteLimit = 127
  package static let routeByteLimit = 32
  package static let carrierLimit = 5
  package static let partLimit = 4096
  package static let partByteLimit = 1 << 20
  static let byteLimit = 4096

  /// What people call it; 0 before it is stored.
  package internal(set) var number: Int64
  /// Names it, on both sides: 16 bytes.
  package let id: [UInt8]
  /// The other side, unless it is a contact of an account.
  package let peer: Digest?
  /// The account by which a plain message goes or came, 16 bytes.
  package let account: [UInt8]?
  /// The other side of a plain message: its address.
  package let contact: String?
  package let direction: Direction
  package let kind: Kind
  /// Whether only the other side can read it.
  package let isSealed: Bool
  /// The file's name, as its sender says.
  package let name: String?
  /// The file's media type, as its sender says.
  package let mediaType: String?
  /// Bytes of the text or the file.
  package let byteCount: Int64
  /// Parts in which it travels.
  package let partCount: Int
  /// Parts that have come, or of which word has come that they have arrived.
  package var partsDone: Int
  package let digest: Digest?
  /// When it was made, as it says itself.
  package let sentAt: Int64
  package let storedAt: Int64
  /// When it had arrived; 0 while it has not.
  package var deliveredAt: Int64
  /// When it was read; 0 while it was not.
  package var readAt: Int64
  /// How it came or arrived; empty while that isn't known.
  package var route: String
  /// How many devices carried it.
  package var hops: UInt8
  /// Who carried it, in the order of branches.
  package var carriers: [Digest]
  package var ways: ParcelRecord.Ways
  /// When nothing comes of it any more; 0: never.
  package var expiresAt: Int64
  package var state: State

  package init(
    number: Int64 = 0, id: [UInt8], peer: Digest? = nil, account: [UInt8]? = nil, contact: String? = nil,
    direction: Direction, kind: Kind, isSealed: Bool, name: String? = nil, mediaType: String? = nil, byteCount: Int64,
    partCount: Int = 1, partsDone: Int = 0, digest: Digest? = nil, sentAt: Int64, storedAt: Int64,
    deliveredAt: Int64 = 0, readAt: Int64 = 0, route: String = "", hops: UInt8 = 0, carriers: [Digest] = [],
    ways: ParcelRecord.Ways = .all, expiresAt: Int64 = 0, state: State
  ) {
    self.number = number
    self.id = id
    self.peer = peer
    self.account = account
    self.contact = contact
    self.direction = direction
    self.kind = kind
    self.isSealed = isSealed
    self.name = name
    self.mediaType = mediaType
    self.byteCount = byteCount
    self.partCount = partCount
    self.partsDone = partsDone
    self.digest = digest
    self.sentAt = sentAt
    self.storedAt = storedAt
    self.deliveredAt = deliveredAt
    self.readAt = readAt
    self.route = route
    self.hops = hops
    self.carriers = carriers
    self.ways = ways
    self.expiresAt = expiresAt
    self.state = state
  }

  /// Whether `other` is the same message, perhaps further on its way.
  func isSame(as other: MessageRecord) -> Bool {
    number == other.number && id == other.id && peer == other.peer && account == other.account
      && contact == other.contact && direction == other.direction && kind == other.kind
      && isSealed == other.isSealed && name == other.name && mediaType == other.mediaType
      && byteCount == other.byteCount && partCount == other.partCount && digest == other.digest
      && sentAt == other.sentAt && storedAt == other.storedAt
  }

  func check() throws(StoreError) {
    guard isSound else { throw .invalid("a message") }
  }

  /// Whether all lengths and numbers are within their bounds, and what belongs together is there together.
  private var isSound: Bool {
    func isText(_ text: String?, _ limit: Int) -> Bool {
      guard let text else { return true }
      return !text.isEmpty && text.utf8.count <= limit && !text.utf8.contains(0)
    }
    let isFromPeer = peer != nil && account == nil && contact == nil
    let isPlain = peer == nil && account?.count == AccountRecord.idByteCount && contact != nil && !isSealed
    return id.count == Self.idByteCount && (isFromPeer || isPlain)
      && isText(contact, AccountRecord.addressByteLimit) && isText(name, Self.nameByteLimit)
      && isText(mediaType, Self.mediaTypeByteLimit) && route.utf8.count <= Self.routeByteLimit
      && !route.utf8.contains(0) && carriers.count <= Self.carrierLimit && number >= 0 && byteCount >= 0
      && (1...Self.partLimit).contains(partCount) && (0...partCount).contains(partsDone)
      && ParcelRecord.Ways.all.isSuperset(of: ways) && state.direction == direction
  }
}

extension MessageRecord.State {
  /// Whose messages are in this state.
  var direction: MessageRecord.Direction {
    switch self {
    case .waiting, .underway, .delivered, .read, .lost: .sent
    case .partial, .new, .seen: .received
    }
  }
}

package struct MessageFilter: Hashable, Sendable {
  /// Which plain messages are among them.
  package enum Plain: Hashable, Sendable {
    case all
    case none
    case of(account: [UInt8])
  }

  package var peer: Digest?
  /// Only plain ones of this account.
  package var account: [UInt8]?
  /// Only plain ones with this contact.
  package var contact: String?
  package var id: [UInt8]?
  /// Which plain ones there are besides those of peers.
  package var plain: Plain
  package var direction: MessageRecord.Direction?
  package var states: Set<MessageRecord.State>?
  /// Only those stored at this time or later.
  package var since: Int64?
  /// Only those of which nothing comes any more at this time.
  package var expiredAt: Int64?
  /// Whether they come in the order of their numbers instead of the newest first.
  package var isOldestFirst: Bool
  /// Most that are listed: the first in their order.
  package var limit: Int

  package init(
    peer: Digest? = nil, account: [UInt8]? = nil, contact: String? = nil, id: [UInt8]? = nil, plain: Plain = .all,
    direction: MessageRecord.Direction? = nil, states: Set<MessageRecord.State>? = nil, since: Int64? = nil,
    expiredAt: Int64? = nil, isOldestFirst: Bool = false, limit: Int = Int(Int32.max)
  ) {
    self.peer = peer
    self.account = account
    self.contact = contact
    self.id = id
    self.plain = plain
    self.direction = direction
    self.states = states
    self.since = since
    self.expiredAt = expiredAt
    self.isOldestFirst = isOldestFirst
    self.limit = limit
  }
}

package struct MessageCounts: Hashable, Sendable {
  /// Received of this peer.
  package let count: Int
  /// Bytes of these, as announced.
  package let bytes: Int64
}

/// What a peer may leave here.
package struct MessageRoom: Hashable, Sendable {
  package let count: Int
  /// Bytes of messages and of everything else that is kept for it.
  package let byteCount: UInt64

  package init(count: Int, byteCount: UInt64) {
    self.count = count
    self.byteCount = byteCount
  }
}
