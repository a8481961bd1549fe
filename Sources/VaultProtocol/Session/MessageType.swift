/// Numbers of the messages between peers, with the most bytes that each may have.
///
/// Ranges: 0x00xx session, 0x01xx deposits, 0x02xx releases, 0x03xx drills, 0x04xx share lifecycle, 0x05xx items, 0x10xx–0x1fxx parcels,
/// 0x20xx–0x2fxx groups, 0x30xx meetings. A request of a type that the answerer doesn't know is answered by ``unsupported``.
package enum MessageType: UInt16, Hashable, Sendable, CaseIterable {
  case hello = 0x0001
  case unsupported = 0x0002
  case ping = 0x0003
  case pong = 0x0004

  case probe = 0x0101
  case probeAnswer = 0x0102
  case offer = 0x0103
  case offerAnswer = 0x0104
  case piece = 0x0105
  case depositEnd = 0x0106
  case depositResult = 0x0107

  case releaseRequest = 0x0201
  case challenge = 0x0202
  case possession = 0x0203
  case release = 0x0204
  case refusal = 0x0205
  case pieceRequest = 0x0206
  case provenPiece = 0x0207
  case piecesEnd = 0x0208

  case drillRequest = 0x0301
  case drillChallenge = 0x0302
  case drillProof = 0x0303
  case drillAnswer = 0x0304
  case drillRefusal = 0x0305
  case drillPieceRequest = 0x0306
  case drillPiece = 0x0307
  case drillPiecesEnd = 0x0308

  case introduction = 0x0411
  case introductionResult = 0x0412
  case cardRequest = 0x0413
  case cards = 0x0414

  case itemOffer = 0x0501
  case itemAnswer = 0x0502
  case itemPiece = 0x0503
  case itemEnd = 0x0504
  case itemResult = 0x0505

  /// Within parcels only.
  case sealedRelease = 0x1001

  case groupLetter = 0x2001
  case groupReply = 0x2002

  case courierGreeting = 0x3001
  case courierOffers = 0x3002
  case courierReplies = 0x3003
  case courierPiece = 0x3004
  case courierTaken = 0x3005
  case courierTurn = 0x3006
  case courierEnd = 0x3007

  /// Most bytes of a message of this type; checked on the announced length, before the body is taken.
  package var byteLimit: Int {
    switch self {
    case .hello: 8192
    case .offer: SecretHeader.byteLimit + 1024
    case .provenPiece, .drillPiece: 65536 + 4096
    case .drillPieceRequest: 1024
    case .piece, .itemPiece: 65536 + 64
    case .itemOffer: ItemHeader.byteLimit + 64
    case .groupLetter: GroupLetter.contentLimit + 64
    case .groupReply: GroupReply.contentLimit + 64
    case .courierGreeting, .courierReplies: 32_768
    case .courierOffers: 36_864
    case .courierPiece: CourierPiece.byteLimit + 64
    case .courierTurn: 12_288
    case .introduction, .cards: IntroductionBundle.sealedByteLimit + 64
    case .cardRequest: 4096
    default: 512
    }
  }

  /// Whether somebody may say this who is no peer, but was introduced as a holder of a secret.
  package var isOpenToIntroduced: Bool {
    switch self {
    case .hello, .releaseRequest, .possession, .pieceRequest, .drillRequest, .drillProof, .drillPieceRequest,
      .cardRequest:
      true
    default: false
    }
  }

  /// The limit for a number as it arrives; nil if it has no meaning here.
  package static func byteLimit(_ number: UInt16) -> Int? { MessageType(rawValue: number)?.byteLimit }
}

/// What a peer can be asked for, announced before anything else.
package enum PeerServiceKind: UInt16, Hashable, Sendable, CaseIterable {
  case deposit = 1
  case release = 2
  case drill = 3
  case items = 4
  /// It knows answers that wait for the other side's user.
  case consent = 5
  /// It belongs to groups, or may.
  case groups = 6
  /// It keeps the cards of a secret's other holders, and hands on newer ones.
  case introductions = 8
  /// It meets: it takes parcels for itself, and perhaps for others. The number 7 was that of meetings in which parcels had ids alone, and isn't used
  /// any more: the two don't understand each other.
  case courier = 9
}
