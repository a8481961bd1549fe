import PeerAuth
import Sodium
import WireCodec

/// What a participant binds itself to before it knows anybody else's card: a hash of its card and a random subkey.
enum Commitment {
  static let openingByteCount = 32

  /// BLAKE2b-256("vault/gathering-commitment/v1", opening, card, subkey). The subkey hides the card, and the hash binds both.
  static func of(_ card: PeerCard, _ subkey: RawSpan, opening: [UInt8]) throws(SodiumError) -> Digest {
    var hash = try DomainHash("vault/gathering-commitment/v1")
    hash.append(opening)
    hash.append(card.encoding)
    hash.append(subkey)
    return hash.digest()
  }

  static func of(_ card: PeerCard, _ subkey: borrowing SecretBytes, opening: [UInt8]) throws(SodiumError) -> Digest {
    try of(card, subkey.bytes, opening: opening)
  }
}

/// The closed list: who takes part, in which order, and what each has revealed of it. The same on every device, or the
/// group check differs (Laur and Pasini, "SAS-Based Group Authentication and Key Agreement Protocols", PKC 2008).
struct Roll {
  /// The opener and 1 to 20 guests.
  static let sizes = 2...(GatheringOpener.guestLimit + 1)

  let opening: [UInt8]
  let commitments: [Digest]
  private(set) var reveals: [Reveal?]

  /// Throws ``GatheringFailure/brokeRules(_:)`` of the opener if the list is too short, too long or has somebody twice.
  init(opening: [UInt8], commitments: [Digest]) throws(GatheringFailure) {
    guard Self.sizes.contains(commitments.count), Set(commitments).count == commitments.count else {
      throw .brokeRules(.opener)
    }
    self.opening = opening
    self.commitments = commitments
    reveals = Array(repeating: nil, count: commitments.count)
  }

  var isComplete: Bool { reveals.allSatisfy { $0 != nil } }

  /// How somebody of the list is called.
  func participant(_ position: Int) -> GatheringParticipant {
    let label = reveals.indices.contains(position) ? reveals[position]?.card.label : nil
    return GatheringParticipant(position: position, label: label)
  }

  /// Takes what the participant at `position` reveals. Throws ``GatheringFailure/brokeRules(_:)`` of it unless that is
  /// what it had committed to, its card is signed by itself, has a name that can be seen, and no key of the opener's;
  /// ``GatheringFailure/sameKey(_:_:)`` if another has one of its keys, for the first to show a card needn't be its
  /// owner.
  mutating func add(_ reveal: Reveal, at position: Int) throws(GatheringFailure) {
    let participant = GatheringParticipant(position: position, label: nil)
    guard reveals.indices.contains(position), reveals[position] == nil else { throw .brokeRules(participant) }
    let commitment = try gathering(
      Commitment.of(reveal.card, reveal.subkey.span.bytes, opening: opening))
    guard commitment == commitments[position] else { throw .brokeRules(participant) }
    do throws(CardError) { try reveal.card.verify() } catch {
      if case .sodium(let error) = error { throw .sodium(error) }
      throw .brokeRules(participant)
    }
    guard reveal.card.hasVisibleName else { throw .brokeRules(participant) }
    if let other = reveals.firstIndex(where: { $0?.card.keys.sharesKey(with: reveal.card.keys) ?? false }) {
      guard other != 0 else { throw .brokeRules(participant) }
      throw .sameKey(self.participant(min(position, other)), self.participant(max(position, other)))
    }
    reveals[position] = reveal
  }

  /// BLAKE2b-256("vault/gathering-transcript/v1", opening, number of participants, all commitments, then every card and
  /// subkey, in the list's order).
  func transcript() throws(GatheringFailure) -> Digest {
    var hash = try gathering(DomainHash("vault/gathering-transcript/v1"))
    hash.append(opening)
    hash.append(UInt64(commitments.count))
    for commitment in commitments { hash.append(commitment) }
    for case let reveal? in reveals {
      hash.append(reveal.card.encoding)
      hash.append(reveal.subkey)
    }
    return hash.digest()
  }
}

/// A complete roll, what people compare, and who has said yes to it.
struct Comparison {
  let list: GatheringList
  private let transcript: Digest
  /// Who has said yes, and by what their beacon keys are bound.
  private var agreed: [Int: Digest] = [:]
  private var beaconKeys: [Int: [UInt8]] = [:]

  init(_ roll: Roll, own: Int) throws(GatheringFailure) {
    transcript = try roll.transcript()
    list = GatheringList(
      cards: roll.reveals.compactMap { $0?.card }, own: own, check: try gathering(GroupCheck(transcript: transcript)))
  }

  /// Whether everybody has said yes.
  var isAgreed: Bool { agreed.count == list.cards.count }

  /// Whether this device has said yes.
  var isAnswered: Bool { agreed[list.own] != nil }

  /// Whether everybody else's beacon key is here.
  var isRecognised: Bool { beaconKeys.count == list.cards.count - 1 }

  /// The cards of all others, with the beacon keys that have come.
  var others: [PeerCard] {
    list.cards.indices.filter { $0 != list.own }.map { position in
      let card = list.cards[position]
      return beaconKeys[position].flatMap { try? card.recognisable(by: $0) } ?? card
    }
  }

  /// Who at a position.
  func participant(_ position: Int) -> GatheringParticipant {
    let label = list.cards.indices.contains(position) ? list.cards[position].label : nil
    return GatheringParticipant(position: position, label: label)
  }

  /// What whoever says yes signs: a yes is to this very list, and only who has the card's signing key can say it.
  func signedDigest(_ position: Int, _ binding: Digest) throws(SodiumError) -> Digest {
    var hash = try DomainHash("vault/gathering-yes/v1")
    hash.append(transcript)
    hash.append(UInt64(position))
    hash.append(binding)
    return hash.digest()
  }

  /// BLAKE2b-256("vault/gathering-beacon/v1", transcript, position, beacon key): hides the key, which is random, and binds it.
  func binding(_ position: Int, _ beaconKey: [UInt8]) throws(SodiumError) -> Digest {
    var hash = try DomainHash("vault/gathering-beacon/v1")
    hash.append(transcript)
    hash.append(UInt64(position))
    hash.append(beaconKey)
    return hash.digest()
  }

  /// This device's own yes; nil if it was said already.
  mutating func agree(_ identity: Identity, _ beaconKey: [UInt8]) throws(GatheringFailure) -> Yes? {
    let binding = try gathering(binding(list.own, beaconKey))
    guard agreed.updateValue(binding, forKey: list.own) == nil else { return nil }
    return Yes(signature: try gathering(identity.sign(signedDigest(list.own, binding))), binding: binding)
  }

  /// Takes somebody else's yes. A wrong, own or second one breaks the rules.
  mutating func take(_ yes: Yes, at position: Int) throws(GatheringFailure) {
    guard list.cards.indices.contains(position), position != list.own, agreed[position] == nil else {
      throw .brokeRules(participant(position))
    }
    do throws(SodiumError) {
      try Ed25519.verify(
        yes.signature, of: try signedDigest(position, yes.binding), by: list.cards[position].keys.signing)
    } catch .verificationFailed {
      throw .brokeRules(participant(position))
    } catch { throw .sodium(error) }
    agreed[position] = yes.binding
  }

  /// Takes somebody else's beacon key; false if it isn't what the yes had bound, or one was there.
  mutating func recognise(_ position: Int, by beaconKey: [UInt8]) throws(GatheringFailure) -> Bool {
    guard position != list.own, beaconKeys[position] == nil, let bound = agreed[position],
      try gathering(binding(position, beaconKey)) == bound
    else { return false }
    beaconKeys[position] = beaconKey
    return true
  }
}
