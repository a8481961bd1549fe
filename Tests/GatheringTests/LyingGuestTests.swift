import PeerAuth
import Sodium
import Testing

@testable import Gathering

@Suite("A guest that lies in a gathering") struct LyingGuestTests {
  @Test("a guest that reveals what it hadn't committed to ends it, and is named") func lyingGuest() throws {
    let opener = try Person("opener")
    let gathering = try GatheringOpener(card: opener.own, identity: opener.identity, at: .zero)
    let liar = try Person("liar")
    let subkey = [UInt8](repeating: 1, count: 32)
    let raw = try RawGuest(gathering, committedTo: Reveal(card: liar.card, subkey: subkey))
    raw.take(gathering.close(at: .zero))
    let other = try liar.identity.card(label: "somebody else", serial: 1)
    try raw.say(.reveal(Reveal(card: other, subkey: subkey)))
    let who = GatheringParticipant(position: 1, label: nil)
    #expect(raw.failure == .brokeRules(who))
  }

  @Test("a guest's yes holds with its card's own key and for its own position only", arguments: 0..<3)
  func borrowedCard(which: Int) throws {
    let (opener, owner) = (try Person("opener"), try Person("owner"))
    // Chance that is always the same, so that the test knows the opener's subkey.
    let gathering = try GatheringOpener(card: opener.own, identity: opener.identity, at: .zero) {
      (count) throws(SodiumError) in
      let drawn = [UInt8](repeating: 1, count: count)
      return try SecretBytes(copying: drawn.span.bytes)
    }
    let subkey = [UInt8](repeating: 1, count: 32)
    let reveal = Reveal(card: owner.card, subkey: subkey)
    let raw = try RawGuest(gathering, committedTo: reveal)
    raw.take(gathering.close(at: .zero))
    guard case .list(let commitments)? = try raw.frames.next() else { throw RawOpener.Unexpected() }
    try raw.say(.reveal(reveal))
    raw.take(gathering.say(true, at: .zero))
    let entries = [Reveal(card: opener.card.published, subkey: subkey), reveal]
    let signer = which == 1 ? try Person("liar") : owner
    let position = which == 2 ? 0 : 1
    let drawn = [UInt8](repeating: 1, count: 32)
    try raw.say(.yes(Yes(of: signer, to: entries, commitments, position, opening: drawn)))
    if which == 0 { try raw.say(.key(Yes.sampleKey)) }
    #expect(raw.failure == (which == 0 ? nil : .brokeRules(GatheringParticipant(position: 1, label: "owner"))))
    #expect(raw.actions.contains { if case .finished = $0 { true } else { false } } == (which == 0))
  }

  @Test("when a guest has committed to another's card, both are named, whoever is first, and both hear it")
  func takenCard() throws {
    let (opener, victim) = (try Person("opener"), try Person("victim"))
    for isThiefFirst in [true, false] {
      let gathering = try GatheringOpener(card: opener.own, identity: opener.identity, at: .zero)
      let stolen = Reveal(card: victim.card, subkey: [UInt8](repeating: 1, count: 32))
      let own = Reveal(card: victim.card, subkey: [UInt8](repeating: 2, count: 32))
      let one = try RawGuest(gathering, committedTo: stolen)
      let two = try RawGuest(gathering, committedTo: own)
      func pass(_ actions: [GatheringOpener.Action]) {
        one.take(actions)
        two.take(actions)
      }
      pass(gathering.close(at: .zero))
      let order = isThiefFirst ? [(one, stolen), (two, own)] : [(two, own), (one, stolen)]
      for (guest, reveal) in order {
        let bytes = try guest.frames.frame(.reveal(reveal))
        pass(gathering.receive(bytes, from: guest.id, at: .zero))
      }
      let names = [1, 2].map { place in
        GatheringParticipant(position: place, label: (place == 1) == isThiefFirst ? "victim" : nil)
      }
      #expect(one.failure == .sameKey(names[0], names[1]))
      for guest in [one, two] {
        guard case .list? = try guest.frames.next() else { throw RawOpener.Unexpected() }
        #expect(try guest.frames.next() == .ended(.sameKey, position: 1, other: 2))
      }
    }
  }

  @Test("a guest that shows the opener's own card, or no name, is named, and hears it", arguments: [true, false])
  func openersCard(isOpeners: Bool) throws {
    let opener = try Person("opener")
    let gathering = try GatheringOpener(card: opener.own, identity: opener.identity, at: .zero)
    let card = isOpeners ? opener.card : try Person("\u{3164}\u{2800}").card
    let reveal = Reveal(card: card, subkey: [UInt8](repeating: 1, count: 32))
    let raw = try RawGuest(gathering, committedTo: reveal)
    raw.take(gathering.close(at: .zero))
    try raw.say(.reveal(reveal))
    #expect(raw.failure == .brokeRules(GatheringParticipant(position: 1, label: nil)))
    guard case .list? = try raw.frames.next() else { throw RawOpener.Unexpected() }
    #expect(try raw.frames.next() == .ended(.brokeRules, position: 1, other: 0))
  }

  @Test("a bit that changes on the way from a guest is no lie: the guest has left") func changedOnTheWay() throws {
    let opener = try Person("opener")
    for place in [1, 2, 500] {
      let gathering = try GatheringOpener(card: opener.own, identity: opener.identity, at: .zero)
      let reveal = Reveal(card: try Person("guest").card, subkey: [UInt8](repeating: 1, count: 32))
      let raw = try RawGuest(gathering, committedTo: reveal)
      raw.take(gathering.close(at: .zero))
      var bytes = try raw.frames.frame(.reveal(reveal))
      bytes[place] ^= 1
      raw.deliver(bytes + [0])
      #expect(raw.failure == .left(GatheringParticipant(position: 1, label: nil)))
    }
  }

  @Test("a guest that reveals before the list is closed is put out, and the opening goes on") func tooEarly() throws {
    let opener = try Person("opener")
    let gathering = try GatheringOpener(card: opener.own, identity: opener.identity, at: .zero)
    let reveal = Reveal(card: try Person("hasty").card, subkey: [UInt8](repeating: 1, count: 32))
    let raw = try RawGuest(gathering, committedTo: reveal)
    try raw.say(.reveal(reveal))
    #expect(raw.failure == nil)
    #expect(raw.actions.contains { if case .hangUp(raw.id) = $0 { true } else { false } })
    #expect(gathering.deadline == .seconds(300))
  }

  @Test("a second guest with another's commitment is put out") func copiedCommitment() throws {
    let opener = try Person("opener")
    let gathering = try GatheringOpener(card: opener.own, identity: opener.identity, at: .zero)
    let reveal = Reveal(card: try Person("guest").card, subkey: [UInt8](repeating: 1, count: 32))
    _ = try RawGuest(gathering, committedTo: reveal)
    #expect(throws: RawOpener.Unexpected.self) { _ = try RawGuest(gathering, committedTo: reveal) }
  }
}
