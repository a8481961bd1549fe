import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// What a peer asks and says about how secrets change hands. Who has proved a share, or has a place, hears all of it; what comes is
/// taken from any peer, as each object says itself who made it.
extension Answerer {
  mutating func carryOut(_ step: LifecycleAnswerer.Step) async throws {
    switch step {
    case .answer(let question): try await answer(question)
    case .take(let object): lifecycle.objects.append(object)
    case .end(let end): try await keep(end)
    case .drop: break
    }
  }

  private mutating func answer(_ question: LifecycleRequest) async throws {
    lifecycle = AnsweredLifecycle()
    guard let tag = question.tag else { return try await nameplaces(question) }
    let answerer = self
    guard let known = try await offPool({ answerer.subject(question, tag) }) else {
      if try await offPool({ try answerer.mayInvite(question, tag) }) {
        lifecycle.invitation = tag
        return try await reply(LifecycleEnd(request: question.request, wanted: question.known))
      }
      exchanges.lifecycle.refused()
      return try await reply(LifecycleResult(request: question.request, refusal: .unavailable))
    }
    lifecycle.secret = known.circle.header.id
    lifecycle.hasProved = known.hasProved
    let marks = Set(question.known)
    var own: Set<ObjectMark> = []
    var room = AnswerRoom(isParcel: parcelEnd != nil)
    for object in known.objects {
      let mark = try object.digest().mark
      own.insert(mark)
      guard known.mayHear, !marks.contains(mark) else { continue }
      let bytes = try object.encoded()
      guard room.take(bytes.count) else { continue }
      try await reply(LifecycleItem(request: question.request, kind: object.kind, bytes: bytes))
    }
    if known.mayHear, !room.isFull { lifecycle.known = marks.union(own) }
    // Who hears nothing isn't told what is known here either.
    let wanted = known.mayHear ? marks.subtracting(own) : marks
    try await reply(LifecycleEnd(request: question.request, wanted: wanted.sorted()))
  }

  /// Whether a peer may say that this device shall take a share of a secret of which it knows nothing.
  private func mayInvite(_ question: LifecycleRequest, _ tag: Digest) throws -> Bool {
    guard peer.introducer == nil, question.proof != nil else { return false }
    guard let id = try room.circles.secret(tag: tag) else { return true }
    return try !room.circles.isAgreed(id)
  }

  /// The headers of the secrets in which the peer has a place.
  private mutating func nameplaces(_ question: LifecycleRequest) async throws {
    let answerer = self
    let places = try await offPool { () -> [LifecycleObject] in
      guard answerer.peer.introducer == nil else { return [] }
      let (circles, card) = (answerer.room.circles, answerer.peer.digest)
      let formers = try circles.formerCards(of: card)
      return try circles.places(for: card).map { record in
        let former = try formers.count < 2 ? formers.first : circles.former(of: card, in: circles.circle(of: record))
        return .header(try answerer.room.directory.header(of: record), dealer: record.dealer, former: former)
      }
    }
    var room = AnswerRoom(isParcel: parcelEnd != nil)
    for place in places {
      let bytes = try place.encoded()
      guard room.take(bytes.count) else { break }
      try await reply(LifecycleItem(request: question.request, kind: .header, bytes: bytes))
    }
    try await reply(LifecycleEnd(request: question.request))
  }

  /// How much of an answer is left: the rest goes in the next exchange, as each object stands behind what it follows from.
  private struct AnswerRoom {
    private var objects: Int
    private var bytes: Int
    private(set) var isFull = false

    init(isParcel: Bool) {
      let limits = LifecycleAnswerer.parcelLimits
      (objects, bytes) = isParcel ? (limits.objects, limits.bytes) : (.max, LifecycleAnswerer.byteLimit)
    }

    mutating func take(_ count: Int) -> Bool {
      isFull = isFull || objects == 0 || count > bytes
      guard !isFull else { return false }
      objects -= 1
      bytes -= count
      return true
    }
  }

  private struct Subject {
    let circle: Circle
    let mayHear: Bool
    let hasProved: Bool
    let objects: [LifecycleObject]
  }

  /// Nil for somebody who hears nothing, not even that there is such a secret.
  private func subject(_ question: LifecycleRequest, _ tag: Digest) -> Subject? {
    do {
      guard let id = try room.circles.secret(tag: tag), let who = asker(about: id),
        try room.circles.isAgreed(id), var circle = try room.circles.circle(of: id)
      else { return nil }
      let hasProved = try question.proof.map { try proves($0, question, tag, circle) } ?? false
      let isIn = try hasProved || (who.introducer == nil && room.circles.mayHear(who.digest, in: circle))
      // Who can't be known to hold a share yet may hold one of an epoch of which nothing has been heard here.
      guard isIn || question.proof != nil else { return nil }
      let record = try room.database.secret(id)
      if isIn, let record, record.ownIndex != nil {
        try room.circles.sayHeld(record)
        circle = try room.circles.circle(of: record)
      }
      return Subject(circle: circle, mayHear: isIn, hasProved: hasProved, objects: room.circles.told(circle))
    } catch {
      room.core.logFault("what a secret's holders are can't be told: this device \(VaultCore.words(error))")
      return nil
    }
  }

  private func proves(
    _ proof: LifecycleProof, _ question: LifecycleRequest, _ tag: Digest, _ circle: Circle
  ) throws -> Bool {
    guard let epoch = circle.epochs[proof.record], epoch.number == proof.number else { return false }
    let exchange = PossessionExchange(
      epoch, purpose: .lifecycle, prover: peer.digest, verifier: room.identity.keys.digest, kind: bindingKind,
      binding: channel.handshakeHash,
      nonce: try LifecycleRequest.challenge(binding: channel.handshakeHash, tag: tag, request: question.request))
    let possession = Possession(
      request: question.request, index: proof.index, salt: proof.salt, proof: proof.proof)
    return
      (try? exchange.verify(possession, ownIndex: nil) { (index) throws(ProtocolError) in
        try room.core.evaluations.evaluation(epoch, index)
      }) != nil
  }

  /// Keeps what has come, all or nothing, and says so.
  private mutating func keep(_ end: LifecycleEnd) async throws {
    let said = lifecycle
    let (objects, known, invitation) = (said.objects, said.secret, said.invitation)
    lifecycle = AnsweredLifecycle()
    let (circles, peer) = (room.circles, peer)
    let refusal = try await offPool { () throws -> RefusalReason? in
      do {
        if let invitation { try circles.invited(by: peer, invitation, objects) }
        guard let secret = known else { return nil }
        try circles.invitedAgain(by: peer, objects, of: secret)
        _ = try circles.take(objects, of: secret)
        // Who has asked by parcel, and gets all, needs no parcel that says the same.
        if let heard = said.known {
          let marks = heard.union(try objects.map { try $0.digest().mark })
          circles.knowledge.exchanged(
            .init(peer: peer.digest, secret: secret), marks, at: circles.environment.now())
        }
        return nil
      } catch let error as ProtocolError { throw error } catch StoreError.diskFull { return .diskFull } catch {
        circles.core.logFault("what was said about a secret can't be kept: this device \(VaultCore.words(error))")
        return .internalFailure
      }
    }
    if refusal == nil {
      exchanges.release.withhold(request: end.request)
      if let known { try await grantPieces(end.request, of: known, hasProved: said.hasProved) }
    }
    try await reply(LifecycleResult(request: end.request, refusal: refusal))
  }

  /// Behind the proof of a share, or for who has a row in a record that is known here by now: pieces of the own fragment
  /// may be asked for.
  private mutating func grantPieces(_ request: UInt64, of id: SecretID, hasProved: Bool) async throws {
    let (circles, card) = (room.circles, peer.digest)
    let index = try await offPool { () throws -> UInt8? in
      guard let record = try circles.database.secret(id), let index = record.ownIndex else { return nil }
      guard try hasProved || circles.circle(of: record).hasRow(card) else { return nil }
      return UInt8(exactly: index)
    }
    guard let index, let header = try? circles.circle(of: id)?.header,
      limitRefusal(header.dispersal.fragmentByteCount) == nil,
      (try? exchanges.release.released(request: request)) != nil
    else { return }
    releases.secrets[request] = (id, index)
  }
}
