import ShamirKit
import Sodium
import VaultProtocol
import WireCodec

/// Messages between peers, and the machines that take them in order.
enum MessageTargets {
  static let all = [
    FuzzTarget("message", upTo: 70_000) { bytes in
      var tape = Tape(bytes)
      let number = tape.u16()
      return try read(number, tape.remainder())
    },
    FuzzTarget("request", upTo: 70_000) { bytes in
      var tape = Tape(bytes)
      let number = tape.u16()
      let body = tape.remainder()
      let request = try Exchanges.Request(number: number, body: body.span.bytes, isPeer: true)
      require(request.number == number, "a request knows its number")
      let again: [UInt8]?
      do throws(WireError) { again = try request.encodedAgain() } catch { violated("a request encodes: \(error)") }
      require(again ?? body == body, "a request encodes to the bytes it was read from")
      return again != nil
    },
    FuzzTarget("dialogue", upTo: 4000, judges: false) { converse($0) },
  ]

  /// A message of every type: each must encode to what it was read from.
  private static func read(_ number: UInt16, _ body: [UInt8]) throws -> Bool {
    guard let type = MessageType(rawValue: number) else { return false }
    func read<Message: PeerMessage>(_ message: Message.Type) throws {
      require(message.type == type, "a type belongs to its number")
      let value = try Message.decode(body, limit: type.byteLimit)
      require(encoding(of: value) == expected(body, message), "\(type) encodes to the bytes it was read from")
    }
    switch type {
    case .hello: try read(Hello.self)
    case .unsupported: try read(Unsupported.self)
    case .ping: try read(Ping.self)
    case .pong: try read(Pong.self)
    case .probe: try read(Probe.self)
    case .probeAnswer: try read(ProbeAnswer.self)
    case .offer: try read(Offer.self)
    case .offerAnswer: try read(OfferAnswer.self)
    case .piece: try read(Piece.self)
    case .depositEnd: try read(DepositEnd.self)
    case .depositResult: try read(DepositResult.self)
    case .releaseRequest: try read(ReleaseRequest.self)
    case .challenge: try read(Challenge.self)
    case .possession: try read(Possession.self)
    case .release: try readRelease(body)
    case .refusal: try read(Refusal.self)
    case .pieceRequest: try read(PieceRequest.self)
    case .provenPiece: try read(ProvenPiece.self)
    case .piecesEnd: try read(PiecesEnd.self)
    case .drillRequest: try read(DrillRequest.self)
    case .drillChallenge: try read(DrillChallenge.self)
    case .drillProof: try read(DrillProof.self)
    case .drillAnswer: try read(DrillAnswer.self)
    case .drillRefusal: try read(DrillRefusal.self)
    case .drillPieceRequest: try read(DrillPieceRequest.self)
    case .drillPiece: try read(DrillPiece.self)
    case .drillPiecesEnd: try read(DrillPiecesEnd.self)
    case .itemOffer: try read(ItemOffer.self)
    case .itemAnswer: try read(ItemAnswer.self)
    case .itemPiece: try read(ItemPiece.self)
    case .itemEnd: try read(ItemEnd.self)
    case .itemResult: try read(ItemResult.self)
    case .sealedRelease: try openRelease(body)
    case .lifecycleRequest: try read(LifecycleRequest.self)
    case .lifecycleItem: try read(LifecycleItem.self)
    case .lifecycleEnd: try read(LifecycleEnd.self)
    case .lifecycleResult: try read(LifecycleResult.self)
    case .introduction: try read(Introduction.self)
    case .introductionResult: try read(IntroductionResult.self)
    case .cardRequest: try read(CardRequest.self)
    case .cards: try read(Cards.self)
    case .groupLetter: try read(GroupLetter.self)
    case .groupReply: try read(GroupReply.self)
    case .courierGreeting: try read(CourierGreeting.self)
    case .courierOffers: try read(CourierOffers.self)
    case .courierReplies: try read(CourierReplies.self)
    case .courierPiece: try read(CourierPiece.self)
    case .courierTaken: try read(CourierTaken.self)
    case .courierTurn: try read(CourierTurn.self)
    case .courierEnd: try read(CourierEnd.self)
    }
    return true
  }

  /// The bytes that a message encodes to. A reason that only later versions know is read as a failure of the peer's.
  private static func expected<Message: PeerMessage>(_ body: [UInt8], _ message: Message.Type) -> [UInt8] {
    let withReason: [any PeerMessage.Type] = [
      ProbeAnswer.self, OfferAnswer.self, DepositResult.self, Refusal.self, PiecesEnd.self, DrillRefusal.self,
      DrillPiecesEnd.self, IntroductionResult.self, LifecycleResult.self, ItemAnswer.self, ItemResult.self,
      GroupReply.self,
    ]
    // Behind the reason of a refusal there may be a time, behind that of a reply what was asked for.
    let place = message == Refusal.self || message == GroupReply.self ? 8 : body.count - 1
    guard withReason.contains(where: { $0 == message }), body.indices.contains(place), body[place] != 0,
      RefusalReason(rawValue: body[place]) == nil
    else { return body }
    return body.with(place, [RefusalReason.internalFailure.rawValue])
  }

  private static func openRelease(_ body: [UInt8]) throws {
    let example = ParcelTargets.example
    let release = try SealedRelease.open(body.span.bytes, with: example.replyKey)
    let share = exposed(release.share.bytes)
    require(share == (try? example.example.shareBytes(3)), "a release that opens is the one that was sealed")
  }

  private static func readRelease(_ body: [UInt8]) throws {
    let release = try Release.decode(body.span.bytes)
    let again = try publicBytes(count: Release.byteCount) { writer throws(WireError) in
      try Release.encode(request: release.request, share: release.share, salt: release.salt, into: &writer)
    }
    require(again == body, "a release encodes to the bytes it was read from")
  }

  /// A session's worth of requests. Checks what the answerer's machine promises about their order.
  private static func converse(_ bytes: [UInt8]) -> Bool {
    var tape = Tape(bytes)
    let opening = [UInt8](repeating: 7, count: 32)
    var dialogue = Exchanges(opening: opening)
    var hasGreeted = false
    var hasAsked = false
    // What may have been sent ahead: behind an offer, and behind a proof.
    var offered: (request: UInt64, from: UInt64, pieces: Int, bytes: Int)?
    var refused: UInt64?
    var deposit: UInt64?
    var challenge: (request: UInt64, nonce: [UInt8], isDrill: Bool)?
    var drill: (request: UInt64, pieces: Int)?
    var item: UInt64?
    var lifecycle: (request: UInt64?, refused: UInt64?, bytes: Int) = (nil, nil, 0)
    var releases: Set<UInt64> = []
    var withheld: UInt64?
    var introductions = 0
    var meetings = MeetingCheck()
    while tape.hasMore {
      guard let request = request(&tape) else { continue }
      let step: Exchanges.Step
      do throws(ProtocolError) { step = try dialogue.receive(request) } catch { return false }
      let mayAsk = refused
      refused = nil
      switch step {
      case .greet: require(!hasGreeted, "there is one greeting")
      default: require(hasGreeted, "the greeting comes first")
      }
      switch step {
      case .deposit(.store), .deposit(.complete): require(deposit != nil, "pieces belong to a deposit")
      case .deposit(.drop), .release(.drop): require(item == nil && challenge == nil, "one thing is done after another")
      case .item(.piece), .item(.end): require(item != nil, "pieces belong to an item")
      case .lifecycle(.take), .lifecycle(.end): require(lifecycle.request != nil, "objects belong to a question")
      case .release(.judge), .drill(.judge): break
      default:
        require(
          deposit == nil && item == nil && challenge == nil && lifecycle.request == nil,
          "one thing is done after another")
      }
      if case .meeting = step {} else { require(!meetings.isRunning, "a meeting isn't interrupted") }
      switch step {
      case .greet: hasGreeted = true
      case .deposit(.considerOffer(let offer)):
        offered = (offer.request, .max, 0, 0)
        let choice = tape.byte()
        if choice & 1 == 1 {
          let from = UInt64(choice >> 1 & 3)
          dialogue.deposit.began(offer, from: from)
          deposit = offer.request
          offered?.from = from
        }
      case .deposit(.store(let piece)):
        require(piece.request == deposit, "a piece has its deposit's number")
        require(piece.number >= offered?.from ?? .max, "only what is wanted is stored")
      case .deposit(.drop), .release(.drop):
        switch request.content {
        case .deposit(.piece(let piece)):
          require(
            piece.request == offered?.request && (deposit == nil || piece.number < offered?.from ?? 0),
            "what is wanted is not dropped")
          offered?.pieces += 1
          offered?.bytes += piece.bytes.count
          require(offered?.pieces ?? 0 <= 16 && offered?.bytes ?? 0 <= 65_536, "little is sent ahead")
        case .deposit(.end(let end)):
          require(end.request == offered?.request && deposit == nil, "a deposit under way is ended")
          offered = nil
        case .release(.pieces(let pieces)):
          require(pieces.request == mayAsk, "pieces are asked for with their proof")
        default: violated("nothing else is sent ahead")
        }
      case .deposit(.complete(let end)):
        require(end.request == deposit, "a deposit ends under its own number")
        deposit = nil
        offered = nil
      case .item(.offer(let offer)):
        if tape.flag() {
          dialogue.item.began(offer)
          item = offer.request
        }
      case .item(.piece(let piece)): require(piece.request == item, "a piece has its item's number")
      case .item(.end(let end)):
        require(end.request == item, "an item ends under its own number")
        item = nil
      case .release(.awaitProof(let request)):
        require(!hasAsked, "the session is a challenge once")
        hasAsked = true
        challenge = (request.request, opening, false)
      case .release(.challenge(let request)):
        require(hasAsked, "the first request needs no nonce")
        require(!releases.contains(request.request), "a number is released once")
        let nonce = tape.bytes(exactly: 32)
        dialogue.release.challenged(request, nonce: nonce)
        challenge = (request.request, nonce, false)
      case .drill(.challenge(let request)):
        let nonce = tape.bytes(exactly: 32)
        dialogue.drill.challenged(request, nonce: nonce)
        challenge = (request.request, nonce, true)
        drill = nil
      case .drill(.judge(let proof, let request, let nonce)):
        require(
          proof.possession.request == request.request && challenge?.request == request.request
            && challenge?.nonce == nonce && challenge?.isDrill == true, "a drill's proof is judged by its own nonce")
        challenge = nil
        guard tape.flag() else { continue }
        dialogue.drill.drilled(request: request.request)
        drill = (request.request, 0)
      case .drill(.showPieces(let request)):
        require(drill?.request == request.request, "pieces are shown for the last drill")
        drill?.pieces += request.numbers.count
        require(drill?.pieces ?? 0 <= DrillAnswerer.pieceLimit, "a drill sees no more pieces than it may")
      case .release(.judge(let possession, let request, let nonce)):
        require(
          possession.request == request.request && challenge?.request == request.request
            && challenge?.nonce == nonce && challenge?.isDrill == false, "a proof is judged by the nonce drawn for it")
        challenge = nil
        guard tape.flag() else {
          refused = request.request
          continue
        }
        do throws(ProtocolError) { try dialogue.release.released(request: request.request) } catch {
          require(releases.count == ReleaseAnswerer.limit, "the limit of releases is what it says")
          return false
        }
        releases.insert(request.request)
      case .meeting(let message): meetings.take(message, &dialogue, &tape)
      case .release(.sendPieces(let request)):
        require(releases.contains(request.request), "pieces follow a release")
      case .release(.withholdPieces(let request)):
        require(request.request == withheld, "pieces are withheld behind a question about holders")
      case .lifecycle(let step):
        follow(step, request, &lifecycle)
        if case .end(let end) = step {
          withheld = end.request
          dialogue.release.withhold(request: end.request)
        }
        guard case .answer = step, tape.flag() else { continue }
        dialogue.lifecycle.refused()
        lifecycle = (nil, lifecycle.request, 0)
      case .introduction(.cards(let request)):
        require(
          releases.contains(request.request) || drill?.request == request.request, "cards are given behind a proof")
      case .introduction(.introduction):
        introductions += 1
        require(introductions <= IntroductionAnswerer.introductionLimit, "a session has few introductions")
      case .pong, .deposit(.considerProbe), .groupLetter, .unsupported: break
      }
    }
    return true
  }

  /// What a question about a secret's holders brings: `state` is which one runs, which was refused, and its bytes.
  private static func follow(
    _ step: LifecycleAnswerer.Step, _ request: Exchanges.Request,
    _ state: inout (request: UInt64?, refused: UInt64?, bytes: Int)
  ) {
    switch (step, request.content) {
    case (.answer(let question), _): state = (question.request, nil, 0)
    case (.take, .lifecycle(.item(let item))):
      state.bytes += item.bytes.count
      require(item.request == state.request, "an object has its question's number")
      require(state.bytes <= LifecycleAnswerer.byteLimit, "a question brings no more bytes than it may")
    case (.end(let end), _):
      require(end.request == state.request, "a question ends under its own number")
      state.request = nil
    case (.drop, .lifecycle(.item(let item))):
      require(item.request == state.refused && state.request == nil, "what is wanted is not dropped")
    case (.drop, .lifecycle(.end(let end))):
      require(end.request == state.refused && state.request == nil, "only what was refused is dropped")
      state.refused = nil
    default: violated("only objects and ends follow a question")
    }
  }

  /// A request of few numbers, so that they meet.
  private static func request(_ tape: inout Tape) -> Exchanges.Request? {
    let example = HeaderTargets.example
    let kind = tape.byte() % 29
    let number = UInt64(tape.byte() & 3)
    let message: any PeerMessage
    switch kind {
    case 0: message = Hello(services: [.deposit])
    case 1: message = Ping(request: number)
    case 2: message = Probe(request: number, fragmentByteCount: tape.anyNumber())
    case 3: message = Offer(request: number, index: tape.byte(), sealedShare: [], header: [])
    case 4: message = Piece(request: number, number: tape.anyNumber(), bytes: [])
    case 5: message = DepositEnd(request: number)
    case 6:
      let digest = example.header.digest
      message = ReleaseRequest(request: number, tag: digest, headerDigest: digest, epoch: 0)
    case 7: message = Possession(request: number, index: 1, salt: example.salts[0], proof: ShareTargets.proof)
    case 8: message = PieceRequest(request: number, first: tape.anyNumber(), count: 1)
    case 9: return try? Exchanges.Request(number: tape.u16(), body: [UInt8]().span.bytes, isPeer: true)
    case 10:
      let digest = example.header.digest
      message = DrillRequest(request: number, tag: digest, headerDigest: digest, epoch: 0)
    case 11:
      let possession = Possession(request: number, index: 1, salt: example.salts[0], proof: ShareTargets.proof)
      message = DrillProof(possession: possession, nonce: example.salts[1])
    case 12:
      let numbers = (0..<UInt64(tape.byte() % 64 + 1)).map { $0 }
      message = DrillPieceRequest(request: number, numbers: numbers)
    case 13: message = ItemOffer(request: number, digest: example.header.digest, header: [])
    case 14: message = ItemPiece(request: number, number: tape.anyNumber(), bytes: [])
    case 15: message = ItemEnd(request: number)
    case 16: message = GroupLetter(request: number, purpose: .joining, content: [])
    case 23:
      message = Introduction(request: number, secret: example.header.id, index: tape.byte(), sealed: [])
    case 24: message = CardRequest(request: number, known: [])
    case 25: message = LifecycleRequest(request: number, tag: nil, proof: nil, known: [])
    case 26:
      let object = LifecycleTargets.objects[Int(tape.byte()) % LifecycleTargets.objects.count]
      message = LifecycleItem(request: number, kind: object.kind, bytes: object.bytes)
    case 27: message = LifecycleEnd(request: number)
    case 18...22: message = MeetingCheck.message(kind, number, &tape)
    default: return try? Exchanges.Request(number: tape.u16(), body: tape.bytes().span.bytes, isPeer: true)
    }
    do { return try Exchanges.Request(message) } catch { violated("a message is read as it was written: \(error)") }
  }
}
