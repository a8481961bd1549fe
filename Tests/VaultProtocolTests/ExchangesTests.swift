import ShamirKit
import Sodium
import Testing

@testable import VaultProtocol

/// A point of the dialogue, all of it under request number 7.
private enum Place: CaseIterable {
  case greeting, idle, offerRefused, depositing, depositingRest, challenged, judged, judgedAndAsked, released
  case depositingAfterRelease, challengedAfterRelease
  case challengedForDrill, drillJudged, drilled
  case receivingObjects, objectsRefused
  case receivingItem
  case greeted, offered, replied, receivingParcel, turned, giving
}

/// A kind of request.
private enum Kind: CaseIterable {
  case hello, unknown, ping, probe, offer, piece, depositEnd, releaseRequest, possession, pieceRequest
  case drillRequest, drillProof, drillPieceRequest
  case itemOffer, itemPiece, itemEnd
  case groupLetter
  case introduction, cardRequest
  case lifecycleRequest, lifecycleItem, lifecycleEnd
  case courierGreeting, courierOffers, courierPiece, courierTaken, courierTurn
}

private func message(_ kind: Kind, _ request: UInt64) throws -> Exchanges.Request {
  let message: (any PeerMessage)? =
    switch kind {
    case .hello: Hello(services: PeerServiceKind.allCases)
    case .unknown: nil
    case .ping: Ping(request: request)
    case .probe: Probe(request: request, fragmentByteCount: 1)
    case .offer: offer(request)
    case .piece: Piece(request: request, number: 0, bytes: [1])
    case .depositEnd: DepositEnd(request: request)
    case .releaseRequest: try releaseRequest(request)
    case .possession: try possession(request)
    case .pieceRequest: PieceRequest(request: request, first: 0, count: 1)
    case .drillRequest: try drillRequest(request)
    case .drillProof: DrillProof(possession: try possession(request), nonce: otherNonce)
    case .drillPieceRequest: DrillPieceRequest(request: request, numbers: [0, 3])
    case .itemOffer: try itemOffer(request)
    case .itemPiece: ItemPiece(request: request, number: 0, bytes: [1])
    case .itemEnd: ItemEnd(request: request)
    case .groupLetter: GroupLetter(request: request, purpose: .joining, content: [1, 2])
    case .introduction: introduction(request)
    case .cardRequest: CardRequest(request: request, known: [])
    case .lifecycleRequest: lifecycleRequest(request)
    case .lifecycleItem: LifecycleItem(request: request, kind: .record, bytes: try recordName.encoded())
    case .lifecycleEnd: LifecycleEnd(request: request)
    case .courierGreeting: CourierGreeting(request: request, copies: [], takes: true, receipts: [])
    case .courierOffers:
      CourierOffers(request: request, receipts: [], offers: [try MeetingParcel().offer])
    case .courierPiece: try MeetingParcel().piece(request, 0)
    case .courierTaken: CourierTaken(request: request, copy: try MeetingParcel().copy, outcome: .known)
    case .courierTurn: CourierTurn(request: request, replies: [])
    }
  guard let message else { return try Exchanges.Request(number: 0x0701, body: [UInt8]().span.bytes, isPeer: true) }
  return try Exchanges.Request(message)
}

private func lifecycleRequest(_ request: UInt64) -> LifecycleRequest {
  LifecycleRequest(request: request, tag: nil, proof: nil, known: [])
}

private var recordName: RecordName {
  get throws {
    RecordName(
      proposal: try Digest([UInt8](repeating: 1, count: 32)), dealings: [], signature: [UInt8](repeating: 2, count: 64))
  }
}

private func introduction(_ request: UInt64) -> Introduction {
  Introduction(request: request, secret: SecretID(high: 1, low: 2), index: 2, sealed: [1])
}

private func possession(_ request: UInt64) throws -> Possession {
  Possession(request: request, index: 1, salt: [UInt8](repeating: 1, count: 32), proof: try sampleProof())
}

private func drillRequest(_ request: UInt64) throws -> DrillRequest {
  let digest = try Digest([UInt8](repeating: 1, count: 32))
  return DrillRequest(request: request, tag: digest, headerDigest: digest, epoch: 0)
}

private func itemOffer(_ request: UInt64) throws -> ItemOffer {
  ItemOffer(request: request, digest: try Digest([UInt8](repeating: 1, count: 32)), header: [1])
}

private func offer(_ request: UInt64) -> Offer { Offer(request: request, index: 1, sealedShare: [], header: []) }

private func releaseRequest(_ request: UInt64) throws -> ReleaseRequest {
  let digest = try Digest([UInt8](repeating: 1, count: 32))
  return ReleaseRequest(request: request, tag: digest, headerDigest: digest, epoch: 0)
}

private let opening = [UInt8](repeating: 7, count: 32)
private let nonce = [UInt8](repeating: 9, count: 32)
private let otherNonce = [UInt8](repeating: 8, count: 32)

/// A dialogue that has come to a place.
private func dialogue(at place: Place) throws -> Exchanges {
  var dialogue = Exchanges(opening: opening)
  func challenge(_ number: UInt64) throws {
    if case .release(.challenge) = try dialogue.receive(message(.releaseRequest, number)) {
      dialogue.release.challenged(try releaseRequest(number), nonce: nonce)
    }
  }
  func judge() throws {
    try challenge(7)
    _ = try dialogue.receive(message(.possession, 7))
  }
  if place == .greeting { return dialogue }
  _ = try dialogue.receive(message(.hello, 0))
  switch place {
  case .greeting, .idle: break
  case .depositing:
    _ = try dialogue.receive(message(.offer, 7))
    dialogue.deposit.began(offer(7), from: 0)
  case .depositingRest:
    _ = try dialogue.receive(message(.offer, 7))
    dialogue.deposit.began(offer(7), from: 1)
  case .offerRefused: _ = try dialogue.receive(message(.offer, 7))
  case .receivingItem:
    _ = try dialogue.receive(message(.itemOffer, 7))
    dialogue.item.began(try itemOffer(7))
  case .greeted, .offered, .replied, .receivingParcel, .turned, .giving:
    _ = try dialogue.receive(message(.courierGreeting, 7))
    if place == .greeted { break }
    _ = try dialogue.receive(message(.courierOffers, 7))
    if place == .offered { break }
    dialogue.meeting.wants([try MeetingParcel().copy])
    if place == .replied { break }
    if place == .receivingParcel {
      _ = try dialogue.receive(message(.courierPiece, 7))
      break
    }
    _ = try dialogue.receive(message(.courierTurn, 7))
    if place == .giving { dialogue.meeting.gave(try MeetingParcel().copy) }
  case .challenged: try challenge(7)
  case .challengedForDrill, .drillJudged, .drilled:
    _ = try dialogue.receive(message(.drillRequest, 7))
    dialogue.drill.challenged(try drillRequest(7), nonce: nonce)
    if place == .challengedForDrill { break }
    _ = try dialogue.receive(message(.drillProof, 7))
    if place == .drilled { dialogue.drill.drilled(request: 7) }
  case .receivingObjects, .objectsRefused:
    _ = try dialogue.receive(message(.lifecycleRequest, 7))
    if place == .objectsRefused { dialogue.lifecycle.refused() }
  case .judged: try judge()
  case .judgedAndAsked:
    try judge()
    _ = try dialogue.receive(message(.pieceRequest, 7))
  case .released, .depositingAfterRelease, .challengedAfterRelease:
    try judge()
    try dialogue.release.released(request: 7)
    if place == .depositingAfterRelease {
      _ = try dialogue.receive(message(.offer, 8))
      dialogue.deposit.began(offer(8), from: 0)
    }
    if place == .challengedAfterRelease { try challenge(8) }
  }
  return dialogue
}

private func place(_ place: Place) throws -> Exchanges { try dialogue(at: place) }

/// What may come at each place, and under which number. Everything else ends the session.
private func isExpected(_ kind: Kind, _ request: UInt64, at place: Place) -> Bool {
  switch place {
  case .greeting: kind == .hello
  case .idle, .judged, .judgedAndAsked, .drillJudged, .offerRefused, .objectsRefused:
    idleKinds.contains(kind) || isDropped(kind, request, at: place)
  case .challengedForDrill: kind == .drillProof && request == 7
  case .drilled:
    idleKinds.contains(kind) || [.drillPieceRequest, .cardRequest].contains(kind) && request == 7
  case .receivingObjects: [.lifecycleItem, .lifecycleEnd].contains(kind) && request == 7
  case .receivingItem: [.itemPiece, .itemEnd].contains(kind) && request == 7
  case .depositing, .depositingRest: [.piece, .depositEnd].contains(kind) && request == 7
  case .challenged: kind == .possession && request == 7
  case .released:
    switch kind {
    case .unknown, .ping, .probe, .offer, .itemOffer, .groupLetter, .introduction, .drillRequest, .courierGreeting,
      .lifecycleRequest:
      true
    case .releaseRequest: request != 7
    case .pieceRequest, .cardRequest: request == 7
    default: false
    }
  case .depositingAfterRelease: [.piece, .depositEnd].contains(kind) && request == 8
  case .challengedAfterRelease: kind == .possession && request == 8
  case .greeted: kind == .courierOffers && request == 7
  case .offered: kind == .courierTurn && request == 7
  case .replied: [.courierPiece, .courierTurn].contains(kind) && request == 7
  // The second piece, which none of these is.
  case .receivingParcel, .turned: false
  case .giving: kind == .courierTaken && request == 7
  }
}

/// What may come whenever a request is waited for.
private let idleKinds: [Kind] = [
  .unknown, .ping, .probe, .offer, .itemOffer, .groupLetter, .introduction, .releaseRequest, .drillRequest,
  .courierGreeting, .lifecycleRequest,
]

/// What may have been sent before it could be known that it isn't wanted.
private func isDropped(_ kind: Kind, _ request: UInt64, at place: Place) -> Bool {
  switch place {
  case .offerRefused: [.piece, .depositEnd].contains(kind) && request == 7
  case .depositingRest: kind == .piece && request == 7
  case .judged: kind == .pieceRequest && request == 7
  case .objectsRefused: [.lifecycleItem, .lifecycleEnd].contains(kind) && request == 7
  default: false
  }
}

@Suite("The answerer's dialogue")
struct ExchangesTests {
  /// Whether a step is the one for a kind of message, with that message's contents.
  private func isStep(_ step: Exchanges.Step, for kind: Kind, _ request: UInt64) throws -> Bool {
    switch (kind, step) {
    case (.hello, .greet(let hello)): hello == Hello(services: PeerServiceKind.allCases)
    case (.unknown, .unsupported(let number)): number == 0x0701
    case (.ping, .pong(let pong)): pong == Pong(request: request)
    case (.probe, .deposit(.considerProbe(let probe))): probe == Probe(request: request, fragmentByteCount: 1)
    case (.offer, .deposit(.considerOffer(let taken))): taken == offer(request)
    case (.piece, .deposit(.store(let piece))): piece == Piece(request: request, number: 0, bytes: [1])
    case (.depositEnd, .deposit(.complete(let end))): end == DepositEnd(request: request)
    case (.releaseRequest, .release(.challenge(let taken))), (.releaseRequest, .release(.awaitProof(let taken))):
      try taken == releaseRequest(request)
    case (.possession, .release(.judge(let possession, let taken, let over))):
      try possession.request == request && taken == releaseRequest(request) && [opening, nonce].contains(over)
    case (.pieceRequest, .release(.sendPieces(let pieces))):
      pieces == PieceRequest(request: request, first: 0, count: 1)
    case (.drillRequest, .drill(.challenge(let taken))): try taken == drillRequest(request)
    case (.drillProof, .drill(.judge(let proof, let taken, nonce))):
      try proof.nonce == otherNonce && proof.possession.request == request && taken == drillRequest(request)
    case (.drillPieceRequest, .drill(.showPieces(let pieces))):
      pieces == DrillPieceRequest(request: request, numbers: [0, 3])
    case (.itemOffer, .item(.offer(let taken))): try taken == itemOffer(request)
    case (.itemPiece, .item(.piece(let piece))): piece == ItemPiece(request: request, number: 0, bytes: [1])
    case (.itemEnd, .item(.end(let end))): end == ItemEnd(request: request)
    case (.groupLetter, .groupLetter(let letter)):
      letter == GroupLetter(request: request, purpose: .joining, content: [1, 2])
    case (.introduction, .introduction(.introduction(let taken))): taken == introduction(request)
    case (.cardRequest, .introduction(.cards(let taken))): taken == CardRequest(request: request, known: [])
    case (.lifecycleRequest, .lifecycle(.answer(let taken))): taken == lifecycleRequest(request)
    case (.lifecycleItem, .lifecycle(.take(let object))): try object == .record(recordName)
    case (.lifecycleEnd, .lifecycle(.end(let taken))): taken == LifecycleEnd(request: request)
    case (.courierGreeting, .meeting(.greeting(let greeting))): greeting.request == request
    case (.courierOffers, .meeting(.offers(let offers))): offers.request == request
    case (.courierPiece, .meeting(.piece(let piece))): piece.request == request
    case (.courierTaken, .meeting(.taken(let taken))): taken.request == request
    case (.courierTurn, .meeting(.turn(let turn))): turn.request == request
    default: false
    }
  }

  @Test("takes at each place the messages that belong there, and no others", arguments: Place.allCases)
  private func table(_ place: Place) throws {
    for kind in Kind.allCases {
      for request in [UInt64(7), 8] {
        var dialogue = try dialogue(at: place)
        let message = try message(kind, request)
        do throws(ProtocolError) {
          let step = try dialogue.receive(message)
          #expect(isExpected(kind, request, at: place), "\(kind) \(request)")
          switch step {
          case .deposit(.drop), .release(.drop), .lifecycle(.drop):
            #expect(isDropped(kind, request, at: place), "\(kind) \(request)")
          default:
            #expect((try? isStep(step, for: kind, request)) == true, "\(kind) \(request)")
            #expect(!isDropped(kind, request, at: place), "\(kind) \(request)")
          }
        } catch {
          #expect(!isExpected(kind, request, at: place), "\(kind) \(request)")
          let isPiece = kind == .courierPiece && place == .receivingParcel && request == 7
          #expect(error == (isPiece ? .unexpectedPiece(number: 0) : .unexpectedMessage(message.number)))
        }
      }
    }
  }

  @Test("greets once")
  func oneGreeting() throws {
    var dialogue = Exchanges(opening: opening)
    _ = try dialogue.receive(message(.hello, 0))
    let again = try message(.hello, 0)
    #expect(throws: ProtocolError.unexpectedMessage(0x0001)) { _ = try dialogue.receive(again) }
  }

  @Test("takes a deposit's pieces one after the other, and then other requests again")
  func deposit() throws {
    var dialogue = try dialogue(at: .depositing)
    for _ in 0..<3 { #expect(try isStep(dialogue.receive(message(.piece, 7)), for: .piece, 7)) }
    #expect(try isStep(dialogue.receive(message(.depositEnd, 7)), for: .depositEnd, 7))
    #expect(try isStep(dialogue.receive(message(.ping, 8)), for: .ping, 8))
    let late = try message(.piece, 7)
    #expect(throws: ProtocolError.unexpectedMessage(0x0105)) { _ = try dialogue.receive(late) }
  }

  @Test("drops what was sent behind an offer that was not taken: 16 pieces of 65536 bytes together, and the end")
  func refusedOffer() throws {
    func isDropped(_ pieces: [Int]) throws -> Bool {
      var dialogue = try place(.offerRefused)
      for (number, count) in pieces.enumerated() {
        let piece = Piece(request: 7, number: UInt64(number), bytes: [UInt8](repeating: 1, count: count))
        let message = try Exchanges.Request(piece)
        do throws(ProtocolError) {
          guard case .deposit(.drop) = try dialogue.receive(message) else { return false }
        } catch { return false }
      }
      guard case .deposit(.drop) = try dialogue.receive(message(.depositEnd, 7)) else { return false }
      let late = try message(.piece, 7)
      #expect(throws: ProtocolError.unexpectedMessage(0x0105)) { _ = try dialogue.receive(late) }
      return true
    }
    for pieces in [[], [65_536], [65_535, 1], [0], [Int](repeating: 4096, count: 16), [Int](repeating: 0, count: 16)] {
      #expect(try isDropped(pieces), "\(pieces)")
    }
    for pieces in [[65_536, 1], [65_536, 0] + [Int](repeating: 0, count: 15), [Int](repeating: 0, count: 17)] {
      #expect(try !isDropped(pieces), "\(pieces)")
    }
  }

  @Test("drops nothing any more once something else has come")
  func lateAhead() throws {
    for kind in [Kind.ping, .unknown, .probe, .releaseRequest, .drillRequest, .itemOffer, .groupLetter] {
      var dialogue = try dialogue(at: .offerRefused)
      _ = try dialogue.receive(message(kind, 8))
      for late in [try message(.piece, 7), try message(.depositEnd, 7)] {
        #expect(throws: ProtocolError.self) { _ = try dialogue.receive(late) }
      }
    }
    // Another offer has pieces of its own, and only those.
    var dialogue = try dialogue(at: .offerRefused)
    _ = try dialogue.receive(message(.offer, 8))
    let old = try message(.piece, 7)
    #expect(throws: ProtocolError.unexpectedMessage(0x0105)) { _ = try dialogue.receive(old) }
    guard case .deposit(.drop) = try dialogue.receive(message(.piece, 8)) else {
      throw ProtocolError.unexpectedMessage(0)
    }
  }

  @Test("drops the pieces of a deposit that are there already, as far as they may have been sent ahead")
  func knownPieces() throws {
    var dialogue = try dialogue(at: .depositingRest)
    let known = try Exchanges.Request(Piece(request: 7, number: 0, bytes: [UInt8](repeating: 1, count: 65_536)))
    guard case .deposit(.drop) = try dialogue.receive(known) else { throw ProtocolError.unexpectedMessage(0) }
    for number in UInt64(1)..<3 {
      let piece = Piece(request: 7, number: number, bytes: [UInt8](repeating: 1, count: 65_536))
      guard case .deposit(.store(piece)) = try dialogue.receive(.init(piece)) else {
        throw ProtocolError.unexpectedMessage(0)
      }
    }
    let more = try message(.piece, 7)
    #expect(throws: ProtocolError.unexpectedMessage(0x0105)) { _ = try dialogue.receive(more) }
    #expect(try isStep(dialogue.receive(message(.depositEnd, 7)), for: .depositEnd, 7))
  }

  @Test("as many pieces go ahead of an answer as the other side drops", arguments: [0, 1, 15, 16, 17, 1000])
  func countAhead(pieces: UInt64) {
    #expect(Offer.countAhead(pieces) { _ in 1 } == min(pieces, 16))
    #expect(Offer.countAhead(pieces) { _ in 65_536 } == min(pieces, 1))
    #expect(Offer.countAhead(pieces) { _ in 65_537 } == 0)
    #expect(Offer.countAhead(pieces) { $0 == 0 ? 60_000 : 5_536 } == min(pieces, 2))
  }

  @Test("takes the first request's proof over the session's own challenge, and later ones over nonces of their own")
  func openingChallenge() throws {
    var dialogue = try dialogue(at: .idle)
    guard case .release(.awaitProof) = try dialogue.receive(message(.releaseRequest, 7)),
      case .release(.judge(_, _, opening)) = try dialogue.receive(message(.possession, 7)),
      case .release(.challenge) = try dialogue.receive(message(.releaseRequest, 8))
    else {
      Issue.record("not the opening challenge, or more than once")
      return
    }
    dialogue.release.challenged(try releaseRequest(8), nonce: nonce)
    guard case .release(.judge(_, _, nonce)) = try dialogue.receive(message(.possession, 8)) else {
      Issue.record("not the nonce that was drawn")
      return
    }
  }

  @Test("the opening challenge is another one in each session, and not what it is made of")
  func openingChallengeValue() throws {
    let hash = try Digest([UInt8](repeating: 1, count: 32))
    let other = try Digest([UInt8](repeating: 2, count: 32))
    #expect(try OpeningChallenge.of(hash) != OpeningChallenge.of(other))
    #expect(try OpeningChallenge.of(hash) != hash.bytes)
  }

  @Test("uses a nonce once: a second proof is out of turn")
  func nonceOnce() throws {
    for place in [Place.judged, .released] {
      var dialogue = try dialogue(at: place)
      let second = try message(.possession, 7)
      #expect(throws: ProtocolError.unexpectedMessage(0x0203)) { _ = try dialogue.receive(second) }
    }
  }

  @Test("hands a proof over with the nonce that was drawn last, not an earlier one")
  func freshNonce() throws {
    var dialogue = try dialogue(at: .judged)
    guard case .release(.challenge) = try dialogue.receive(message(.releaseRequest, 7)) else {
      Issue.record("no challenge")
      return
    }
    let fresh = [UInt8](repeating: 10, count: 32)
    dialogue.release.challenged(try releaseRequest(7), nonce: fresh)
    guard case .release(.judge(_, _, fresh)) = try dialogue.receive(message(.possession, 7)) else {
      Issue.record("not the fresh nonce")
      return
    }
  }

  @Test("sends no pieces for a proof that did not hold, and takes no offence if they were asked for with it, once")
  func noPiecesWithoutRelease() throws {
    var dialogue = try dialogue(at: .judged)
    let request = try message(.pieceRequest, 7)
    guard case .release(.drop) = try dialogue.receive(request) else { throw ProtocolError.unexpectedMessage(0) }
    #expect(throws: ProtocolError.unexpectedMessage(0x0206)) { _ = try dialogue.receive(request) }
    var later = try place(.judged)
    _ = try later.receive(message(.ping, 8))
    #expect(throws: ProtocolError.unexpectedMessage(0x0206)) { _ = try later.receive(request) }
  }

  @Test("sends pieces of every secret released in this session, as often as asked")
  func severalReleases() throws {
    var dialogue = try dialogue(at: .challengedAfterRelease)
    _ = try dialogue.receive(message(.possession, 8))
    try dialogue.release.released(request: 8)
    for request in [UInt64(7), 8, 7, 8] {
      #expect(try isStep(dialogue.receive(message(.pieceRequest, request)), for: .pieceRequest, request))
    }
  }

  @Test("releases at most 64 times in a session")
  func releaseLimit() throws {
    var dialogue = try dialogue(at: .idle)
    for request in UInt64(0)..<64 {
      if case .release(.challenge) = try dialogue.receive(message(.releaseRequest, request)) {
        dialogue.release.challenged(try releaseRequest(request), nonce: nonce)
      }
      _ = try dialogue.receive(message(.possession, request))
      try dialogue.release.released(request: request)
    }
    #expect(throws: ProtocolError.unexpectedMessage(0x0201)) { try dialogue.release.released(request: 64) }
    let pieces = try message(.pieceRequest, 64)
    #expect(throws: ProtocolError.unexpectedMessage(0x0206)) { _ = try dialogue.receive(pieces) }
    #expect(try isStep(dialogue.receive(message(.pieceRequest, 63)), for: .pieceRequest, 63))
  }

  @Test("gives no right to pieces of a release for a drill, nor to those of a drill for a release")
  func drillIsNoRelease() throws {
    var drilled = try dialogue(at: .drilled)
    let released = try message(.pieceRequest, 7)
    #expect(throws: ProtocolError.unexpectedMessage(0x0206)) { _ = try drilled.receive(released) }
    var released7 = try dialogue(at: .released)
    let shown = try message(.drillPieceRequest, 7)
    #expect(throws: ProtocolError.unexpectedMessage(0x0306)) { _ = try released7.receive(shown) }
  }

  @Test("shows pieces for the last drill only, and no more than one drill may see")
  func drillPieces() throws {
    var dialogue = try dialogue(at: .drilled)
    let full = (0..<UInt64(DrillPieceRequest.countLimit)).map { $0 }
    for _ in 0..<(DrillAnswerer.pieceLimit / full.count) {
      _ = try dialogue.receive(.init(DrillPieceRequest(request: 7, numbers: full)))
    }
    let more = try Exchanges.Request(DrillPieceRequest(request: 7, numbers: [0]))
    #expect(throws: ProtocolError.unexpectedMessage(0x0306)) { _ = try dialogue.receive(more) }
    dialogue = try place(.drilled)
    _ = try dialogue.receive(message(.drillRequest, 8))
    dialogue.drill.challenged(try drillRequest(8), nonce: nonce)
    _ = try dialogue.receive(message(.drillProof, 8))
    #expect(throws: ProtocolError.unexpectedMessage(0x0306)) { _ = try dialogue.receive(more) }
  }

  @Test("takes at most 16 letters in a session")
  func letterLimit() throws {
    var dialogue = try dialogue(at: .idle)
    for request in 0..<UInt64(GroupLetterAnswerer.limit) {
      _ = try dialogue.receive(message(.groupLetter, request))
    }
    let more = try message(.groupLetter, 2000)
    #expect(throws: ProtocolError.unexpectedMessage(0x2001)) { _ = try dialogue.receive(more) }
  }

  @Test("takes at most 64 introductions in a session")
  func introductionLimit() throws {
    var dialogue = try dialogue(at: .idle)
    for request in 0..<UInt64(IntroductionAnswerer.introductionLimit) {
      _ = try dialogue.receive(message(.introduction, request))
    }
    let more = try message(.introduction, 2000)
    #expect(throws: ProtocolError.unexpectedMessage(0x0411)) { _ = try dialogue.receive(more) }
  }

  @Test("takes at most 1024 drills in a session")
  func drillLimit() throws {
    var dialogue = try dialogue(at: .idle)
    for request in 0..<UInt64(DrillAnswerer.limit) {
      _ = try dialogue.receive(message(.drillRequest, request))
      dialogue.drill.challenged(try drillRequest(request), nonce: nonce)
      _ = try dialogue.receive(message(.drillProof, request))
    }
    let more = try message(.drillRequest, 2000)
    #expect(throws: ProtocolError.unexpectedMessage(0x0301)) { _ = try dialogue.receive(more) }
  }
}
