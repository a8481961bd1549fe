package import PeerAuth
import Sodium
import WireCodec

/// The opener's side of a gathering: bytes of guests, the user's words and times in, what to do out. It has no socket and no
/// clock; times are those of any clock that only goes forward.
///
/// Whoever drives it carries out all actions in their order, sends what is to be sent, and closes all streams behind
/// ``Action/finished(_:)`` and ``Action/failed(_:)``. A code is drawn here, so none is of two openings.
package final class GatheringOpener {
  package static let guestLimit = 20
  /// Most connections at once of which nobody knows yet whether they know the code.
  package static let strangerLimit = 8
  /// Most connections that are taken in ``GatheringTimes/step``.
  package static let arrivalLimit = 32
  /// Wrong words that end an opening.
  package static let wrongCodeLimit = 3

  /// A connection.
  package struct ID: Hashable, Sendable { let number: Int }

  package enum Action: Sendable {
    /// Bytes for a guest.
    case send([UInt8], to: ID)
    /// To be closed once what was sent to it is out.
    case hangUp(ID)
    /// So many guests are there now.
    case guests(Int)
    /// Everybody's names and the words are there: the user compares, and ``GatheringOpener/say(_:at:)`` tells.
    case compare(GatheringList)
    /// A guest has said yes.
    case agreed(GatheringParticipant)
    /// All have said yes: the cards of all guests, to be imported.
    case finished([PeerCard])
    /// It is over, and no card counts.
    case failed(GatheringFailure)
  }

  private enum Stage { case open, reveals, comparison, keys, over }

  package let code: GatheringCode
  private let card: PeerCard
  private let beaconKey: [UInt8]
  private let identity: Identity
  private let chance: GatheringChance
  private let opening: [UInt8]
  private var subkey: SecretBytes?
  private let commitment: Digest
  private var stage = Stage.open
  private var until: Duration
  private var lastNumber = 0
  private var lines: [ID: GuestLine] = [:]
  /// Who has been let in, in the order in which they came.
  private var guests: [ID] = []
  private var arrivals: [Duration] = []
  private var wrongCodes = 0
  private var roll: Roll?
  private var comparison: Comparison?

  /// Opens, and draws the code. `card` is this device's own, signed; its beacon key is given when all have said yes. Throws
  /// ``GatheringFailure/noName`` where nothing of its label can be seen.
  package init(
    card: PeerCard, identity: Identity, at now: Duration,
    chance: @escaping GatheringChance = { count throws(SodiumError) in try SecretBytes(random: count) }
  ) throws(GatheringFailure) {
    guard card.hasVisibleName else { throw .noName }
    guard let beaconKey = card.beaconKey else { throw .malformed(.invalidValue(field: "beacon key")) }
    self.card = card.published
    self.beaconKey = beaconKey
    self.identity = identity
    self.chance = chance
    code = try gathering(GatheringCode(chance: chance(GatheringCode.chanceByteCount)))
    opening = try gathering(chance(Commitment.openingByteCount)).withUnsafeBytes { Array($0) }
    let subkey = try gathering(chance(Reveal.subkeyByteCount))
    commitment = try gathering(Commitment.of(self.card, subkey, opening: opening))
    self.subkey = consume subkey
    until = now + GatheringTimes.open
  }

  /// Whether nobody is let in any more.
  package var isClosed: Bool { stage != .open }

  /// Whether it is known that this one has the code.
  package func hasLetIn(_ id: ID) -> Bool { guests.contains(id) }

  /// When ``tick(at:)`` is to be called, if nothing else happens before; nil once it is over.
  package var deadline: Duration? {
    stage == .over ? nil : lines.values.compactMap(\.deadline).reduce(until, min)
  }

  /// Somebody has connected. No id where there are too many, the list is closed, or it is over: the stream is closed
  /// without a word. The actions are to be carried out in any case.
  package func connected(at now: Duration) -> (id: ID?, actions: [Action]) {
    let actions = tick(at: now)
    arrivals.removeAll { now - $0 >= GatheringTimes.step }
    guard stage == .open, guests.count < Self.guestLimit, lines.count - guests.count < Self.strangerLimit,
      arrivals.count < Self.arrivalLimit
    else { return (nil, actions) }
    arrivals.append(now)
    lastNumber += 1
    let id = ID(number: lastNumber)
    do throws(GatheringFailure) {
      let nonce = try gathering(chance(GatheringMessage.nonceByteCount)).withUnsafeBytes { Array($0) }
      let line = GuestLine(nonce: nonce, deadline: now + GatheringTimes.step)
      let greeting = GatheringMessage.greeting(number: code.number, opening: opening, nonce: nonce)
      let bytes = try line.frames.frame(greeting)
      lines[id] = line
      return (id, actions + [.send(bytes, to: id)])
    } catch { return (nil, actions + end(error)) }
  }

  /// Takes bytes that have come from a connection.
  package func receive(_ bytes: [UInt8], from id: ID, at now: Duration) -> [Action] {
    var actions = tick(at: now)
    guard stage != .over, let line = lines[id] else { return actions }
    line.frames.append(bytes)
    do throws(GatheringFailure) {
      while stage != .over, lines[id] != nil, let message = try line.frames.next() {
        try take(message, from: id, line, at: now, &actions)
      }
    } catch { actions += drop(id, error) }
    return actions
  }

  /// A connection has ended.
  package func lost(_ id: ID) -> [Action] {
    guard stage != .over, lines[id] != nil else { return [] }
    return drop(id, .openerGone)
  }

  /// "Everybody is here": closes the list. Needs a guest, and does nothing twice.
  package func close(at now: Duration) -> [Action] {
    var actions = tick(at: now)
    guard stage == .open, !guests.isEmpty, let subkey = subkey.take() else { return actions }
    do throws(GatheringFailure) {
      let commitments = [commitment] + guests.compactMap { lines[$0]?.commitment }
      var roll = try Roll(opening: opening, commitments: commitments)
      try roll.add(Reveal(card: card, subkey: subkey.withUnsafeBytes { Array($0) }), at: 0)
      self.roll = roll
      for id in lines.keys.sorted(by: { $0.number < $1.number }) where !guests.contains(id) {
        lines[id] = nil
        actions.append(.hangUp(id))
      }
      try tell(.list(commitments), &actions)
      stage = .reveals
      until = now + GatheringTimes.step
    } catch { actions += end(error) }
    return actions
  }

  /// What the opener's user says of the comparison: only while it is asked, and only its first word counts.
  package func say(_ isSame: Bool, at now: Duration) -> [Action] {
    var actions = tick(at: now)
    guard stage == .comparison, let comparison, !comparison.isAnswered else { return actions }
    guard isSame else { return actions + end(.saidNo(comparison.participant(0))) }
    do throws(GatheringFailure) {
      guard let yes = try self.comparison?.agree(identity, beaconKey) else { return actions }
      try tell(.saidYes(position: 0, yes), &actions)
      try finishIfAgreed(at: now, &actions)
    } catch { actions += end(error) }
    return actions
  }

  /// Time has passed.
  package func tick(at now: Duration) -> [Action] {
    guard stage != .over else { return [] }
    guard now < until else {
      guard stage != .keys else { return finish() }
      // Whoever has kept the others waiting is named.
      let missing = stage == .reveals ? roll?.reveals.firstIndex { $0 == nil } : nil
      return end(missing.map { GatheringFailure.left(GatheringParticipant(position: $0, label: nil)) } ?? .timeIsUp)
    }
    let late = lines.filter { $0.value.deadline.map { now >= $0 } ?? false }.keys
    return late.sorted { $0.number < $1.number }.flatMap { drop($0, .timeIsUp) }
  }

  private func take(
    _ message: GatheringMessage, from id: ID, _ line: GuestLine, at now: Duration, _ actions: inout [Action]
  ) throws(GatheringFailure) {
    switch (stage, line.stage, message) {
    case (.open, .greeted, .hello(let nonce, let share, let theirs)):
      let answer = try line.answer(
        nonce, share, theirs, own: commitment, opening: opening, code: code, chance: chance)
      actions.append(.send(try line.frames.frame(answer), to: id))
      line.deadline = now + GatheringTimes.step
    case (.open, .answered, .confirmation(let confirmation)):
      guard try line.isConfirmed(by: confirmation) else {
        wrongCodes += 1
        actions += wrongCodes < Self.wrongCodeLimit ? drop(id, .notLetIn) : end(.tooManyWrongCodes)
        return
      }
      try letIn(id, line, &actions)
    case (.reveals, .joined, .reveal(let reveal)):
      try roll?.add(reveal, at: position(id))
      if let roll, roll.isComplete { try show(roll, at: now, &actions) }
    case (.comparison, .joined, .yes(let yes)):
      let position = position(id)
      try comparison?.take(yes, at: position)
      guard let comparison else { return }
      actions.append(.agreed(comparison.participant(position)))
      try tell(.saidYes(position: UInt8(clamping: position), yes), but: id, &actions)
      try finishIfAgreed(at: now, &actions)
    case (.keys, .joined, .key(let key)):
      let position = position(id)
      guard try comparison?.recognise(position, by: key) == true else {
        throw .malformed(.invalidValue(field: "beacon key"))
      }
      try tell(.keyed(position: UInt8(clamping: position), key), but: id, &actions)
      if comparison?.isRecognised == true { actions += finish() }
    case (.comparison, .joined, .no):
      actions += end(.saidNo(comparison?.participant(position(id)) ?? .opener))
    default: throw .malformed(.invalidValue(field: "message"))
    }
  }

  /// The opener's confirmation goes out only here, behind a guest's that was right.
  private func letIn(_ id: ID, _ line: GuestLine, _ actions: inout [Action]) throws(GatheringFailure) {
    // Two with one commitment would have to reveal the same card.
    guard !guests.contains(where: { lines[$0]?.commitment == line.commitment }) else {
      throw .malformed(.invalidValue(field: "commitment"))
    }
    actions.append(.send(try line.enter(), to: id))
    guard guests.count < Self.guestLimit else {
      actions.append(.send(try line.frames.frame(.ended(.full, position: 0, other: 0)), to: id))
      actions += drop(id, .full)
      return
    }
    guests.append(id)
    actions.append(.guests(guests.count))
  }

  /// Everybody has revealed: each hears of all others, in order.
  private func show(_ roll: Roll, at now: Duration, _ actions: inout [Action]) throws(GatheringFailure) {
    for (position, reveal) in roll.reveals.enumerated() {
      guard let reveal else { continue }
      let author = position == 0 ? nil : guests[position - 1]
      try tell(.revealed(position: UInt8(clamping: position), reveal), but: author, &actions)
    }
    let comparison = try Comparison(roll, own: 0)
    self.comparison = comparison
    stage = .comparison
    until = now + GatheringTimes.comparison
    actions.append(.compare(comparison.list))
  }

  /// From here on the cards count, whoever leaves: only keys are still to come, by which devices are recognised.
  private func finishIfAgreed(at now: Duration, _ actions: inout [Action]) throws(GatheringFailure) {
    guard let comparison, comparison.isAgreed else { return }
    try tell(.keyed(position: 0, beaconKey), &actions)
    stage = .keys
    until = now + GatheringTimes.step
  }

  private func finish() -> [Action] {
    let others = comparison?.others ?? []
    forget()
    return [.finished(others)]
  }

  /// Where a guest is in the list; 0 for nobody's connection.
  private func position(_ id: ID) -> Int { (guests.firstIndex(of: id) ?? -1) + 1 }

  private func tell(
    _ message: GatheringMessage, but author: ID? = nil, _ actions: inout [Action]
  ) throws(GatheringFailure) {
    for id in guests where id != author {
      if let line = lines[id] { actions.append(.send(try line.frames.frame(message), to: id)) }
    }
  }

  /// Ends one connection. Before the list is closed the others don't mind; behind that it is the end for all.
  private func drop(_ id: ID, _ failure: GatheringFailure) -> [Action] {
    if stage == .keys {
      lines[id] = nil
      return [.hangUp(id)] + (lines.isEmpty ? finish() : [])
    }
    if stage != .open, guests.contains(id) {
      let position = position(id)
      let participant = comparison?.participant(position) ?? roll?.participant(position) ?? .opener
      switch failure {
      case .sodium, .sameKey: return end(failure)
      case .openerGone: return end(.left(participant), but: id)
      // Anybody on the way can do that.
      case .damaged: return end(.left(participant))
      // Whoever is named hears it, too.
      default: return end(.brokeRules(participant))
      }
    }
    lines[id] = nil
    guard let place = guests.firstIndex(of: id) else { return [.hangUp(id)] }
    guests.remove(at: place)
    return [.hangUp(id), .guests(guests.count)]
  }

  /// Ends it for all, and tells those who are in why.
  private func end(_ failure: GatheringFailure, but gone: ID? = nil) -> [Action] {
    let (reason, participant, other): (GatheringEnd, GatheringParticipant, GatheringParticipant) =
      switch failure {
      case .saidNo(let participant): (.saidNo, participant, .opener)
      case .left(let participant): (.left, participant, .opener)
      case .brokeRules(let participant): (.brokeRules, participant, .opener)
      case .sameKey(let participant, let other): (.sameKey, participant, other)
      case .timeIsUp: (.timeIsUp, .opener, .opener)
      case .tooManyWrongCodes: (.wrongCodes, .opener, .opener)
      default: (.left, .opener, .opener)
      }
    var actions: [Action] = []
    // Whom it can't tell any more will see the stream end.
    let message = GatheringMessage.ended(
      reason, position: UInt8(clamping: participant.position), other: UInt8(clamping: other.position))
    try? tell(message, but: gone, &actions)
    forget()
    return actions + [.failed(failure)]
  }

  /// It is over: keys and subkey aren't needed any more.
  private func forget() {
    stage = .over
    lines = [:]
    subkey = nil
  }
}

/// One connection of an opener.
private final class GuestLine {
  enum Stage { case greeted, answered, joined }

  private(set) var stage = Stage.greeted
  var frames = GatheringFrames()
  /// Until when its next message must be here; nil once it is let in.
  var deadline: Duration?
  private(set) var commitment: Digest?
  private let nonce: [UInt8]
  private var keys: CPaceKeys?

  init(nonce: [UInt8], deadline: Duration) {
    self.nonce = nonce
    self.deadline = deadline
  }

  func answer(
    _ theirNonce: [UInt8], _ share: [UInt8], _ theirs: Digest, own: Digest, opening: [UInt8],
    code: borrowing GatheringCode, chance: GatheringChance
  ) throws(GatheringFailure) -> GatheringMessage {
    guard theirs != own else { throw .malformed(.invalidValue(field: "commitment")) }
    do throws(CPaceError) {
      let cpace = try CPace(
        .responder, password: code.password, channel: GatheringInputs.channel(number: code.number, opening: opening),
        session: nonce + theirNonce, associated: GatheringInputs.associated(.responder, own), chance: chance)
      let ownShare = cpace.share
      keys = try cpace.finish(share: share, associated: GatheringInputs.associated(.initiator, theirs))
      commitment = theirs
      stage = .answered
      return .answer(share: ownShare, commitment: own)
    } catch { throw GatheringFailure(error) }
  }

  func isConfirmed(by confirmation: [UInt8]) throws(GatheringFailure) -> Bool {
    do throws(CPaceError) { return try keys?.isConfirmed(by: confirmation) ?? false } catch {
      throw GatheringFailure(error)
    }
  }

  /// The opener's confirmation; behind it everything is sealed.
  func enter() throws(GatheringFailure) -> [UInt8] {
    guard let keys = keys.take() else { throw .notLetIn }
    let confirmation: [UInt8]
    do throws(CPaceError) { confirmation = try keys.confirmation() } catch { throw GatheringFailure(error) }
    let bytes = try frames.frame(.confirmation(confirmation))
    try frames.seal(keys, .responder)
    deadline = nil
    stage = .joined
    return bytes
  }
}
