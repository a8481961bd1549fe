import Foundation
import PeerAuth
import Sodium
import Testing

@testable import Gathering

/// A file beside the tests, or elsewhere in the repository.
func repositoryFile(_ path: String) throws -> Data {
  let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
  return try Data(contentsOf: tests.appendingPathComponent(path))
}

func secret(_ bytes: [UInt8]) throws -> SecretBytes { try SecretBytes(copying: bytes.span.bytes) }

/// The first of something that `pick` finds.
func first<Element, Found>(in elements: some Sequence<Element>, _ pick: (Element) -> Found?) -> Found? {
  for element in elements { if let found = pick(element) { return found } }
  return nil
}

/// Somebody with a card.
struct Person {
  let identity: Identity
  /// With its beacon key.
  let own: PeerCard
  /// Without.
  let card: PeerCard

  init(_ label: String) throws {
    identity = try .generate()
    own = try identity.card(
      label: label, serial: 1, beaconKey: (0..<PeerCard.beaconKeyByteCount).map { _ in .random(in: 0...255) })
    card = own.published
  }
}

/// A code with known words: `7-maple-harbor`.
func mapleHarbor(_ text: String = "7-maple-harbor") throws -> GatheringCode { try GatheringCode(reading: text) }

/// One opener and its guests, with nothing between them but this memory.
final class Table {
  let opener: GatheringOpener
  private(set) var guests: [GatheringOpener.ID: GatheringGuest] = [:]
  /// In the order in which they have connected.
  private(set) var ids: [GatheringOpener.ID] = []
  var openerActions: [GatheringOpener.Action] = []
  var guestActions: [GatheringOpener.ID: [GatheringGuest.Action]] = [:]
  var now = Duration.zero
  /// What becomes of a message on its way; by default nothing.
  var toGuest: (Int, [UInt8]) -> [[UInt8]] = { _, bytes in [bytes] }
  var toOpener: (Int, [UInt8]) -> [[UInt8]] = { _, bytes in [bytes] }

  init(opener: Person) throws {
    self.opener = try GatheringOpener(card: opener.own, identity: opener.identity, at: .zero)
  }

  /// Somebody connects and types `code`, by default the right one. Nil if the opener doesn't want it.
  @discardableResult func come(_ person: Person, code: String? = nil) throws -> GatheringOpener.ID? {
    let read = try GatheringCode(reading: code ?? opener.code.text)
    let (id, actions) = opener.connected(at: now)
    if let id {
      ids.append(id)
      guests[id] = try GatheringGuest(code: read, card: person.own, identity: person.identity, at: now)
    }
    take(actions)
    return id
  }

  func close() { take(opener.close(at: now)) }
  func openerSays(_ yes: Bool) { take(opener.say(yes, at: now)) }
  func says(_ id: GatheringOpener.ID, _ yes: Bool) { take(guests[id]?.say(yes, at: now) ?? [], of: id) }
  func leaves(_ id: GatheringOpener.ID) { take(opener.lost(id)) }

  func pass(_ time: Duration) {
    now += time
    take(opener.tick(at: now))
    for id in ids { take(guests[id]?.tick(at: now) ?? [], of: id) }
  }

  /// What is said arrives in the order in which it was said, whoever answers meanwhile.
  private var due: [() -> Void] = []
  private var isPassing = false

  private func pass(_ steps: [() -> Void]) {
    due += steps
    guard !isPassing else { return }
    isPassing = true
    while !due.isEmpty { due.removeFirst()() }
    isPassing = false
  }

  func take(_ actions: [GatheringOpener.Action]) {
    pass(actions.map { action in { self.carryOut(action) } })
  }

  private func carryOut(_ action: GatheringOpener.Action) {
    openerActions.append(action)
    switch action {
    case .send(let bytes, let id):
      for part in toGuest(number(id), bytes) { take(guests[id]?.receive(part, at: now) ?? [], of: id) }
    case .hangUp(let id): take(guests[id]?.ended() ?? [], of: id)
    case .failed: for id in ids { take(guests[id]?.ended() ?? [], of: id) }
    default: break
    }
  }

  func take(_ actions: [GatheringGuest.Action], of id: GatheringOpener.ID) {
    pass(actions.map { action in { self.carryOut(action, of: id) } })
  }

  private func carryOut(_ action: GatheringGuest.Action, of id: GatheringOpener.ID) {
    guestActions[id, default: []].append(action)
    switch action {
    case .send(let bytes):
      for part in toOpener(number(id), bytes) { take(opener.receive(part, from: id, at: now)) }
    case .failed: take(opener.lost(id))
    default: break
    }
  }

  private func number(_ id: GatheringOpener.ID) -> Int { ids.firstIndex(of: id) ?? -1 }

  // What has come of it.

  func list(_ id: GatheringOpener.ID) -> GatheringList? {
    first(in: guestActions[id] ?? []) {
      if case .compare(let list) = $0 { return list }
      return nil
    }
  }
  func cards(_ id: GatheringOpener.ID) -> [PeerCard]? {
    first(in: guestActions[id] ?? []) {
      if case .finished(let cards) = $0 { return cards }
      return nil
    }
  }
  func failure(_ id: GatheringOpener.ID) -> GatheringFailure? {
    first(in: guestActions[id] ?? []) {
      if case .failed(let failure) = $0 { return failure }
      return nil
    }
  }
  var openerList: GatheringList? {
    first(in: openerActions) {
      if case .compare(let list) = $0 { return list }
      return nil
    }
  }
  var openerCards: [PeerCard]? {
    first(in: openerActions) {
      if case .finished(let cards) = $0 { return cards }
      return nil
    }
  }
  var openerFailure: GatheringFailure? {
    first(in: openerActions) {
      if case .failed(let failure) = $0 { return failure }
      return nil
    }
  }
  var guestCount: Int? {
    first(in: openerActions.reversed()) {
      if case .guests(let count) = $0 { return count }
      return nil
    }
  }
  func hungUp(_ id: GatheringOpener.ID) -> Bool {
    openerActions.contains { if case .hangUp(id) = $0 { true } else { false } }
  }
}

/// An opener in the test's own hands towards one guest: it knows the code, and says what the test wants.
final class RawOpener {
  let guest: GatheringGuest
  let opening: [UInt8]
  var frames = GatheringFrames()
  private(set) var guestCommitment: Digest?
  private(set) var actions: [GatheringGuest.Action] = []

  /// Lets a guest in whose code is `7-maple-harbor`, the opener's commitment being `commitment`.
  init(_ person: Person, opening: [UInt8], commitment: Digest) throws {
    self.opening = opening
    guest = try GatheringGuest(code: mapleHarbor(), card: person.own, identity: person.identity, at: .zero)
    try say(.greeting(number: 7, opening: opening, nonce: [UInt8](repeating: 9, count: 32)))
    guard case .hello(let nonce, let share, let theirs)? = try frames.next() else { throw Unexpected() }
    guestCommitment = theirs
    let cpace = try CPace(
      .responder, password: mapleHarbor().password,
      channel: GatheringInputs.channel(number: 7, opening: opening),
      session: [UInt8](repeating: 9, count: 32) + nonce,
      associated: GatheringInputs.associated(.responder, commitment), scalar: RistrettoScalar.random())
    let ownShare = cpace.share
    let keys = try cpace.finish(share: share, associated: GatheringInputs.associated(.initiator, theirs))
    try say(.answer(share: ownShare, commitment: commitment))
    guard case .confirmation(let confirmation)? = try frames.next(), try keys.isConfirmed(by: confirmation) else {
      throw Unexpected()
    }
    try say(.confirmation(keys.confirmation()))
    try frames.seal(keys, .responder)
  }

  struct Unexpected: Error {}

  /// Says something; what the guest sends is then there to be read.
  func say(_ message: GatheringMessage) throws { deliver(try frames.frame(message)) }

  func deliver(_ bytes: [UInt8]) { take(guest.receive(bytes, at: .zero)) }

  func take(_ more: [GatheringGuest.Action]) {
    for action in more {
      actions.append(action)
      if case .send(let bytes) = action { frames.append(bytes) }
    }
  }

  var list: GatheringList? {
    first(in: actions) {
      if case .compare(let list) = $0 { return list }
      return nil
    }
  }
  var cards: [PeerCard]? {
    first(in: actions) {
      if case .finished(let cards) = $0 { return cards }
      return nil
    }
  }
  var failure: GatheringFailure? {
    first(in: actions) {
      if case .failed(let failure) = $0 { return failure }
      return nil
    }
  }
}

/// A guest in the test's own hands: it knows the code, and says what the test wants.
final class RawGuest {
  let opener: GatheringOpener
  let id: GatheringOpener.ID
  var frames = GatheringFrames()
  private(set) var actions: [GatheringOpener.Action] = []

  /// Gets in with a commitment to `reveal`.
  init(_ opener: GatheringOpener, committedTo reveal: Reveal) throws {
    self.opener = opener
    let (connection, greeting) = opener.connected(at: .zero)
    guard let id = connection else { throw RawOpener.Unexpected() }
    self.id = id
    take(greeting)
    guard case .greeting(let number, let opening, let nonce)? = try frames.next() else { throw RawOpener.Unexpected() }
    let commitment = try Commitment.of(reveal.card, reveal.subkey.span.bytes, opening: opening)
    let cpace = try CPace(
      .initiator, password: opener.code.password,
      channel: GatheringInputs.channel(number: number, opening: opening), session: nonce + nonce,
      associated: GatheringInputs.associated(.initiator, commitment), scalar: RistrettoScalar.random())
    try say(.hello(nonce: nonce, share: cpace.share, commitment: commitment))
    guard case .answer(let share, let theirs)? = try frames.next() else { throw RawOpener.Unexpected() }
    let keys = try cpace.finish(share: share, associated: GatheringInputs.associated(.responder, theirs))
    try say(.confirmation(keys.confirmation()))
    guard case .confirmation(let confirmation)? = try frames.next(), try keys.isConfirmed(by: confirmation) else {
      throw RawOpener.Unexpected()
    }
    try frames.seal(keys, .initiator)
  }

  func say(_ message: GatheringMessage) throws { deliver(try frames.frame(message)) }

  func deliver(_ bytes: [UInt8]) { take(opener.receive(bytes, from: id, at: .zero)) }

  func take(_ more: [GatheringOpener.Action]) {
    for action in more {
      actions.append(action)
      if case .send(let bytes, id) = action { frames.append(bytes) }
    }
  }

  var failure: GatheringFailure? {
    first(in: actions) {
      if case .failed(let failure) = $0 { return failure }
      return nil
    }
  }
}

extension Yes {
  static let sampleKey = [UInt8](repeating: 8, count: 16)

  /// What somebody says who says yes to a list of these at a position, with ``sampleKey`` as beacon key.
  init(
    of signer: Person, to entries: [Reveal], _ commitments: [Digest], _ position: Int, opening: [UInt8]
  ) throws {
    var roll = try Roll(opening: opening, commitments: commitments)
    for (place, reveal) in entries.enumerated() { try roll.add(reveal, at: place) }
    let comparison = try Comparison(roll, own: 0)
    let binding = try comparison.binding(position, Self.sampleKey)
    self.init(signature: try signer.identity.sign(comparison.signedDigest(position, binding)), binding: binding)
  }
}
