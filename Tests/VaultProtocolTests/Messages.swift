import ShamirKit
import Sodium
import WireCodec

@testable import VaultProtocol

/// One public message of every type, with random contents; several where a type has several shapes.
func sampleMessages() throws -> [any PeerMessage] {
  let request = UInt64.random(in: 0...(.max))
  let refusal = RefusalReason.allCases.randomElement()
  let path = try MerklePath(siblings: (0..<Int.random(in: 0...3)).map { _ in try randomDigest() })
  return [
    Hello(services: PeerServiceKind.allCases), Hello(services: []), Unsupported(requestType: .random(in: 0...(.max))),
    Ping(request: request), Pong(request: request),
    Probe(request: request, fragmentByteCount: .random(in: 0...(.max))),
    ProbeAnswer(request: request, refusal: nil), ProbeAnswer(request: request, refusal: refusal),
    Offer(
      request: request, index: .random(in: 0...(.max)), sealedShare: try Randomness.bytes(264),
      header: try Randomness.bytes(.random(in: 0...500))),
    OfferAnswer(request: request, verdict: .wants(from: .random(in: 0...(.max)))),
    OfferAnswer(request: request, verdict: .complete), OfferAnswer(request: request, verdict: .refused(.diskFull)),
    OfferAnswer(request: request, verdict: .asking(seconds: .random(in: 1...OfferAnswer.askingLimit))),
    Piece(request: request, number: .random(in: 0...(.max)), bytes: try Randomness.bytes(.random(in: 0...500))),
    DepositEnd(request: request), DepositResult(request: request, refusal: nil),
    DepositResult(request: request, refusal: refusal),
    ReleaseRequest(
      request: request, tag: try randomDigest(), headerDigest: try randomDigest(), epoch: .random(in: 0...(.max))),
    Challenge(request: request, nonce: try Randomness.bytes(32)),
    Possession(
      request: request, index: .random(in: 0...(.max)), salt: try Randomness.bytes(32), proof: try sampleProof()),
    Refusal(request: request, reason: .unavailable), Refusal(request: request, reason: .userAsked),
    Refusal(request: request, reason: .releaseDelayed, wait: .random(in: 1...Refusal.waitLimit)),
    PieceRequest(request: request, first: .random(in: 0...(.max)), count: .random(in: 1...PieceRequest.countLimit)),
    ProvenPiece(request: request, number: 3, path: path, bytes: try Randomness.bytes(.random(in: 0...500))),
    PiecesEnd(request: request, refusal: nil), PiecesEnd(request: request, refusal: refusal),
  ] + (try sampleDrillMessages(request, refusal, path)) + (try sampleItemMessages(request, refusal))
    + (try sampleLifecycleMessages(request, refusal))
    + (try sampleMeetingMessages(request)) + (try sampleIntroductionMessages(request, refusal))
}

private func sampleIntroductionMessages(_ request: UInt64, _ refusal: RefusalReason?) throws -> [any PeerMessage] {
  [
    Introduction(
      request: request, secret: SecretID(high: .random(in: 0...(.max)), low: .random(in: 0...(.max))),
      index: .random(in: 0...(.max)),
      sealed: try Randomness.bytes(.random(in: 0...500))),
    IntroductionResult(request: request, refusal: nil), IntroductionResult(request: request, refusal: refusal),
    CardRequest(request: request, known: []),
    CardRequest(
      request: request,
      known: [.init(index: 1, serial: .random(in: 0...(.max))), .init(index: .random(in: 2...255), serial: 0)]),
    Cards(request: request, cards: []),
    Cards(
      request: request,
      cards: [
        HolderCard(index: 3, bytes: try Randomness.bytes(.random(in: 0...500))), HolderCard(index: 255, bytes: []),
      ]),
  ]
}

private func sampleDrillMessages(
  _ request: UInt64, _ refusal: RefusalReason?, _ path: MerklePath
) throws -> [any PeerMessage] {
  let possession = Possession(
    request: request, index: .random(in: 0...(.max)), salt: try Randomness.bytes(32), proof: try sampleProof())
  return [
    DrillRequest(
      request: request, tag: try randomDigest(), headerDigest: try randomDigest(), epoch: .random(in: 0...(.max))),
    DrillChallenge(request: request, nonce: try Randomness.bytes(32)),
    DrillProof(possession: possession, nonce: try Randomness.bytes(32)), DrillAnswer(possession: possession),
    DrillRefusal(request: request, reason: .invalidShare),
    DrillPieceRequest(request: request, numbers: [0]),
    DrillPieceRequest(request: request, numbers: [3, 5, .random(in: 6...(.max))]),
    DrillPiece(request: request, number: 3, path: path, bytes: try Randomness.bytes(.random(in: 0...500))),
    DrillPiecesEnd(request: request, refusal: nil), DrillPiecesEnd(request: request, refusal: refusal),
  ]
}

private func sampleLifecycleMessages(_ request: UInt64, _ refusal: RefusalReason?) throws -> [any PeerMessage] {
  let proof = LifecycleProof(
    record: try randomDigest(), number: .random(in: 0...(.max)), index: .random(in: 0...(.max)),
    salt: try Randomness.bytes(32), proof: try sampleProof())
  return [
    LifecycleRequest(request: request, tag: nil, proof: nil, known: []),
    LifecycleRequest(request: request, tag: try randomDigest(), proof: nil, known: [0, 5, .max]),
    LifecycleRequest(request: request, tag: try randomDigest(), proof: proof, known: []),
    LifecycleItem(request: request, kind: .joining, bytes: try Randomness.bytes(.random(in: 0...500))),
    LifecycleEnd(request: request), LifecycleEnd(request: request, wanted: [7]),
    LifecycleResult(request: request, refusal: nil), LifecycleResult(request: request, refusal: refusal),
  ]
}

private func sampleItemMessages(_ request: UInt64, _ refusal: RefusalReason?) throws -> [any PeerMessage] {
  [
    ItemOffer(request: request, digest: try randomDigest(), header: try Randomness.bytes(.random(in: 0...500))),
    ItemAnswer(request: request, verdict: .wants(from: .random(in: 0...(.max)))),
    ItemAnswer(request: request, verdict: .refused(.keyNotHeld)),
    ItemPiece(request: request, number: .random(in: 0...(.max)), bytes: try Randomness.bytes(.random(in: 0...500))),
    ItemEnd(request: request), ItemResult(request: request, refusal: nil),
    ItemResult(request: request, refusal: refusal),
    GroupLetter(
      request: request, purpose: GroupLetter.Purpose.allCases.randomElement() ?? .joining,
      content: try Randomness.bytes(.random(in: 0...500))),
    GroupReply(request: request, outcome: .taken(try Randomness.bytes(.random(in: 0...500)))),
    GroupReply(request: request, outcome: .refused(.notInvited)),
  ]
}

/// A proof that parses: any point and any two scalars do.
func sampleProof() throws -> PossessionProof {
  let dealing = try Dealing.fresh(ThresholdScheme(threshold: 2, shareCount: 2))
  let share = try dealing.share(1)
  return try PossessionProof.decode(dealing.commitments.points[0].bytes + exposed(share.bytes), limit: 96)
}

/// The longest legal message of every public type.
func largestMessages() throws -> [any PeerMessage] {
  let siblings = try (0..<MerklePath.siblingLimit).map { _ in try randomDigest() }
  let piece = [UInt8](repeating: 1, count: 65536)
  let entry = [UInt8](repeating: 2, count: Extensions.byteLimit - 4)
  let services = (UInt16(1)...64).flatMap { bigEndian($0) }
  let section = bigEndian(UInt16(Extensions.byteLimit)) + [0, 1] + bigEndian(UInt16(entry.count)) + entry
  return try [
    try Hello.decode([0, 1, 0, 64] + services + section, limit: .max),
    Offer(
      request: .max, index: 255, sealedShare: [UInt8](repeating: 3, count: 512),
      header: [UInt8](repeating: 4, count: SecretHeader.byteLimit)),
    Piece(request: .max, number: .max, bytes: piece),
    ProvenPiece(request: .max, number: .max, path: MerklePath(siblings: siblings), bytes: piece),
    DrillPiece(request: .max, number: .max, path: MerklePath(siblings: siblings), bytes: piece),
    DrillPieceRequest(request: .max, numbers: (0..<UInt64(DrillPieceRequest.countLimit)).map { .max - 64 + $0 }),
    ItemOffer(request: .max, digest: randomDigest(), header: [UInt8](repeating: 4, count: ItemHeader.byteLimit)),
    ItemPiece(request: .max, number: .max, bytes: piece),
    LifecycleRequest(
      request: .max, tag: randomDigest(),
      proof: LifecycleProof(
        record: randomDigest(), number: .max, index: 255, salt: Randomness.bytes(32), proof: sampleProof()),
      known: (1...UInt64(LifecycleRequest.markLimit)).map { $0 }),
    LifecycleItem(
      request: .max, kind: .dealing, bytes: [UInt8](repeating: 9, count: LifecycleObject.byteLimit)),
    LifecycleEnd(
      request: .max, wanted: (1...UInt64(LifecycleRequest.markLimit)).map { $0 }),
    GroupLetter(request: .max, purpose: .joining, content: [UInt8](repeating: 5, count: GroupLetter.contentLimit)),
    GroupReply(request: .max, outcome: .taken([UInt8](repeating: 5, count: GroupReply.contentLimit))),
    Introduction(
      request: .max, secret: SecretID(high: 6, low: .max), index: 255,
      sealed: [UInt8](repeating: 7, count: IntroductionBundle.sealedByteLimit)),
    CardRequest(request: .max, known: (1...254).map { .init(index: $0, serial: .max) }),
    Cards(request: .max, cards: (1...254).map { HolderCard(index: $0, bytes: [UInt8](repeating: 8, count: 2048)) }),
  ] + largestMeetingMessages() + sampleMessages()
}

extension Exchanges.Request {
  /// A message as it would be read.
  init(_ message: any PeerMessage) throws {
    let body = try message.encoded()
    self = try Self(number: type(of: message).type.rawValue, body: body.span.bytes, isPeer: true)
  }

  /// The parsed message, encoded again; nil for a number without a meaning.
  func encodedAgain() throws(WireError) -> [UInt8]? {
    switch content {
    case .hello(let message): try message.encoded()
    case .ping(let message): try message.encoded()
    case .deposit(.probe(let message)): try message.encoded()
    case .deposit(.offer(let message)): try message.encoded()
    case .deposit(.piece(let message)): try message.encoded()
    case .deposit(.end(let message)): try message.encoded()
    case .release(.release(let message)): try message.encoded()
    case .release(.possession(let message)): try message.encoded()
    case .release(.pieces(let message)): try message.encoded()
    case .drill(.drill(let message)): try message.encoded()
    case .drill(.proof(let message)): try message.encoded()
    case .drill(.pieces(let message)): try message.encoded()
    case .item(.offer(let message)): try message.encoded()
    case .item(.piece(let message)): try message.encoded()
    case .item(.end(let message)): try message.encoded()
    case .groupLetter(let message): try message.encoded()
    case .lifecycle(.question(let message)): try message.encoded()
    case .lifecycle(.item(let message)): try message.encoded()
    case .lifecycle(.end(let message)): try message.encoded()
    case .introduction(.introduction(let message)): try message.encoded()
    case .introduction(.cards(let message)): try message.encoded()
    case .meeting(.greeting(let message)): try message.encoded()
    case .meeting(.offers(let message)): try message.encoded()
    case .meeting(.piece(let message)): try message.encoded()
    case .meeting(.taken(let message)): try message.encoded()
    case .meeting(.turn(let message)): try message.encoded()
    case .unknown: nil
    }
  }
}
