import ShamirKit
import Sodium
import Testing

@testable import VaultProtocol

/// A point of the dialogue, all of it under request number 7.
private enum Place: CaseIterable {
  case greeting, idle, depositing, challenged, judged, released
  case depositingAfterRelease, challengedAfterRelease
  case challengedForDrill, drillJudged, drilled
  case receivingItem
}

/// A kind of request.
private enum Kind: CaseIterable {
  case hello, unknown, ping, probe, offer, piece, depositEnd, releaseRequest, possession, pieceRequest
  case drillRequest, drillProof, drillPieceRequest
  case itemOffer, itemPiece, itemEnd
  case groupLetter
}

private func message(_ kind: Kind, _ request: UInt64) throws -> PeerRequest {
  switch kind {
  case .hello: .hello(Hello(services: PeerServiceKind.allCases))
  case .unknown: .unknown(0x0401)
  case .ping: .ping(Ping(request: request))
  case .probe: .probe(Probe(request: request, fragmentByteCount: 1))
  case .offer: .offer(offer(request))
  case .piece: .piece(Piece(request: request, number: 0, bytes: [1]))
  case .depositEnd: .depositEnd(DepositEnd(request: request))
  case .releaseRequest: .releaseRequest(try releaseRequest(request))
  case .possession: .possession(try possession(request))
  case .pieceRequest: .pieceRequest(PieceRequest(request: request, first: 0, count: 1))
  case .drillRequest: .drillRequest(try drillRequest(request))
  case .drillProof: .drillProof(DrillProof(possession: try possession(request), nonce: otherNonce))
  case .drillPieceRequest: .drillPieceRequest(DrillPieceRequest(request: request, numbers: [0, 3]))
  case .itemOffer: .itemOffer(try itemOffer(request))
  case .itemPiece: .itemPiece(ItemPiece(request: request, number: 0, bytes: [1]))
  case .itemEnd: .itemEnd(ItemEnd(request: request))
  case .groupLetter: .groupLetter(GroupLetter(request: request, purpose: .joining, content: [1, 2]))
  }
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

private let nonce = [UInt8](repeating: 9, count: 32)
private let otherNonce = [UInt8](repeating: 8, count: 32)

/// A dialogue that has come to a place.
private func dialogue(at place: Place) throws -> AnswererDialogue {
  var dialogue = AnswererDialogue()
  func challenge(_ number: UInt64) throws {
    _ = try dialogue.receive(message(.releaseRequest, number))
    dialogue.challenged(try releaseRequest(number), nonce: nonce)
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
    dialogue.began(offer(7))
  case .receivingItem:
    _ = try dialogue.receive(message(.itemOffer, 7))
    dialogue.began(try itemOffer(7))
  case .challenged: try challenge(7)
  case .challengedForDrill, .drillJudged, .drilled:
    _ = try dialogue.receive(message(.drillRequest, 7))
    dialogue.challengedForDrill(try drillRequest(7), nonce: nonce)
    if place == .challengedForDrill { break }
    _ = try dialogue.receive(message(.drillProof, 7))
    if place == .drilled { dialogue.drilled(request: 7) }
  case .judged: try judge()
  case .released, .depositingAfterRelease, .challengedAfterRelease:
    try judge()
    try dialogue.released(request: 7)
    if place == .depositingAfterRelease {
      _ = try dialogue.receive(message(.offer, 8))
      dialogue.began(offer(8))
    }
    if place == .challengedAfterRelease { try challenge(8) }
  }
  return dialogue
}

private func place(_ place: Place) throws -> AnswererDialogue { try dialogue(at: place) }

/// What may come at each place, and under which number. Everything else ends the session.
private func isExpected(_ kind: Kind, _ request: UInt64, at place: Place) -> Bool {
  switch place {
  case .greeting: kind == .hello
  case .idle, .judged, .drillJudged:
    [.unknown, .ping, .probe, .offer, .itemOffer, .groupLetter, .releaseRequest, .drillRequest].contains(kind)
  case .challengedForDrill: kind == .drillProof && request == 7
  case .drilled:
    [.unknown, .ping, .probe, .offer, .itemOffer, .groupLetter, .releaseRequest, .drillRequest].contains(kind)
      || kind == .drillPieceRequest && request == 7
  case .receivingItem: [.itemPiece, .itemEnd].contains(kind) && request == 7
  case .depositing: [.piece, .depositEnd].contains(kind) && request == 7
  case .challenged: kind == .possession && request == 7
  case .released:
    switch kind {
    case .unknown, .ping, .probe, .offer, .itemOffer, .groupLetter, .drillRequest: true
    case .releaseRequest: request != 7
    case .pieceRequest: request == 7
    default: false
    }
  case .depositingAfterRelease: [.piece, .depositEnd].contains(kind) && request == 8
  case .challengedAfterRelease: kind == .possession && request == 8
  }
}

@Suite("The answerer's dialogue")
struct AnswererDialogueTests {
  /// Whether a step is the one for a kind of message, with that message's contents.
  private func isStep(_ step: AnswererDialogue.Step, for kind: Kind, _ request: UInt64) throws -> Bool {
    switch (kind, step) {
    case (.hello, .greet(let hello)): hello == Hello(services: PeerServiceKind.allCases)
    case (.unknown, .unsupported(let number)): number == 0x0401
    case (.ping, .pong(let pong)): pong == Pong(request: request)
    case (.probe, .considerProbe(let probe)): probe == Probe(request: request, fragmentByteCount: 1)
    case (.offer, .considerOffer(let taken)): taken == offer(request)
    case (.piece, .store(let piece)): piece == Piece(request: request, number: 0, bytes: [1])
    case (.depositEnd, .completeDeposit(let end)): end == DepositEnd(request: request)
    case (.releaseRequest, .challenge(let taken)): try taken == releaseRequest(request)
    case (.possession, .judge(let possession, let taken, nonce)):
      try possession.request == request && taken == releaseRequest(request)
    case (.pieceRequest, .sendPieces(let pieces)): pieces == PieceRequest(request: request, first: 0, count: 1)
    case (.drillRequest, .challengeDrill(let taken)): try taken == drillRequest(request)
    case (.drillProof, .judgeDrill(let proof, let taken, nonce)):
      try proof.nonce == otherNonce && proof.possession.request == request && taken == drillRequest(request)
    case (.drillPieceRequest, .showPieces(let pieces)):
      pieces == DrillPieceRequest(request: request, numbers: [0, 3])
    case (.itemOffer, .considerItem(let taken)): try taken == itemOffer(request)
    case (.itemPiece, .storeItem(let piece)): piece == ItemPiece(request: request, number: 0, bytes: [1])
    case (.itemEnd, .completeItem(let end)): end == ItemEnd(request: request)
    case (.groupLetter, .considerLetter(let letter)):
      letter == GroupLetter(request: request, purpose: .joining, content: [1, 2])
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
          #expect((try? isStep(step, for: kind, request)) == true, "\(kind) \(request)")
        } catch {
          #expect(!isExpected(kind, request, at: place), "\(kind) \(request)")
          #expect(error == .unexpectedMessage(message.number))
        }
      }
    }
  }

  @Test("greets once")
  func oneGreeting() throws {
    var dialogue = AnswererDialogue()
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

  @Test("waits for no pieces of an offer that was not taken")
  func refusedOffer() throws {
    var dialogue = try dialogue(at: .idle)
    _ = try dialogue.receive(message(.offer, 7))
    let piece = try message(.piece, 7)
    #expect(throws: ProtocolError.unexpectedMessage(0x0105)) { _ = try dialogue.receive(piece) }
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
    _ = try dialogue.receive(message(.releaseRequest, 7))
    let fresh = [UInt8](repeating: 10, count: 32)
    dialogue.challenged(try releaseRequest(7), nonce: fresh)
    guard case .judge(_, _, fresh) = try dialogue.receive(message(.possession, 7)) else {
      Issue.record("not the fresh nonce")
      return
    }
  }

  @Test("sends no pieces for a proof that did not hold")
  func noPiecesWithoutRelease() throws {
    var dialogue = try dialogue(at: .judged)
    let request = try message(.pieceRequest, 7)
    #expect(throws: ProtocolError.unexpectedMessage(0x0206)) { _ = try dialogue.receive(request) }
  }

  @Test("sends pieces of every secret released in this session, as often as asked")
  func severalReleases() throws {
    var dialogue = try dialogue(at: .challengedAfterRelease)
    _ = try dialogue.receive(message(.possession, 8))
    try dialogue.released(request: 8)
    for request in [UInt64(7), 8, 7, 8] {
      #expect(try isStep(dialogue.receive(message(.pieceRequest, request)), for: .pieceRequest, request))
    }
  }

  @Test("releases at most 64 times in a session")
  func releaseLimit() throws {
    var dialogue = try dialogue(at: .idle)
    for request in UInt64(0)..<64 {
      _ = try dialogue.receive(message(.releaseRequest, request))
      dialogue.challenged(try releaseRequest(request), nonce: nonce)
      _ = try dialogue.receive(message(.possession, request))
      try dialogue.released(request: request)
    }
    #expect(throws: ProtocolError.unexpectedMessage(0x0201)) { try dialogue.released(request: 64) }
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
    for _ in 0..<(AnswererDialogue.drillPieceLimit / full.count) {
      _ = try dialogue.receive(.drillPieceRequest(DrillPieceRequest(request: 7, numbers: full)))
    }
    let more = PeerRequest.drillPieceRequest(DrillPieceRequest(request: 7, numbers: [0]))
    #expect(throws: ProtocolError.unexpectedMessage(0x0306)) { _ = try dialogue.receive(more) }
    dialogue = try place(.drilled)
    _ = try dialogue.receive(message(.drillRequest, 8))
    dialogue.challengedForDrill(try drillRequest(8), nonce: nonce)
    _ = try dialogue.receive(message(.drillProof, 8))
    #expect(throws: ProtocolError.unexpectedMessage(0x0306)) { _ = try dialogue.receive(more) }
  }

  @Test("takes at most 16 letters in a session")
  func letterLimit() throws {
    var dialogue = try dialogue(at: .idle)
    for request in 0..<UInt64(AnswererDialogue.letterLimit) {
      _ = try dialogue.receive(message(.groupLetter, request))
    }
    let more = try message(.groupLetter, 2000)
    #expect(throws: ProtocolError.unexpectedMessage(0x2001)) { _ = try dialogue.receive(more) }
  }

  @Test("takes at most 1024 drills in a session")
  func drillLimit() throws {
    var dialogue = try dialogue(at: .idle)
    for request in 0..<UInt64(AnswererDialogue.drillLimit) {
      _ = try dialogue.receive(message(.drillRequest, request))
      dialogue.challengedForDrill(try drillRequest(request), nonce: nonce)
      _ = try dialogue.receive(message(.drillProof, request))
    }
    let more = try message(.drillRequest, 2000)
    #expect(throws: ProtocolError.unexpectedMessage(0x0301)) { _ = try dialogue.receive(more) }
  }
}
