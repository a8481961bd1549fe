import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// Hears what a peer knows about how a secret changes hands, and says what this device does.
struct LifecycleAsker: Asker {
  let circles: Circles
  let id: SecretID
  /// Proves that this device may hear it; nil for who has no share yet.
  let own: OwnShare?
  /// What tells the peer of the secret, where it is to take a share of it.
  var invitation: LifecycleObject?
  /// Whether pieces of the peer's fragment are wanted in the same conversation.
  var goesOn = false

  struct OwnShare: Sendable {
    let epoch: Epoch
    let held: HeldShare
    let evaluation: RistrettoPoint
  }

  struct Answer: Sendable {
    /// Whether something was new here.
    let isNews: Bool
    /// What the peer knows by now; nil if it may be told nothing.
    let known: Set<ObjectMark>?
    let request: UInt64
    let conversation: Conversation
    /// Milliseconds from the question on.
    let took: Double
  }

  var byteCount: UInt64 { 0 }
  var behind: ConversationEnd { goesOn ? .inUse : .closed }

  func ask(_ request: UInt64, _ conversation: Conversation) async throws(LinkFailure) -> Answer {
    try await conversation.require(.lifecycle)
    let objects = try here { () throws in
      [invitation].compactMap(\.self) + (try circles.circle(of: id).map { circles.told($0) } ?? [])
    }
    var byMark: [ObjectMark: LifecycleObject] = [:]
    for object in objects { byMark[try here { () throws in try object.digest().mark }] = object }
    var heard = Heard(request: request, conversation)
    try await conversation.send(
      try question(
        request, byMark.keys.sorted(), verifier: conversation.recipient.keys.digest,
        binding: conversation.session.handshakeHash, kind: .session))
    let wanted = try await heard.toEnd(of: conversation)
    let isNews = try here { () throws in try circles.take(heard.objects, of: id) }
    let isWanted = Set(wanted)
    // Who neither holds a share nor is to have one is told nothing, whatever it wants.
    let mayHear = try here { () throws in try circles.mayHear(conversation.recipient.keys.digest, of: id) }
    var room = LifecycleAnswerer.byteLimit
    var known = mayHear ? Set(byMark.keys) : nil
    for object in try here({ () throws in try heard.objects.map { try $0.digest().mark } }) { known?.insert(object) }
    for object in objects {
      let mark = try here { () throws in try object.digest().mark }
      guard isWanted.contains(mark), mayHear || object.kind == .header else { continue }
      let bytes = try here { () throws in try object.encoded() }
      guard bytes.count <= room else {
        // The rest, in its order, when the peer is asked next.
        room = 0
        known?.remove(mark)
        continue
      }
      room -= bytes.count
      try await conversation.send(LifecycleItem(request: request, kind: object.kind, bytes: bytes))
    }
    try await conversation.send(LifecycleEnd(request: request))
    let result = try await conversation.receive(LifecycleResult.self)
    guard result.request == request else { throw .notAsked }
    if let refusal = result.refusal { throw .refused(refusal) }
    return Answer(
      isNews: isNews, known: known, request: request, conversation: conversation, took: heard.line.elapsed)
  }

  /// The question, with the proof of a share: bound to the session or the parcel that it goes in.
  func question(
    _ request: UInt64, _ known: [ObjectMark], verifier: Digest, binding: Digest, kind: ProofContext.Kind
  ) throws(LinkFailure) -> LifecycleRequest {
    do {
      let tag = try AskTag.of(id)
      var proof: LifecycleProof?
      if let own {
        let exchange = PossessionExchange(
          own.epoch, purpose: .lifecycle, prover: circles.identity.keys.digest, verifier: verifier, kind: kind,
          binding: binding,
          nonce: try LifecycleRequest.challenge(binding: binding, tag: tag, request: request))
        let possession = try exchange.prove(
          request: request, share: own.held.share, salt: own.held.salt, evaluation: own.evaluation)
        proof = LifecycleProof(
          record: own.epoch.digest, number: own.epoch.number, index: possession.index, salt: possession.salt,
          proof: possession.proof)
      }
      return LifecycleRequest(request: request, tag: tag, proof: proof, known: known)
    } catch {
      throw LinkFailure(.local, "can't be shown a proof: this device's own share does not verify")
    }
  }
}

/// Hears in which secrets a peer has a place for this device.
struct PlacesAsker: Asker {
  struct Place: Sendable {
    let header: SecretHeader
    /// The card digest that the peer knows the dealer by.
    let dealer: Digest
    /// The card in whose place it has put this device.
    let former: Digest?
  }

  var byteCount: UInt64 { 0 }

  func ask(_ request: UInt64, _ conversation: Conversation) async throws(LinkFailure) -> [Place] {
    try await conversation.require(.lifecycle)
    var heard = Heard(request: request, conversation)
    try await conversation.send(LifecycleRequest(request: request, tag: nil, proof: nil, known: []))
    _ = try await heard.toEnd(of: conversation)
    try await conversation.send(LifecycleEnd(request: request))
    let result = try await conversation.receive(LifecycleResult.self)
    guard result.request == request else { throw .notAsked }
    return heard.objects.places
  }
}

extension [LifecycleObject] {
  /// The places that a peer names to this device.
  var places: [PlacesAsker.Place] {
    compactMap { object in
      guard case .header(let header, let dealer, let former) = object else { return nil }
      return PlacesAsker.Place(header: header, dealer: dealer, former: former)
    }
  }
}

/// What a peer says until its end.
private struct Heard {
  let request: UInt64
  private(set) var objects: [LifecycleObject] = []
  private var byteCount = 0
  private(set) var line: SlowLine

  init(request: UInt64, _ conversation: Conversation) {
    self.request = request
    line = SlowLine(conversation.environment)
  }

  /// Returns what the peer wants.
  mutating func toEnd(of conversation: Conversation) async throws(LinkFailure) -> [ObjectMark] {
    while true {
      let received = try await conversation.receiveAny()
      if received.type == LifecycleResult.type.rawValue {
        let result = try conversation.parse(received, as: LifecycleResult.self)
        guard result.request == request, let refusal = result.refusal else { throw .notAsked }
        throw .refused(refusal)
      }
      guard received.type == LifecycleItem.type.rawValue else {
        let end = try conversation.parse(received, as: LifecycleEnd.self)
        guard end.request == request else { throw .notAsked }
        return end.wanted
      }
      let item = try conversation.parse(received, as: LifecycleItem.self)
      byteCount += item.bytes.count
      guard item.request == request, byteCount <= LifecycleAnswerer.byteLimit else { throw .notAsked }
      line.moved(item.bytes.count)
      try line.check()
      do { objects.append(try LifecycleObject(item.kind, item.bytes)) } catch { throw LinkFailure(error) }
    }
  }
}

/// What this device can't do itself.
private func here<Value>(_ body: () throws -> Value) throws(LinkFailure) -> Value {
  do { return try body() } catch let error as ProtocolError { throw LinkFailure(error) } catch {
    throw LinkFailure(local: error)
  }
}
