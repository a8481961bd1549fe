import WireCodec

/// What two devices may say to each other, exchange by exchange, and the order in which an answerer lets a peer speak: greeting first, and one thing
/// after the other. A pure state machine: it sees messages and says what they mean, and touches nothing.
///
/// Each exchange is a folder of this target, with its messages and its ``ExchangeAnswerer``. Here is the list of them, of their messages' numbers
/// and of the services that a peer announces.
package struct Exchanges: Sendable {
  /// What the answerer has to do next.
  package enum Step: Sendable {
    case greet(Hello)
    case pong(Pong)
    case deposit(DepositAnswerer.Step)
    case release(ReleaseAnswerer.Step)
    case drill(DrillAnswerer.Step)
    case introduction(IntroductionAnswerer.Request)
    case lifecycle(LifecycleAnswerer.Step)
    case item(ItemAnswerer.Request)
    case groupLetter(GroupLetter)
    case meeting(CourierMessage)
    /// Answer that this is not known here.
    case unsupported(UInt16)
  }

  /// A message as an answerer may receive it, parsed.
  package struct Request: Sendable {
    package enum Content: Sendable {
      case hello(Hello)
      case ping(Ping)
      case deposit(DepositAnswerer.Request)
      case release(ReleaseAnswerer.Request)
      case drill(DrillAnswerer.Request)
      case introduction(IntroductionAnswerer.Request)
      case lifecycle(LifecycleAnswerer.Request)
      case item(ItemAnswerer.Request)
      case groupLetter(GroupLetter)
      case meeting(CourierMessage)
      /// Nothing that has a meaning here; to be answered by ``Unsupported``.
      case unknown
    }

    /// The message's number on the wire.
    package let number: UInt16
    package let content: Content

    /// Parses the body of a message. To somebody who is no peer but was introduced, most numbers have no meaning.
    package init(number: UInt16, body: RawSpan, isPeer: Bool) throws(ProtocolError) {
      self.number = number
      guard let type = MessageType(number, isPeer: isPeer) else {
        content = .unknown
        return
      }
      do throws(WireError) { content = try Self.read(type, body) ?? .unknown } catch { throw .malformed(error) }
    }

    private static func read(_ type: MessageType, _ body: RawSpan) throws(WireError) -> Content? {
      switch type.rawValue >> 8 {
      case 0x00 where type == .hello: .hello(try .read(body))
      case 0x00 where type == .ping: .ping(try .read(body))
      case 0x01: try DepositAnswerer.read(type, body).map(Content.deposit)
      case 0x02: try ReleaseAnswerer.read(type, body).map(Content.release)
      case 0x03: try DrillAnswerer.read(type, body).map(Content.drill)
      case 0x04 where type.rawValue < 0x0410: try LifecycleAnswerer.read(type, body).map(Content.lifecycle)
      case 0x04: try IntroductionAnswerer.read(type, body).map(Content.introduction)
      case 0x05: try ItemAnswerer.read(type, body).map(Content.item)
      case 0x20: try GroupLetterAnswerer.read(type, body).map(Content.groupLetter)
      case 0x30: try MeetingAnswerer.read(type, body).map(Content.meeting)
      default: nil
      }
    }
  }

  private var hasGreeted = false
  package var deposit = DepositAnswerer()
  package var release: ReleaseAnswerer
  package var drill = DrillAnswerer()
  private var introduction = IntroductionAnswerer()
  package var lifecycle = LifecycleAnswerer()
  package var item = ItemAnswerer()
  private var groupLetter = GroupLetterAnswerer()
  package var meeting = MeetingAnswerer()

  /// Waits for the greeting, in the session with this ``OpeningChallenge``.
  package init(opening: [UInt8]) { release = ReleaseAnswerer(opening: opening) }

  /// Takes a message. Throws ``ProtocolError/unexpectedMessage(_:)`` if it has no place here: the session ends.
  package mutating func receive(_ request: Request) throws(ProtocolError) -> Step {
    let isIdle =
      hasGreeted
      && !(deposit.isUnderWay || release.isUnderWay || drill.isUnderWay || lifecycle.isUnderWay || item.isUnderWay
        || meeting.isUnderWay)
    if isIdle {
      if case .deposit = request.content {} else { deposit.passOver() }
      if case .release = request.content {} else { release.passOver() }
      if case .lifecycle = request.content {} else { lifecycle.passOver() }
    }
    let step: Step? =
      switch request.content {
      case .hello(let hello): hasGreeted ? nil : .greet(hello)
      case .ping(let ping): isIdle ? .pong(Pong(request: ping.request)) : nil
      case .deposit(let request): try deposit.hear(request, isIdle).map(Step.deposit)
      case .release(let request): try release.hear(request, isIdle).map(Step.release)
      case .drill(let request): try drill.hear(request, isIdle).map(Step.drill)
      // Cards are for who has proved a share.
      case .introduction(.cards(let cards))
      where !release.hasReleased(cards.request) && !drill.hasDrilled(cards.request): nil
      case .introduction(let request): try introduction.hear(request, isIdle).map(Step.introduction)
      case .lifecycle(let request): try lifecycle.hear(request, isIdle).map(Step.lifecycle)
      case .item(let request): try item.hear(request, isIdle).map(Step.item)
      case .groupLetter(let letter): try groupLetter.hear(letter, isIdle).map(Step.groupLetter)
      case .meeting(let message): try meeting.hear(message, isIdle).map(Step.meeting)
      case .unknown: isIdle ? .unsupported(request.number) : nil
      }
    guard let step else { throw .unexpectedMessage(request.number) }
    hasGreeted = true
    return step
  }
}

/// The answering side of an exchange: the order in which it lets a peer speak.
protocol ExchangeAnswerer: Sendable {
  /// What may be asked, parsed.
  associatedtype Request: Sendable
  /// What the answerer has to do next.
  associatedtype Step: Sendable
  /// Whether it has begun something that nothing else may interrupt.
  var isUnderWay: Bool { get }
  /// Parses a message of this exchange. Nil for those that only an answerer sends.
  static func read(_ type: MessageType, _ body: RawSpan) throws(WireError) -> Request?
  /// Takes a message while this exchange or none is under way. Nil if it has no place here.
  mutating func receive(_ request: Request) throws(ProtocolError) -> Step?
}

extension ExchangeAnswerer {
  var isUnderWay: Bool { false }

  /// Takes a message unless another exchange is under way.
  fileprivate mutating func hear(_ request: Request, _ isIdle: Bool) throws(ProtocolError) -> Step? {
    isIdle || isUnderWay ? try receive(request) : nil
  }
}

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

  case lifecycleRequest = 0x0401
  case lifecycleItem = 0x0402
  case lifecycleEnd = 0x0403
  case lifecycleResult = 0x0404
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
    case .lifecycleRequest, .lifecycleEnd: 8 * LifecycleRequest.markLimit + 512
    case .lifecycleItem: LifecycleObject.byteLimit + 64
    case .introduction, .cards: IntroductionBundle.sealedByteLimit + 64
    case .cardRequest: 4096
    default: 512
    }
  }

  /// Whether somebody may say this who is no peer, but was introduced as a holder of a secret.
  private var isOpenToIntroduced: Bool {
    switch self {
    case .hello, .releaseRequest, .possession, .pieceRequest, .drillRequest, .drillProof, .drillPieceRequest,
      .cardRequest, .lifecycleRequest, .lifecycleItem, .lifecycleEnd:
      true
    default: false
    }
  }

  /// The limit for a number as it arrives; nil if it has no meaning here.
  package static func byteLimit(_ number: UInt16, isPeer: Bool) -> Int? {
    MessageType(number, isPeer: isPeer)?.byteLimit
  }

  /// What a number means from a peer, or from somebody who was introduced; nil for nothing.
  init?(_ number: UInt16, isPeer: Bool) {
    guard let type = MessageType(rawValue: number), isPeer || type.isOpenToIntroduced else { return nil }
    self = type
  }
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
  /// It knows how a secret changes hands.
  case lifecycle = 10
}
