import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol

extension DrillAsker: Asker {
  var byteCount: UInt64 { 0 }
  /// Answers that have come are told already.
  var isRepeatable: Bool { false }

  /// Asks all questions, one after the other, in one session. A holder that refuses or fails one is asked the next; only what
  /// leaves the session unusable is thrown.
  func ask(_ id: UInt64, _ conversation: Conversation) async throws(LinkFailure) {
    try await conversation.require(.drill)
    var line = SlowLine(conversation.environment)
    var due: [JoiningExchange] = []
    for (place, question) in questions.enumerated() {
      let request = id &+ UInt64(place)
      try line.check()
      switch try await answer(request, question, conversation) {
      case .failed(let failure):
        found(place, .failed(failure))
        if failure.refusal == .unavailable, let joinings = question.joinings, joinings.isDue(nil) {
          due.append(joinings)
        }
      case .proven(let index, let reach):
        var finding = try await pieces(request, question, index, conversation, &line)
        finding.reach = reach
        found(place, finding)
        if let exchange = question.cards { try await exchange.exchange(request, conversation) }
        if let joinings = question.joinings, joinings.isDue(index) { due.append(joinings) }
      }
    }
    // Behind all questions: whatever comes of these, the findings stand.
    for (place, joinings) in due.enumerated() {
      try line.check()
      try await joinings.run(id &+ UInt64(questions.count + place), conversation)
    }
  }

  private enum DrilledShare {
    case proven(UInt8, HolderReach?)
    case failed(LinkFailure)
  }

  /// Proves the own share, then checks the holder's proof of its own.
  private func answer(
    _ id: UInt64, _ question: Question, _ conversation: Conversation
  ) async throws(LinkFailure) -> DrilledShare {
    let (epoch, header) = (question.epoch, question.header)
    let tag: Digest
    let nonce: [UInt8]
    do {
      tag = try AskTag.of(header.id)
      nonce = try Randomness.bytes(32)
    } catch { throw LinkFailure(.sodium(error)) }
    try await conversation.send(DrillRequest(request: id, tag: tag, headerDigest: epoch.digest, epoch: epoch.number))
    let challenge = try await conversation.receive(DrillChallenge.self)
    guard challenge.request == id else { throw .notAsked }
    let peer = conversation.recipient.keys.digest
    let binding = conversation.session.handshakeHash
    let possession: Possession
    do {
      possession = try PossessionExchange(
        epoch, purpose: .drill, role: .requester, prover: prover, verifier: peer, binding: binding,
        nonce: challenge.nonce
      ).prove(request: id, share: question.own.share, salt: question.own.salt, evaluation: question.evaluation)
    } catch {
      throw LinkFailure(.local, "can't be shown a proof: this device's own share does not verify")
    }
    try await conversation.send(DrillProof(possession: possession, nonce: nonce))
    let received = try await conversation.receiveAny()
    if received.type == MessageType.drillRefusal.rawValue {
      let refusal = try conversation.parse(received, as: DrillRefusal.self)
      guard refusal.request == id else { throw .notAsked }
      return .failed(.refused(refusal.reason))
    }
    let said = try conversation.parse(received, as: DrillAnswer.self)
    let answer = said.possession
    guard answer.request == id else { throw .notAsked }
    do throws(ProtocolError) {
      try PossessionExchange(
        epoch, purpose: .drill, role: .holder, prover: peer, verifier: prover, binding: binding,
        nonce: nonce
      ).verify(answer, ownIndex: question.own.share.index) { (index) throws(ProtocolError) in
        do throws(ShamirError) { return try epoch.commitments.evaluation(at: index) } catch { throw .rejected(error) }
      }
    } catch {
      return .failed(LinkFailure(.misbehaved, "sent a proof of its share that does not verify", refusal: .invalidShare))
    }
    return .proven(answer.index, said.reach)
  }

  /// Asks for pieces drawn at random, over Bluetooth for no more than may go there, and checks each against the root of the holder's fragment.
  private func pieces(
    _ id: UInt64, _ question: Question, _ index: UInt8, _ conversation: Conversation,
    _ line: inout SlowLine
  ) async throws(LinkFailure) -> DrillFinding {
    let header = question.header
    var count = question.pieceCount
    if let limit = conversation.byteLimit {
      count = min(count, Int(clamping: limit / UInt64(max(1, header.dispersal.pieceByteCount(0)))))
    }
    let numbers: [UInt64]
    do { numbers = try PieceSample.draw(count, of: header.dispersal.stripeCount) } catch {
      throw LinkFailure(.sodium(error))
    }
    var seen = 0
    for start in stride(from: 0, to: numbers.count, by: DrillPieceRequest.countLimit) {
      let wanted = Array(numbers[start..<min(start + DrillPieceRequest.countLimit, numbers.count)])
      let failure = try await batch(id, wanted, header, index, conversation, &line, &seen)
      // The holder lets less go over Bluetooth than this device: what was seen counts.
      if failure?.refusal == .bluetoothLimit { break }
      if let failure { return DrillFinding(index: index, piecesSeen: seen, failure: failure) }
    }
    return DrillFinding(index: index, piecesSeen: seen, failure: nil)
  }

  /// One request for pieces. Returns what is wrong with the fragment; throws what is wrong with the session.
  private func batch(
    _ id: UInt64, _ numbers: [UInt64], _ header: SecretHeader, _ index: UInt8, _ conversation: Conversation,
    _ line: inout SlowLine, _ seen: inout Int
  ) async throws(LinkFailure) -> LinkFailure? {
    try await conversation.send(DrillPieceRequest(request: id, numbers: numbers))
    let root: Digest
    do { root = try header.root(of: index) } catch { throw LinkFailure(error) }
    var damage: LinkFailure?
    for number in numbers {
      try line.check()
      let received = try await conversation.receiveAny()
      if received.type == MessageType.drillPiecesEnd.rawValue {
        let end = try conversation.parse(received, as: DrillPiecesEnd.self)
        guard end.request == id else { throw .notAsked }
        return .refused(end.refusal ?? .fragmentDamaged)
      }
      let piece = try conversation.parse(received, as: DrillPiece.self)
      guard piece.request == id, piece.number == number else {
        throw LinkFailure(ProtocolError.unexpectedPiece(number: piece.number))
      }
      line.moved(piece.bytes.count)
      do {
        _ = try piece.verified(number, of: id, header, index, root)
        seen += 1
      } catch {
        // The rest of the batch is on its way: it is read, so that the next question finds the session in order.
        damage = damage ?? LinkFailure(ProtocolError.pieceMismatch(number: number))
      }
    }
    let end = try await conversation.receive(DrillPiecesEnd.self)
    guard end.request == id else { throw .notAsked }
    return damage ?? end.refusal.map { LinkFailure.refused($0) }
  }
}
