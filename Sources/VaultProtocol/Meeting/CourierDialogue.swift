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

  /// The message's number on the wire.
  package var number: UInt16 {
    switch self {
    case .greeting: MessageType.courierGreeting.rawValue
    case .offers: MessageType.courierOffers.rawValue
    case .piece: MessageType.courierPiece.rawValue
    case .turn: MessageType.courierTurn.rawValue
    case .taken: MessageType.courierTaken.rawValue
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

/// The order in which an answerer lets a peer speak in a meeting; see ``AnswererDialogue``.
struct CourierDialogue: Sendable {
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

  let request: UInt64
  private var phase = Phase.greeted
  /// Sizes of the dialler's offers.
  private var offers: [ParcelCopy: Int] = [:]
  /// Those of them that are wanted and haven't begun to come.
  private var wanted: Set<ParcelCopy> = []

  init(request: UInt64) { self.request = request }

  /// Takes the dialler's next message.
  mutating func receive(_ message: CourierMessage) throws(ProtocolError) {
    guard message.request == request else { throw .unexpectedMessage(message.number) }
    switch (phase, message) {
    case (.greeted, .offers(let offers)):
      self.offers = Dictionary(offers.offers.map { ($0.copy, $0.size) }, uniquingKeysWith: { first, _ in first })
      phase = .offered
    case (.offered, .piece(let piece)):
      guard wanted.remove(piece.copy) != nil, let size = offers[piece.copy] else {
        throw .unexpectedMessage(message.number)
      }
      try take(piece, CourierPieceOrder(copy: piece.copy, size: size))
    case (.receiving(let order), .piece(let piece)): try take(piece, order)
    case (.offered, .turn): phase = .turned
    case (.giving(let copy), .taken(let taken)) where taken.copy == copy: phase = .turned
    default: throw .unexpectedMessage(message.number)
    }
  }

  private mutating func take(_ piece: CourierPiece, _ order: CourierPieceOrder) throws(ProtocolError) {
    var order = order
    try order.take(piece)
    phase = order.isComplete ? .offered : .receiving(order)
  }

  mutating func wants(_ copies: some Sequence<ParcelCopy>) { wanted = Set(copies).intersection(offers.keys) }

  mutating func gave(_ copy: ParcelCopy) { phase = .giving(copy) }
}
