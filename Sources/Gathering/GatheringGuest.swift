package import PeerAuth
import Sodium
import WireCodec

/// A guest's side of a gathering: bytes from the opener and times in, what to do out. It has no socket and no clock; times
/// are those of any clock that only goes forward.
///
/// Whoever drives it carries out all actions in their order, and closes the stream behind ``Action/finished(_:)`` and
/// ``Action/failed(_:)``.
package final class GatheringGuest {
  package enum Action: Sendable {
    /// Bytes for the opener.
    case send([UInt8])
    /// The code was right on both sides; until the opener closes the list there is nothing to do.
    case joined
    /// Everybody's names and the words are there: the user compares, and ``GatheringGuest/say(_:at:)`` tells.
    case compare(GatheringList)
    /// Somebody else has said yes.
    case agreed(GatheringParticipant)
    /// All have said yes: the cards of all others, to be imported.
    case finished([PeerCard])
    /// It is over, and no card counts.
    case failed(GatheringFailure)
  }

  private enum Stage { case greeting, answer, confirmation, list, reveals, comparison, keys, over }

  private var code: GatheringCode?
  private let card: PeerCard
  private let beaconKey: [UInt8]
  private let identity: Identity
  private let chance: GatheringChance
  private var subkey: SecretBytes?
  private let started: Duration
  private var stage = Stage.greeting
  private var frames = GatheringFrames()
  private var session: [UInt8] = []
  /// What the opener has named its opening; empty before it has greeted.
  package private(set) var opening: [UInt8] = []
  /// Whether the other side has heard enough to test one guess at the code.
  package private(set) var hasConfirmed = false
  private let avoided: Set<[UInt8]>
  private var commitment: Digest?
  private var openerCommitment: Digest?
  private var cpace: CPace?
  private var keys: CPaceKeys?
  private var roll: Roll?
  private var own = 0
  private var comparison: Comparison?

  /// When ``tick(at:)`` is to be called, if nothing else happens before; nil once it is over.
  package private(set) var deadline: Duration?

  /// Starts on a fresh stream to the opener, and leaves before it says anything if that names an opening among `avoiding`.
  /// `card` is this device's own, signed; its beacon key is given when all have said yes. Throws
  /// ``GatheringFailure/noName`` where nothing of its label can be seen.
  package init(
    code: consuming GatheringCode, card: PeerCard, identity: Identity, at now: Duration, avoiding: Set<[UInt8]> = [],
    chance: @escaping GatheringChance = { count throws(SodiumError) in try SecretBytes(random: count) }
  ) throws(GatheringFailure) {
    guard card.hasVisibleName else { throw .noName }
    guard let beaconKey = card.beaconKey else { throw .malformed(.invalidValue(field: "beacon key")) }
    self.code = consume code
    self.card = card.published
    self.beaconKey = beaconKey
    self.identity = identity
    self.chance = chance
    started = now
    avoided = avoiding
    deadline = now + GatheringTimes.step
  }

  /// Takes bytes that have come.
  package func receive(_ bytes: [UInt8], at now: Duration) -> [Action] {
    var actions = tick(at: now)
    guard stage != .over else { return actions }
    frames.append(bytes)
    do throws(GatheringFailure) {
      while stage != .over, let message = try frames.next() { try take(message, at: now, &actions) }
    } catch { actions += fail(error) }
    return actions
  }

  /// The stream has ended.
  package func ended() -> [Action] {
    switch stage {
    case .greeting, .answer, .list: fail(.openerGone)
    // The opener hangs up on whoever shows that it has the words wrong, or confirms when the list is closed.
    case .confirmation: fail(.notLetIn)
    case .reveals, .comparison: fail(.left(participant(0)))
    case .keys: finish()
    case .over: []
    }
  }

  /// Time has passed.
  package func tick(at now: Duration) -> [Action] {
    guard let deadline, now >= deadline else { return [] }
    return fail(.timeIsUp)
  }

  /// What the user says of the comparison: only while it is asked, and only the first word counts.
  package func say(_ isSame: Bool, at now: Duration) -> [Action] {
    var actions = tick(at: now)
    guard stage == .comparison, let comparison, !comparison.isAnswered else { return actions }
    do throws(GatheringFailure) {
      guard isSame else {
        actions.append(.send(try frames.frame(.no)))
        return actions + fail(.saidNo(comparison.participant(own)))
      }
      guard let yes = try self.comparison?.agree(identity, beaconKey) else { return actions }
      actions.append(.send(try frames.frame(.yes(yes))))
      try finishIfAgreed(at: now, &actions)
    } catch { actions += fail(error) }
    return actions
  }

  private func take(
    _ message: GatheringMessage, at now: Duration, _ actions: inout [Action]
  ) throws(GatheringFailure) {
    switch (stage, message) {
    case (.greeting, .greeting(let number, let opening, let nonce)):
      guard let code = code.take(), number == code.number, !avoided.contains(opening) else { throw .otherOpening }
      actions.append(.send(try frames.frame(try hello(opening, nonce, code))))
      go(to: .answer, until: now + GatheringTimes.step)
    case (.answer, .answer(let share, let theirs)):
      actions.append(.send(try frames.frame(try confirmation(share, theirs))))
      go(to: .confirmation, until: now + GatheringTimes.step)
    case (.confirmation, .confirmation(let confirmation)):
      try enter(confirmation)
      actions.append(.joined)
      go(to: .list, until: started + GatheringTimes.open + GatheringTimes.step)
    case (.list, .list(let commitments)):
      actions.append(.send(try frames.frame(.reveal(try reveal(to: commitments)))))
      go(to: .reveals, until: now + GatheringTimes.step * 2)
    case (.reveals, .revealed(let position, let reveal)):
      do throws(GatheringFailure) { try roll?.add(reveal, at: Int(position)) } catch { throw passedOn(error) }
      guard let roll, roll.isComplete else { return }
      let comparison = try Comparison(roll, own: own)
      self.comparison = comparison
      actions.append(.compare(comparison.list))
      go(to: .comparison, until: now + GatheringTimes.comparison + GatheringTimes.step)
    case (.comparison, .saidYes(let position, let yes)):
      do throws(GatheringFailure) { try comparison?.take(yes, at: Int(position)) } catch { throw passedOn(error) }
      guard let comparison else { return }
      actions.append(.agreed(comparison.participant(Int(position))))
      try finishIfAgreed(at: now, &actions)
    case (.keys, .keyed(let position, let key)):
      guard try comparison?.recognise(Int(position), by: key) == true else {
        throw .malformed(.invalidValue(field: "beacon key"))
      }
      if comparison?.isRecognised == true { actions += finish() }
    case (.list, .ended(let reason, let position, let other)), (.reveals, .ended(let reason, let position, let other)),
      (.comparison, .ended(let reason, let position, let other)):
      throw failure(reason, participant(Int(position)), participant(Int(other)))
    default: throw .malformed(.invalidValue(field: "message"))
    }
  }

  private func hello(
    _ opening: [UInt8], _ nonce: [UInt8], _ code: borrowing GatheringCode
  ) throws(GatheringFailure) -> GatheringMessage {
    let subkey = try gathering(chance(Reveal.subkeyByteCount))
    let ownNonce = try gathering(chance(GatheringMessage.nonceByteCount)).withUnsafeBytes { Array($0) }
    let commitment = try gathering(Commitment.of(card, subkey, opening: opening))
    session = nonce + ownNonce
    self.opening = opening
    self.commitment = commitment
    self.subkey = consume subkey
    do throws(CPaceError) {
      let cpace = try CPace(
        .initiator, password: code.password, channel: GatheringInputs.channel(number: code.number, opening: opening),
        session: session, associated: GatheringInputs.associated(.initiator, commitment), chance: chance)
      let share = cpace.share
      self.cpace = consume cpace
      return .hello(nonce: ownNonce, share: share, commitment: commitment)
    } catch { throw GatheringFailure(error) }
  }

  private func confirmation(_ share: [UInt8], _ theirs: Digest) throws(GatheringFailure) -> GatheringMessage {
    // One's own words, sent back.
    guard theirs != commitment, let cpace = cpace.take() else { throw .notLetIn }
    openerCommitment = theirs
    do throws(CPaceError) {
      let keys = try cpace.finish(share: share, associated: GatheringInputs.associated(.responder, theirs))
      let confirmation = try keys.confirmation()
      self.keys = consume keys
      hasConfirmed = true
      return .confirmation(confirmation)
    } catch { throw GatheringFailure(error) }
  }

  private func enter(_ confirmation: [UInt8]) throws(GatheringFailure) {
    guard let keys = keys.take() else { throw .notLetIn }
    do throws(CPaceError) {
      guard try keys.isConfirmed(by: confirmation) else { throw CPaceError.invalidShare }
    } catch {
      if case .sodium(let error) = error { throw .sodium(error) }
      throw .notLetIn
    }
    try frames.seal(keys, .initiator)
  }

  /// Opens this guest's commitment, now that the list with everybody's in it can't change any more for this device.
  private func reveal(to commitments: [Digest]) throws(GatheringFailure) -> Reveal {
    var roll = try Roll(opening: opening, commitments: commitments)
    guard let commitment, commitments.first == openerCommitment, let own = commitments.firstIndex(of: commitment) else {
      throw .brokeRules(.opener)
    }
    guard let subkey = subkey.take() else { throw .brokeRules(.opener) }
    let reveal = Reveal(card: card, subkey: subkey.withUnsafeBytes { Array($0) })
    try roll.add(reveal, at: own)
    self.own = own
    self.roll = roll
    return reveal
  }

  private func participant(_ position: Int) -> GatheringParticipant {
    comparison?.participant(position) ?? roll?.participant(position)
      ?? GatheringParticipant(position: position, label: nil)
  }

  /// An honest opener checks the same before it passes anything on: what doesn't hold here is its doing.
  private func passedOn(_ failure: GatheringFailure) -> GatheringFailure {
    switch failure {
    case .brokeRules, .sameKey: .brokeRules(participant(0))
    default: failure
    }
  }

  private func failure(
    _ reason: GatheringEnd, _ participant: GatheringParticipant, _ other: GatheringParticipant
  ) -> GatheringFailure {
    switch reason {
    case .saidNo: .saidNo(participant)
    case .left: .left(participant)
    case .timeIsUp: .timeIsUp
    case .brokeRules: .brokeRules(participant)
    case .sameKey: .sameKey(participant, other)
    case .wrongCodes: .tooManyWrongCodes
    case .full: .full
    }
  }

  /// From here on the cards count, whatever becomes of the opener: only keys are still to come.
  private func finishIfAgreed(at now: Duration, _ actions: inout [Action]) throws(GatheringFailure) {
    guard let comparison, comparison.isAgreed else { return }
    actions.append(.send(try frames.frame(.key(beaconKey))))
    go(to: .keys, until: now + GatheringTimes.step * 2)
  }

  private func finish() -> [Action] {
    let others = comparison?.others ?? []
    forget()
    return [.finished(others)]
  }

  private func go(to stage: Stage, until deadline: Duration?) {
    self.stage = stage
    self.deadline = deadline
  }

  private func fail(_ failure: GatheringFailure) -> [Action] {
    guard stage != .keys else { return finish() }
    forget()
    return [.failed(failure)]
  }

  /// It is over: no secret is needed any more.
  private func forget() {
    go(to: .over, until: nil)
    frames = GatheringFrames()
    code = nil
    subkey = nil
    cpace = nil
    keys = nil
  }
}

/// How long whoever is asked may take.
package enum GatheringTimes {
  /// For one message of a device.
  package static let step = Duration.seconds(10)
  /// From the opening until its list is closed.
  package static let open = Duration.seconds(300)
  /// For everybody to compare and say yes.
  package static let comparison = Duration.seconds(300)
}
