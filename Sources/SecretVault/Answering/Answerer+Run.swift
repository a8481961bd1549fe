import Concurrency
import PeerAuth
import Sodium
import VaultProtocol
import VaultStore

extension Answerer {
  /// Why answering has ended.
  enum Ending: Hashable, Sendable {
    /// All was heard.
    case goodbye
    /// The peer has broken a rule.
    case fault
    /// Something came between, here or on the way.
    case interrupted
  }

  /// Answers until the peer says goodbye, is silent for too long, breaks a rule, or is no longer trusted.
  @discardableResult
  mutating func run() async -> Ending {
    let log = room.environment.log
    let name = peer.name
    let what = parcelEnd == nil ? "session" : "parcel"
    var ending = Ending.interrupted
    do {
      while let request = try await next() {
        // Trust is checked at each request: removing a peer ends its sessions.
        guard isStillKnown() else {
          log.info("\(name) is no longer trusted; its \(what) ends")
          break
        }
        try await carryOut(dialogue.receive(request))
        // Requests that are there already would be answered without a pause: others have their turn after each.
        await Task.yield()
      }
    } catch let error as ProtocolError {
      ending = .fault
      if room.core.mayWrite(of: peer) { log.warning("\(name) \(VaultCore.words(error)); its \(what) ends") }
    } catch SessionError.timedOut {
      log.debug("\(name) was silent for too long")
    } catch is AwaitsUser {
      log.debug("a parcel of \(name) waits for this device's user")
    } catch {
      if case SessionError.malformed = error { ending = .fault }
      if case SessionError.messageTooLarge = error { ending = .fault }
      if room.core.mayWrite(of: peer) { log.info("\(name) \(VaultCore.words(error)); its \(what) ends") }
    }
    await abandonDeposit()
    abandonItem()
    await meetingNote?.end(ending == .fault ? .refused : .brokenOff)
    let isOver = hasHeardGoodbye
    try? await withDeadline(isOver ? room.environment.deadlines.idle : .seconds(2), sleeper: room.environment.sleep) {
      [channel] () async throws(SessionError) in
      if isOver { await channel.closeBehindPeer() } else { await channel.close() }
    }
    return isOver ? .goodbye : ending
  }

  private mutating func next() async throws -> PeerRequest? {
    let channel = channel
    let isPeer = peer.introducer == nil
    let received = try await withDeadline(room.environment.deadlines.idle, sleeper: room.environment.sleep) {
      () async throws(SessionError) in
      try await channel.receive { Self.isAllowed($0, isPeer: isPeer) ? MessageType.byteLimit($0) : nil }
    }
    guard !received.isGoodbye else {
      hasHeardGoodbye = true
      return nil
    }
    // To somebody who was introduced, everything else has no meaning here.
    guard Self.isAllowed(received.type, isPeer: isPeer) else { return .unknown(received.type) }
    return try PeerRequest(number: received.type, body: received.body.bytes)
  }

  private static func isAllowed(_ number: UInt16, isPeer: Bool) -> Bool {
    isPeer || MessageType(rawValue: number)?.isOpenToIntroduced == true
  }

  private mutating func carryOut(_ step: AnswererDialogue.Step) async throws {
    switch step {
    case .greet(let hello):
      knowsConsent = hello.offers(.consent)
      knowsIntroductions = hello.offers(.introductions)
      try await reply(
        Hello(services: peer.introducer == nil ? room.introductions.services : Introductions.introducedServices))
    case .pong(let pong): try await reply(pong)
    case .unsupported(let number): try await reply(Unsupported(requestType: number))
    case .considerProbe(let probe):
      try await reply(
        ProbeAnswer(request: probe.request, refusal: refusal(adding: probe.fragmentByteCount)))
    case .considerOffer(let offer): try await consider(offer)
    case .store(let piece): store(piece)
    case .completeDeposit(let end): try await complete(end)
    case .considerItem(let offer): try await consider(offer)
    case .storeItem(let piece): store(piece)
    case .completeItem(let end): try await complete(end)
    case .drop, .awaitProof: break
    case .challenge(let request): try await challenge(request)
    case .judge(let possession, let request, let nonce): try await judge(possession, request, nonce)
    case .sendPieces(let request): try await sendPieces(request)
    case .challengeDrill(let request): try await challenge(request)
    case .judgeDrill(let proof, let request, let nonce): try await judge(proof, request, nonce)
    case .showPieces(let request): try await showPieces(request)
    case .considerLetter(let letter): try await consider(letter)
    case .considerCourier(let message): try await meet(message)
    case .considerIntroduction(let introduction): try await consider(introduction)
    case .giveCards(let request): try await give(request)
    }
  }
}
