import WireCodec

/// A message as an answerer may receive it, parsed.
package enum PeerRequest: Sendable {
  case hello(Hello)
  case ping(Ping)
  case probe(Probe)
  case offer(Offer)
  case piece(Piece)
  case depositEnd(DepositEnd)
  case releaseRequest(ReleaseRequest)
  case possession(Possession)
  case pieceRequest(PieceRequest)
  case drillRequest(DrillRequest)
  case drillProof(DrillProof)
  case drillPieceRequest(DrillPieceRequest)
  case itemOffer(ItemOffer)
  case itemPiece(ItemPiece)
  case itemEnd(ItemEnd)
  case groupLetter(GroupLetter)
  case introduction(Introduction)
  case cardRequest(CardRequest)
  case courier(CourierMessage)
  /// A number without a meaning here; to be answered by ``Unsupported``.
  case unknown(UInt16)

  /// The message's number on the wire.
  package var number: UInt16 {
    switch self {
    case .hello: MessageType.hello.rawValue
    case .ping: MessageType.ping.rawValue
    case .probe: MessageType.probe.rawValue
    case .offer: MessageType.offer.rawValue
    case .piece: MessageType.piece.rawValue
    case .depositEnd: MessageType.depositEnd.rawValue
    case .releaseRequest: MessageType.releaseRequest.rawValue
    case .possession: MessageType.possession.rawValue
    case .pieceRequest: MessageType.pieceRequest.rawValue
    case .drillRequest: MessageType.drillRequest.rawValue
    case .drillProof: MessageType.drillProof.rawValue
    case .drillPieceRequest: MessageType.drillPieceRequest.rawValue
    case .itemOffer: MessageType.itemOffer.rawValue
    case .itemPiece: MessageType.itemPiece.rawValue
    case .itemEnd: MessageType.itemEnd.rawValue
    case .groupLetter: MessageType.groupLetter.rawValue
    case .introduction: MessageType.introduction.rawValue
    case .cardRequest: MessageType.cardRequest.rawValue
    case .courier(let message): message.number
    case .unknown(let number): number
    }
  }

  /// Parses the body of a message of type `number`.
  package init(number: UInt16, body: RawSpan) throws(ProtocolError) {
    guard let type = MessageType(rawValue: number) else {
      self = .unknown(number)
      return
    }
    do throws(WireError) {
      switch type {
      case .hello: self = .hello(try .read(body))
      case .ping: self = .ping(try .read(body))
      case .probe: self = .probe(try .read(body))
      case .offer: self = .offer(try .read(body))
      case .piece: self = .piece(try .read(body))
      case .depositEnd: self = .depositEnd(try .read(body))
      case .releaseRequest: self = .releaseRequest(try .read(body))
      case .possession: self = .possession(try .read(body))
      case .pieceRequest: self = .pieceRequest(try .read(body))
      case .drillRequest: self = .drillRequest(try .read(body))
      case .drillProof: self = .drillProof(try .read(body))
      case .drillPieceRequest: self = .drillPieceRequest(try .read(body))
      case .itemOffer: self = .itemOffer(try .read(body))
      case .itemPiece: self = .itemPiece(try .read(body))
      case .itemEnd: self = .itemEnd(try .read(body))
      case .introduction: self = .introduction(try .read(body))
      case .cardRequest: self = .cardRequest(try .read(body))
      case .groupLetter: self = .groupLetter(try .read(body))
      case .courierGreeting: self = .courier(.greeting(try .read(body)))
      case .courierOffers: self = .courier(.offers(try .read(body)))
      case .courierPiece: self = .courier(.piece(try .read(body)))
      case .courierTurn: self = .courier(.turn(try .read(body)))
      case .courierTaken: self = .courier(.taken(try .read(body)))
      case .unsupported, .pong, .probeAnswer, .offerAnswer, .depositResult, .challenge, .release, .refusal,
        .provenPiece, .piecesEnd, .drillChallenge, .drillAnswer, .drillRefusal, .drillPiece, .drillPiecesEnd,
        .itemAnswer, .itemResult, .sealedRelease, .groupReply, .courierReplies, .courierEnd,
        .introductionResult, .cards:
        self = .unknown(number)
      }
    } catch {
      throw .malformed(error)
    }
  }
}
