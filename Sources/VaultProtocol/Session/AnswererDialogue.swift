/// The order in which an answerer lets a peer speak: greeting first, one deposit at a time, each nonce once, pieces only
/// after a proof. A pure state machine: it sees messages and says what they mean, and touches nothing.
///
/// A peer needn't wait for each answer: pieces may come right behind their offer, and a piece request right behind the proof. What turns out not
/// to be wanted is then dropped, within narrow limits.
package struct AnswererDialogue: Sendable {
  /// Most releases of one session whose pieces may still be asked for.
  package static let releaseLimit = 64
  /// Most drills of one session.
  package static let drillLimit = 1024
  /// Most pieces that one drill may ask for.
  package static let drillPieceLimit = 4096

  /// Most letters of one session.
  package static let letterLimit = 16
  /// Most introductions of one session.
  package static let introductionLimit = 64
  /// Most questions for newer cards of one session.
  package static let cardRequestLimit = 128
  /// Most meetings of one session.
  package static let meetingLimit = 8

  /// What the answerer has to do next.
  package enum Step: Sendable {
    case greet(Hello)
    case pong(Pong)
    /// Say whether a fragment of this size would be taken.
    case considerProbe(Probe)
    /// Decide about an offer; then call ``began(_:from:)`` if pieces are to follow.
    case considerOffer(Offer)
    /// Store a piece of the running deposit, or drop it if the deposit has failed already: the dealer hears of it at
    /// the end.
    case store(Piece)
    /// Verify the running deposit, make it durable, answer.
    case completeDeposit(DepositEnd)
    /// Draw a nonce, call ``challenged(_:nonce:)``, send the challenge.
    case challenge(ReleaseRequest)
    /// Nothing: the proof for the session's first request follows, over its opening challenge.
    case awaitProof(ReleaseRequest)
    /// Check a proof against the nonce that was drawn for it, then answer; call ``released(request:)`` if it held.
    case judge(Possession, ReleaseRequest, nonce: [UInt8])
    /// Send pieces of a fragment whose share was released under this request.
    case sendPieces(PieceRequest)
    /// Draw a nonce for a drill, call ``challengedForDrill(_:nonce:)``, send the challenge.
    case challengeDrill(DrillRequest)
    /// Check a drill's proof against the nonce that was drawn for it, then answer; call ``drilled(request:)`` if it held.
    case judgeDrill(DrillProof, DrillRequest, nonce: [UInt8])
    /// Show pieces of the fragment that the last drill was about.
    case showPieces(DrillPieceRequest)
    /// Decide about an item; then call ``began(_:)-(ItemOffer)`` if pieces are to follow.
    case considerItem(ItemOffer)
    /// Store a piece of the running item, or drop it if that has failed already.
    case storeItem(ItemPiece)
    /// Verify the running item, make it durable, answer.
    case completeItem(ItemEnd)
    /// Answer a letter about a group.
    case considerLetter(GroupLetter)
    /// Decide about an introduction, and answer.
    case considerIntroduction(Introduction)
    /// Give newer cards of the holders of the secret of which a share was released, or the last drill, under this number.
    case giveCards(CardRequest)
    /// Take the next step of a meeting. With the greeting it begins: greet back. Reply to offers, and call ``wants(_:)`` with what is wanted of
    /// them. Take pieces, and say what became of their parcel behind the last one. After the turn, and after each word of what became of a
    /// parcel, give the next one and call ``gave(_:)``, or say that that was all and call ``metToTheEnd()``.
    case considerCourier(CourierMessage)
    /// Answer that this is not known here.
    case unsupported(UInt16)
    /// Nothing: it was sent before the peer could know that it isn't wanted.
    case drop
  }

  private enum Phase: Sendable {
    case greeting
    case idle
    /// With the first piece that is wanted.
    case depositing(UInt64, from: UInt64)
    case receivingItem(UInt64)
    case challenged(ReleaseRequest, nonce: [UInt8])
    case challengedForDrill(DrillRequest, nonce: [UInt8])
    case meeting(CourierDialogue)
  }

  private var phase = Phase.greeting
  private var releases: Set<UInt64> = []
  private var drillCount = 0
  private var letterCount = 0
  private var meetingCount = 0
  private var introductionCount = 0
  private var cardRequestCount = 0
  /// The last drill whose proof held, and how many pieces it may still ask for.
  private var drill: (request: UInt64, piecesLeft: Int)?
  /// The nonce of the first release request, until there was one.
  private var opening: [UInt8]?
  /// What may still come of the last offer's pieces that isn't wanted, until something else comes or the deposit ends.
  private var ahead: SentAhead?
  /// The request whose proof came last and didn't hold, until the next message: pieces may have been asked for with it.
  private var refused: UInt64?

  /// A dialogue that waits for the greeting, in the session with this ``OpeningChallenge``.
  package init(opening: [UInt8]) { self.opening = opening }

  /// Takes a message. Throws ``ProtocolError/unexpectedMessage(_:)`` if it has no place here: the session ends.
  package mutating func receive(_ message: PeerRequest) throws(ProtocolError) -> Step {
    let refused = refused
    self.refused = nil
    if case .idle = phase, !message.isPartOfDeposit { ahead = nil }
    switch (phase, message) {
    case (.greeting, .hello(let hello)):
      phase = .idle
      return .greet(hello)
    case (.greeting, _):
      throw .unexpectedMessage(message.number)
    case (.idle, .unknown(let number)):
      return .unsupported(number)
    case (.idle, .ping(let ping)):
      return .pong(Pong(request: ping.request))
    case (.idle, .probe(let probe)):
      return .considerProbe(probe)
    case (.idle, .offer(let offer)):
      ahead = SentAhead(behind: offer)
      return .considerOffer(offer)
    case (.depositing(let request, let from), .piece(let piece)) where piece.request == request:
      guard piece.number < from else { return .store(piece) }
      return try drop(piece)
    case (.depositing(let request, _), .depositEnd(let end)) where end.request == request:
      phase = .idle
      ahead = nil
      return .completeDeposit(end)
    case (.idle, .piece(let piece)):
      return try drop(piece)
    case (.idle, .depositEnd(let end)) where end.request == ahead?.request:
      ahead = nil
      return .drop
    case (.idle, .itemOffer(let offer)):
      return .considerItem(offer)
    case (.receivingItem(let request), .itemPiece(let piece)) where piece.request == request:
      return .storeItem(piece)
    case (.receivingItem(let request), .itemEnd(let end)) where end.request == request:
      phase = .idle
      return .completeItem(end)
    case (.idle, .groupLetter(let letter)) where letterCount < Self.letterLimit:
      letterCount += 1
      return .considerLetter(letter)
    case (.idle, .introduction(let introduction)) where introductionCount < Self.introductionLimit:
      introductionCount += 1
      return .considerIntroduction(introduction)
    case (.idle, .cardRequest(let request))
    where cardRequestCount < Self.cardRequestLimit
      && (releases.contains(request.request) || drill?.request == request.request):
      cardRequestCount += 1
      return .giveCards(request)
    case (.idle, .courier(.greeting(let greeting))) where meetingCount < Self.meetingLimit:
      meetingCount += 1
      phase = .meeting(CourierDialogue(request: greeting.request))
      return .considerCourier(.greeting(greeting))
    case (.meeting(var meeting), .courier(let message)):
      try meeting.receive(message)
      phase = .meeting(meeting)
      return .considerCourier(message)
    case (.idle, .releaseRequest(let request)) where !releases.contains(request.request):
      guard let nonce = opening.take() else { return .challenge(request) }
      phase = .challenged(request, nonce: nonce)
      return .awaitProof(request)
    case (.challenged(let request, let nonce), .possession(let possession)) where possession.request == request.request:
      phase = .idle
      self.refused = request.request
      return .judge(possession, request, nonce: nonce)
    case (.idle, .pieceRequest(let request)) where releases.contains(request.request):
      return .sendPieces(request)
    case (.idle, .pieceRequest(let request)) where request.request == refused:
      return .drop
    case (.idle, .drillRequest(let request)) where drillCount < Self.drillLimit:
      drillCount += 1
      drill = nil
      return .challengeDrill(request)
    case (.challengedForDrill(let request, let nonce), .drillProof(let proof))
    where proof.possession.request == request.request:
      phase = .idle
      return .judgeDrill(proof, request, nonce: nonce)
    case (.idle, .drillPieceRequest(let request)):
      guard let current = drill, current.request == request.request, request.numbers.count <= current.piecesLeft else {
        throw .unexpectedMessage(message.number)
      }
      drill = (current.request, current.piecesLeft - request.numbers.count)
      return .showPieces(request)
    default:
      throw .unexpectedMessage(message.number)
    }
  }

  /// A piece that isn't wanted must have been sent ahead.
  private mutating func drop(_ piece: Piece) throws(ProtocolError) -> Step {
    guard ahead?.spend(on: piece) == true else { throw .unexpectedMessage(MessageType.piece.rawValue) }
    return .drop
  }

  /// An offer was taken: its pieces follow, and those before `from` aren't wanted.
  package mutating func began(_ offer: Offer, from: UInt64) {
    phase = .depositing(offer.request, from: from)
  }

  /// An item was taken: its pieces follow.
  package mutating func began(_ offer: ItemOffer) {
    phase = .receivingItem(offer.request)
  }

  /// These of the offers of the running meeting are wanted: their pieces may come, and no others.
  package mutating func wants(_ copies: some Sequence<ParcelCopy>) {
    guard case .meeting(var meeting) = phase else { return }
    meeting.wants(copies)
    phase = .meeting(meeting)
  }

  /// All pieces of a parcel have gone out in the running meeting: what became of it has to follow.
  package mutating func gave(_ copy: ParcelCopy) {
    guard case .meeting(var meeting) = phase else { return }
    meeting.gave(copy)
    phase = .meeting(meeting)
  }

  /// The running meeting is over: everything else may follow.
  package mutating func metToTheEnd() {
    guard case .meeting = phase else { return }
    phase = .idle
  }

  /// A nonce was drawn for a request; only a proof for that request may follow.
  package mutating func challenged(_ request: ReleaseRequest, nonce: [UInt8]) {
    phase = .challenged(request, nonce: nonce)
  }

  /// A nonce was drawn for a drill; only a proof for that drill may follow.
  package mutating func challengedForDrill(_ request: DrillRequest, nonce: [UInt8]) {
    phase = .challengedForDrill(request, nonce: nonce)
  }

  /// A drill's proof held: pieces may be asked for under its number until the next drill. It gives no right to a release.
  package mutating func drilled(request: UInt64) {
    drill = (request, Self.drillPieceLimit)
  }

  /// A proof held: pieces may be asked for under its request number.
  /// Throws when a session asks for more releases than any recovery needs.
  package mutating func released(request: UInt64) throws(ProtocolError) {
    refused = nil
    guard releases.count < Self.releaseLimit else {
      throw .unexpectedMessage(MessageType.releaseRequest.rawValue)
    }
    releases.insert(request)
  }
}

extension PeerRequest {
  fileprivate var isPartOfDeposit: Bool {
    switch self {
    case .piece, .depositEnd: true
    default: false
    }
  }
}
