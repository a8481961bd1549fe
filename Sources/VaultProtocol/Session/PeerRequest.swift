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

  /// Parses the body of a message of type `number`.
  package init(number: UInt16, body: RawSpan) throws(ProtocolError) {
    guard let type = MessageType(rawValue: number) else {
      self = .unknown(number)
      return
    }
    do throws(WireError) {
      switch type {
      case .hello: self = .hello(try .decode(body, limit: type.byteLimit))
      case .ping: self = .ping(try .decode(body, limit: type.byteLimit))
      case .probe: self = .probe(try .decode(body, limit: type.byteLimit))
      case .offer: self = .offer(try .decode(body, limit: type.byteLimit))
      case .piece: self = .piece(try .decode(body, limit: type.byteLimit))
      case .depositEnd: self = .depositEnd(try .decode(body, limit: type.byteLimit))
      case .releaseRequest: self = .releaseRequest(try .decode(body, limit: type.byteLimit))
      case .possession: self = .possession(try .decode(body, limit: type.byteLimit))
      case .pieceRequest: self = .pieceRequest(try .decode(body, limit: type.byteLimit))
      case .drillRequest: self = .drillRequest(try .decode(body, limit: type.byteLimit))
      case .drillProof: self = .drillProof(try .decode(body, limit: type.byteLimit))
      case .drillPieceRequest: self = .drillPieceRequest(try .decode(body, limit: type.byteLimit))
      case .itemOffer: self = .itemOffer(try .decode(body, limit: type.byteLimit))
      case .itemPiece: self = .itemPiece(try .decode(body, limit: type.byteLimit))
      case .itemEnd: self = .itemEnd(try .decode(body, limit: type.byteLimit))
      case .introduction: self = .introduction(try .decode(body, limit: type.byteLimit))
      case .cardRequest: self = .cardRequest(try .decode(body, limit: type.byteLimit))
      case .groupLetter: self = .groupLetter(try .decode(body, limit: type.byteLimit))
      case .courierGreeting: self = .courier(.greeting(try .decode(body, limit: type.byteLimit)))
      case .courierOffers: self = .courier(.offers(try .decode(body, limit: type.byteLimit)))
      case .courierPiece: self = .courier(.piece(try .decode(body, limit: type.byteLimit)))
      case .courierTurn: self = .courier(.turn(try .decode(body, limit: type.byteLimit)))
      case .courierTaken: self = .courier(.taken(try .decode(body, limit: type.byteLimit)))
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
