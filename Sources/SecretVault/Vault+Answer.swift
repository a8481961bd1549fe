import Concurrency
package import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore
import WireCodec

extension Vault {
  /// Answers one incoming connection, to its end.
  package func answer(_ transport: any PeerTransport) async {
    let remote = transport.remoteDescription
    let session: PeerSession
    do {
      session = try await withDeadline(environment.deadlines.handshake, sleeper: environment.sleep) {
        [self] () async throws(SessionError) in
        try await PeerSession.answer(
          transport, identity: identity, card: { [self] () throws(SessionError) in try shownCard() }, cards: cards,
          recognise: { [self] noiseKey in recognise(noiseKey: noiseKey) })
      }
    } catch SessionError.unknownPeer {
      recordStranger(from: remote)
      await transport.close()
      return
    } catch {
      noteFailedConnection(from: remote, error)
      await transport.close()
      return
    }
    let keys = session.peerKeys
    let known = met(keys, session.peerCard)
    // Before anything else is done for somebody who was introduced.
    let limit = known == nil ? SessionCount.limitOfIntroduced : SessionCount.limit
    guard sessions.begin(keys.digest, limit: limit) else { return await session.close() }
    defer { sessions.end(keys.digest) }
    var dealer: Digest?
    if known == nil {
      dealer = beginIntroducedSession(keys.digest)
      guard dealer != nil else { return await session.close() }
    } else {
      meetings.noteSeen(keys.digest, at: environment.monotonic())
    }
    defer { if let dealer { introducedSessions.end(dealer) } }
    guard let peer = known ?? metIntroduced(keys, session.peerCard) else { return await session.close() }
    let isNearby = remote.hasPrefix(PeerPlace.bluetoothPrefix)
    guard let opening = try? OpeningChallenge.of(session.handshakeHash) else { return await session.close() }
    var answerer = Answerer(vault: self, channel: session, peer: peer, isNearby: isNearby, opening: opening)
    await answerer.run()
  }

  /// The own card, for a peer that has proved who it is.
  private func shownCard() throws(SessionError) -> PeerCard {
    do { return try ownCard() } catch {
      environment.log.error("\(VaultError(error).reason)")
      throw .wrongCard
    }
  }

  /// Anybody may dial with made-up keys: one line a minute and address, so that nobody fills the log.
  private func recordStranger(from remote: String) {
    guard strangers.isNew(Self.place(remote), at: environment.monotonic()) else { return }
    record(.refused, detail: "an unknown key from \(remote)")
  }

  /// Connections that come to nothing get a line a minute and address as well.
  private func noteFailedConnection(from remote: String, _ error: any Error) {
    guard strangers.isNew("connection " + Self.place(remote), at: environment.monotonic()) else { return }
    environment.log.info("a connection from \(remote) came to nothing: it \(Self.words(error))")
  }

  /// Where a connection comes from, whichever port and address of a network it has.
  private static func place(_ remote: String) -> String {
    // Anybody can make up addresses there.
    if remote.hasPrefix(PeerPlace.bluetoothPrefix) { return PeerPlace.bluetoothPrefix }
    if let address = try? PeerAddress.parse(remote, allowsAnyPort: true) { return address.place }
    return remote.lastIndex(of: ":").map { String(remote[..<$0]) } ?? remote
  }

  /// An error in the words that follow a peer's name in the log.
  static func words(_ error: any Error) -> String {
    switch error {
    case let error as LinkFailure: error.reason
    case let error as SessionError: LinkFailure(error, peer: "the peer").reason
    case let error as ProtocolError: LinkFailure(error).reason
    case let error as VaultError: "met a failure here: \(error.reason)"
    case let error as StoreError: "met a failure here: \(error)"
    case is CancellationError: "was let go"
    default: "met a failure here"
    }
  }
}

/// The answering side of one session, or of one parcel: carries out what the dialogue allows.
struct Answerer {
  let vault: Vault
  let channel: any AnswererChannel
  let peer: PeerRecord
  /// When the parcel expires whose messages these are, in milliseconds since 1970; nil in a session, in which somebody waits for the answers.
  let parcelEnd: Int64?
  /// Whether the session came over Bluetooth.
  let isNearby: Bool
  var dialogue: AnswererDialogue
  var deposit: DepositInProgress?
  /// Whether the peer's program knows answers that wait for this device's user.
  var knowsConsent = false
  /// Whether it knows of introductions.
  var knowsIntroductions = false
  /// An item whose pieces are arriving; what has arrived stays if the session ends in the middle.
  var item: ItemBox?
  /// A meeting that is under way.
  var meeting: AnsweredMeeting?
  /// What is noted of the last one.
  var meetingNote: MeetingNote?
  /// Whether the peer has nothing more to ask.
  private var hasHeardGoodbye = false
  /// The state in which the peer's row was verified last.
  var trustMark = TrustMark()
  /// The same of its introductions.
  var introductionMark = TrustMark()
  /// Secrets whose shares were released in this session, with this device's index, by request number.
  /// Only their names are kept: headers are large, and a session may stay.
  var released: [UInt64: (id: SecretID, index: UInt8)] = [:]
  /// The secret that the last drill was about, with this device's index.
  var drilled: (id: SecretID, index: UInt8)?
  /// Secrets of whose holders cards were given.
  var cardsGiven: Set<SecretID> = []
  /// Bytes of its fragment that were shown.
  var drilledByteCount: UInt64 = 0
  /// Fragments whose pieces are being sent.
  var fragments: [SecretID: LocalPieces] = [:]
  static let openFragmentLimit = 4

  init(
    vault: Vault, channel: any AnswererChannel, peer: PeerRecord, isNearby: Bool, parcelEnd: Int64? = nil,
    opening: [UInt8]
  ) {
    self.vault = vault
    dialogue = AnswererDialogue(opening: opening)
    self.channel = channel
    self.peer = peer
    self.isNearby = isNearby
    self.parcelEnd = parcelEnd
  }

  /// What proofs are bound to.
  var bindingKind: ProofContext.Kind { parcelEnd == nil ? .session : .parcel }

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
    let log = vault.environment.log
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
      if vault.mayWrite(of: peer) { log.warning("\(name) \(Vault.words(error)); its \(what) ends") }
    } catch SessionError.timedOut {
      log.debug("\(name) was silent for too long")
    } catch is AwaitsUser {
      log.debug("a parcel of \(name) waits for this device's user")
    } catch {
      if case SessionError.malformed = error { ending = .fault }
      if case SessionError.messageTooLarge = error { ending = .fault }
      if vault.mayWrite(of: peer) { log.info("\(name) \(Vault.words(error)); its \(what) ends") }
    }
    await abandonDeposit()
    abandonItem()
    await meetingNote?.end(ending == .fault ? .refused : .brokenOff)
    let isOver = hasHeardGoodbye
    try? await withDeadline(isOver ? vault.environment.deadlines.idle : .seconds(2), sleeper: vault.environment.sleep) {
      [channel] () async throws(SessionError) in
      if isOver { await channel.closeBehindPeer() } else { await channel.close() }
    }
    return isOver ? .goodbye : ending
  }

  private mutating func next() async throws -> PeerRequest? {
    let channel = channel
    let isPeer = peer.introducer == nil
    let received = try await withDeadline(vault.environment.deadlines.idle, sleeper: vault.environment.sleep) {
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
      try await reply(Hello(services: peer.introducer == nil ? vault.services : Vault.introducedServices))
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

  /// Sends a public message.
  func reply<Message: PeerMessage>(_ message: Message) async throws {
    let channel = channel
    try await withDeadline(vault.environment.deadlines.reply, sleeper: vault.environment.sleep) {
      () async throws(SessionError) in
      try await channel.send(type: Message.type.rawValue, count: message.encodedByteCount) {
        (writer) throws(WireError) in try message.encode(into: &writer)
      }
    }
  }

  /// Why so many bytes of a fragment or an item can't go in this session, in either direction, if so: the user of this device has said how
  /// much of one may go over Bluetooth.
  func limitRefusal(_ byteCount: UInt64) -> RefusalReason? {
    isNearby && byteCount > vault.nearbySettings().byteLimit ? .bluetoothLimit : nil
  }

  /// Why a fragment of this size would not be taken from this peer in this session, if so.
  private func refusal(adding byteCount: UInt64) -> RefusalReason? {
    limitRefusal(byteCount) ?? quotaRefusal(adding: byteCount)
      ?? (vault.diskReserve.allows(byteCount) ? nil : .diskFull)
  }

  /// Why a fragment of this size would not be taken from this peer, if so. `replaced` are bytes of the peer's that make room for it.
  func quotaRefusal(adding byteCount: UInt64, replacing replaced: Int64? = nil) -> RefusalReason? {
    guard let quota = vault.quota else { return .internalFailure }
    guard let usage = try? vault.usage(of: peer.digest) else { return .internalFailure }
    if usage.count - (replaced == nil ? 0 : 1) >= quota.shares { return .quotaCount }
    let used = UInt64(max(0, usage.byteCount - (replaced ?? 0)))
    let (total, overflow) = byteCount.addingReportingOverflow(used)
    return overflow || total > quota.bytes ? .quotaBytes : nil
  }
}
