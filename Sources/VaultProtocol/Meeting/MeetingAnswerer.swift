import WireCodec

/// What a dialler says in a meeting.
package enum CourierMessage: Hashable, Sendable {
  case greeting(CourierGreeting)
  case offers(CourierOffers)
  case piece(CourierPiece)
  case turn(CourierTurn)
  case taken(CourierTaken)

  /// The meeting's number.
  package var request: UInt64 {
    switch self {
    case .greeting(let greeting): greeting.request
    case .offers(let offers): offers.request
    case .piece(let piece): piece.request
    case .turn(let turn): turn.request
    case .taken(let taken): taken.request
    }
  }
}

/// The pieces of one parcel, in their order. Both sides of a meeting read with it.
package struct CourierPieceOrder: Hashable, Sendable {
  package let copy: ParcelCopy
  /// Its size, as it was offered.
  package let size: Int
  /// Bytes that have come.
  package private(set) var byteCount = 0
  private var hopsLeft: UInt8?
  private var branch: UInt8?

  /// Waits for the first piece of a parcel that was offered.
  package init(_ offer: CourierOffer) { self.init(copy: offer.copy, size: offer.size) }

  init(copy: ParcelCopy, size: Int) {
    self.copy = copy
    self.size = size
  }

  package var isComplete: Bool { byteCount == size }

  /// Takes the next piece. Throws if it is another one.
  package mutating func take(_ piece: CourierPiece) throws(ProtocolError) {
    guard piece.copy == copy, piece.total == size, piece.offset == byteCount, !isComplete,
      piece.hopsLeft == hopsLeft ?? piece.hopsLeft, piece.branch == branch ?? piece.branch
    else { throw .unexpectedPiece(number: UInt64(clamping: piece.offset / CourierPiece.byteLimit)) }
    hopsLeft = piece.hopsLeft
    branch = piece.branch
    byteCount += piece.bytes.count
  }
}

/// The order in which a dialler may speak in meetings, of which there is one at a time.
package struct MeetingAnswerer: ExchangeAnswerer {
  /// Most meetings of one session.
  package static let limit = 8

  private enum Phase: Sendable {
    /// The greeting has come.
    case greeted
    /// The offers have come: parcels of these may follow, or the turn.
    case offered
    /// In the midst of a parcel.
    case receiving(CourierPieceOrder)
    /// The turn has come: the answerer speaks.
    case turned
    /// The answerer has given this one, and waits for what became of it.
    case giving(ParcelCopy)
  }

  private var count = 0
  /// The number of the last meeting.
  private var request: UInt64?
  /// Where the running meeting is.
  private var phase: Phase?
  /// Sizes of the dialler's offers.
  private var offers: [ParcelCopy: Int] = [:]
  /// Those of them that are wanted and haven't begun to come.
  private var wanted: Set<ParcelCopy> = []

  var isUnderWay: Bool { phase != nil }

  static func read(_ type: MessageType, _ body: RawSpan) throws(WireError) -> CourierMessage? {
    switch type {
    case .courierGreeting: .greeting(try .read(body))
    case .courierOffers: .offers(try .read(body))
    case .courierPiece: .piece(try .read(body))
    case .courierTurn: .turn(try .read(body))
    case .courierTaken: .taken(try .read(body))
    default: nil
    }
  }

  /// Takes the dialler's next message, which is the next step of the meeting. With the greeting it begins: greet back. Reply to offers, and call
  /// ``wants(_:)`` with what is wanted of them. Take pieces, and say what became of their parcel behind the last one. After the turn, and after each
  /// word of what became of a parcel, give the next one and call ``gave(_:)``, or say that that was all and call ``metToTheEnd()``.
  mutating func receive(_ message: CourierMessage) throws(ProtocolError) -> CourierMessage? {
    switch (phase, message) {
    case (nil, .greeting(let greeting)) where count < Self.limit:
      count += 1
      (request, offers, wanted, phase) = (greeting.request, [:], [], .greeted)
    case _ where message.request != request: return nil
    case (.greeted, .offers(let offers)):
      self.offers = Dictionary(offers.offers.map { ($0.copy, $0.size) }, uniquingKeysWith: { first, _ in first })
      phase = .offered
    case (.offered, .piece(let piece)):
      guard wanted.remove(piece.copy) != nil, let size = offers[piece.copy] else { return nil }
      try take(piece, CourierPieceOrder(copy: piece.copy, size: size))
    case (.receiving(let order), .piece(let piece)): try take(piece, order)
    case (.offered, .turn): phase = .turned
    case (.giving(let copy), .taken(let taken)) where taken.copy == copy: phase = .turned
    default: return nil
    }
    return message
  }

  private mutating func take(_ piece: CourierPiece, _ order: CourierPieceOrder) throws(ProtocolError) {
    var order = order
    try order.take(piece)
    phase = order.isComplete ? .offered : .receiving(order)
  }

  /// These of the offers of the running meeting are wanted: their pieces may come, and no others.
  package mutating func wants(_ copies: some Sequence<ParcelCopy>) { wanted = Set(copies).intersection(offers.keys) }

  /// All pieces of a parcel have gone out in the running meeting: what became of it has to follow.
  package mutating func gave(_ copy: ParcelCopy) { if phase != nil { phase = .giving(copy) } }

  /// The running meeting is over: everything else may follow.
  package mutating func metToTheEnd() { phase = nil }
}
