import PeerAuth
import Sodium
import Testing
import WireCodec

@testable import Gathering

@Suite("Who lies in a gathering") struct LyingTests {
  private let opening = [UInt8](repeating: 5, count: 32)

  private struct Entry {
    let reveal: Reveal
    let commitment: Digest
  }

  private func made(_ person: Person, _ subkey: UInt8, card: PeerCard? = nil) throws -> Entry {
    let bytes = [UInt8](repeating: subkey, count: 32)
    let card = card ?? person.card
    return Entry(
      reveal: Reveal(card: card, subkey: bytes),
      commitment: try Commitment.of(card, bytes.span.bytes, opening: opening))
  }

  /// A guest that has revealed itself to a list of the liar's entry, itself, and others.
  private func revealed(_ raw: RawOpener, _ liar: Entry, _ others: [Entry]) throws -> Reveal {
    let own = try #require(raw.guestCommitment)
    try raw.say(.list([liar.commitment, own] + others.map(\.commitment)))
    guard case .reveal(let reveal)? = try raw.frames.next() else { throw RawOpener.Unexpected() }
    return reveal
  }

  @Test("an opener that shows a card which wasn't committed to is caught") func changedCard() throws {
    let (liar, victim) = (try Person("liar"), try Person("victim"))
    let entry = try made(liar, 1)
    let raw = try RawOpener(victim, opening: opening, commitment: entry.commitment)
    _ = try revealed(raw, entry, [])
    let other = try liar.identity.card(label: "somebody else", serial: 2)
    try raw.say(.revealed(position: 0, Reveal(card: other, subkey: entry.reveal.subkey)))
    #expect(raw.failure == .brokeRules(.opener))
    #expect(raw.list == nil)
  }

  @Test("an opener that shows another subkey than it committed to is caught") func changedSubkey() throws {
    let entry = try made(Person("liar"), 1)
    let raw = try RawOpener(Person("victim"), opening: opening, commitment: entry.commitment)
    _ = try revealed(raw, entry, [])
    try raw.say(.revealed(position: 0, Reveal(card: entry.reveal.card, subkey: [UInt8](repeating: 2, count: 32))))
    #expect(raw.failure == .brokeRules(.opener))
  }

  @Test("an opener that puts its own card in the place of another guest's shows other words to the two")
  func substituted() throws {
    let (liar, one, two) = (try Person("liar"), try Person("one"), try Person("two"))
    let opener = try made(liar, 1)
    // For each of the two, the liar plays the other, with keys of its own.
    let asTwo = try made(Person("two"), 2)
    let asOne = try made(Person("one"), 3)
    let first = try RawOpener(one, opening: opening, commitment: opener.commitment)
    let second = try RawOpener(two, opening: opening, commitment: opener.commitment)
    _ = try revealed(first, opener, [asTwo])
    let own = try #require(second.guestCommitment)
    try second.say(.list([opener.commitment, asOne.commitment, own]))
    try first.say(.revealed(position: 0, opener.reveal))
    try first.say(.revealed(position: 2, asTwo.reveal))
    try second.say(.revealed(position: 0, opener.reveal))
    try second.say(.revealed(position: 1, asOne.reveal))
    let (shown, other) = (try #require(first.list), try #require(second.list))
    #expect(shown.cards.map(\.label) == other.cards.map(\.label))
    #expect(shown.check != other.check)
  }

  @Test("an opener that gives two guests the same people in two orders shows them other words") func twoOrders() throws
  {
    let (liar, one, two) = (try Person("liar"), try Person("one"), try Person("two"))
    let opener = try made(liar, 1)
    let first = try RawOpener(one, opening: opening, commitment: opener.commitment)
    let second = try RawOpener(two, opening: opening, commitment: opener.commitment)
    let (a, b) = (try #require(first.guestCommitment), try #require(second.guestCommitment))
    try first.say(.list([opener.commitment, a, b]))
    try second.say(.list([opener.commitment, b, a]))
    guard case .reveal(let ofOne)? = try first.frames.next(), case .reveal(let ofTwo)? = try second.frames.next() else {
      throw RawOpener.Unexpected()
    }
    try first.say(.revealed(position: 0, opener.reveal))
    try first.say(.revealed(position: 2, ofTwo))
    try second.say(.revealed(position: 0, opener.reveal))
    try second.say(.revealed(position: 2, ofOne))
    #expect(try #require(first.list).check != (try #require(second.list)).check)
    // A yes to the one list is none to the other.
    second.take(second.guest.say(true))
    guard case .yes(let signature)? = try second.frames.next() else { throw RawOpener.Unexpected() }
    try first.say(.saidYes(position: 2, signature))
    #expect(first.failure == .brokeRules(GatheringParticipant(position: 2, label: "two")))
  }

  @Test("a list without the guest, with somebody twice, or with another opener than at first is refused")
  func wrongLists() throws {
    let (opener, other) = (try made(Person("liar"), 1), try made(Person("other"), 2))
    let lists: [(Digest) -> [Digest]] = [
      { _ in [opener.commitment, other.commitment] },
      { [opener.commitment, $0, $0] },
      { [other.commitment, $0] },
      { [$0, opener.commitment] },
    ]
    for list in lists {
      let raw = try RawOpener(Person("victim"), opening: opening, commitment: opener.commitment)
      try raw.say(.list(list(try #require(raw.guestCommitment))))
      #expect(raw.failure == .brokeRules(.opener))
      #expect(try raw.frames.next() == nil)
    }
  }

  @Test("a guest reveals itself to one list only") func secondList() throws {
    let opener = try made(Person("liar"), 1)
    let raw = try RawOpener(Person("victim"), opening: opening, commitment: opener.commitment)
    _ = try revealed(raw, opener, [])
    try raw.say(.list([opener.commitment, try #require(raw.guestCommitment), try made(Person("x"), 4).commitment]))
    #expect(raw.failure == .malformed(.invalidValue(field: "message")))
    #expect(try raw.frames.next() == nil)
  }

  @Test("a card with somebody else's keys, or with a wrong signature, is refused") func stolenCards() throws {
    let (liar, victim) = (try Person("liar"), try Person("victim"))
    let opener = try made(liar, 1)
    let unsigned = try PeerCard(
      keys: Person("x").card.keys, label: "x", serial: 1, signature: [UInt8](repeating: 7, count: 64))
    for card in [victim.card, liar.card, unsigned] {
      let bad = try made(liar, 2, card: card)
      let raw = try RawOpener(victim, opening: opening, commitment: opener.commitment)
      _ = try revealed(raw, opener, [bad])
      try raw.say(.revealed(position: 0, opener.reveal))
      try raw.say(.revealed(position: 2, bad.reveal))
      #expect(raw.failure == .brokeRules(GatheringParticipant(position: 2, label: nil)))
    }
  }

  @Test("an opener can't say yes for somebody whose key it hasn't, itself included") func forgedYes() throws {
    let (liar, absent, victim) = (try Person("liar"), try Person("absent"), try Person("victim"))
    // The liar shows a card that it has seen somewhere, but whose keys it hasn't.
    let opener = try made(absent, 1)
    let raw = try RawOpener(victim, opening: opening, commitment: opener.commitment)
    _ = try revealed(raw, opener, [])
    try raw.say(.revealed(position: 0, opener.reveal))
    raw.take(raw.guest.say(true))
    #expect(raw.cards == nil)
    let signature = try liar.identity.sign(Digest([UInt8](repeating: 1, count: 32)))
    try raw.say(.saidYes(position: 0, signature))
    #expect(raw.failure == .brokeRules(GatheringParticipant(position: 0, label: "absent")))
    #expect(raw.cards == nil)
  }

  @Test("whoever knows another code isn't believed to be the opener") func impostor() throws {
    let opener = try made(Person("liar"), 1)
    let guest = try GatheringGuest(
      code: mapleHarbor("7-maple-maple"), card: Person("guest").card, identity: Identity.generate(), at: .zero)
    var frames = GatheringFrames()
    _ = guest.receive(
      try frames.frame(.greeting(number: 7, opening: opening, nonce: [UInt8](repeating: 1, count: 32))), at: .zero)
    let scalar = try RistrettoScalar.random()
    let share = try RistrettoPoint.generator.multiplied(by: scalar).bytes
    _ = guest.receive(try frames.frame(.answer(share: share, commitment: opener.commitment)), at: .zero)
    let tag = [UInt8](repeating: 1, count: 64)
    let actions = guest.receive(try frames.frame(.confirmation(tag)), at: .zero)
    guard case .failed(.notLetIn)? = actions.last else {
      Issue.record("\(actions)")
      return
    }
  }

  @Test("a guest's own words, sent back to it, let nobody in") func reflected() throws {
    let guest = try GatheringGuest(
      code: mapleHarbor(), card: Person("guest").card, identity: Identity.generate(), at: .zero)
    var frames = GatheringFrames()
    let sent = guest.receive(
      try frames.frame(.greeting(number: 7, opening: opening, nonce: [UInt8](repeating: 1, count: 32))), at: .zero)
    guard case .send(let bytes)? = sent.first else { throw RawOpener.Unexpected() }
    frames.append(bytes)
    guard case .hello(_, let share, let commitment)? = try frames.next() else { throw RawOpener.Unexpected() }
    let actions = guest.receive(try frames.frame(.answer(share: share, commitment: commitment)), at: .zero)
    guard case .failed(.notLetIn)? = actions.last, actions.count == 1 else {
      Issue.record("\(actions)")
      return
    }
  }

  @Test("a guest that reveals what it hadn't committed to ends it, and is named") func lyingGuest() throws {
    let opener = try Person("opener")
    let gathering = try GatheringOpener(card: opener.card, identity: opener.identity, at: .zero)
    let liar = try Person("liar")
    let subkey = [UInt8](repeating: 1, count: 32)
    let raw = try RawGuest(gathering, committedTo: Reveal(card: liar.card, subkey: subkey))
    raw.take(gathering.close(at: .zero))
    let other = try liar.identity.card(label: "somebody else", serial: 1)
    try raw.say(.reveal(Reveal(card: other, subkey: subkey)))
    let who = GatheringParticipant(position: 1, label: nil)
    #expect(raw.failure == .brokeRules(who))
  }

  @Test("a guest that shows a card whose key it hasn't can't say yes") func borrowedCard() throws {
    let opener = try Person("opener")
    let gathering = try GatheringOpener(card: opener.card, identity: opener.identity, at: .zero)
    let owner = try Person("owner")
    let reveal = Reveal(card: owner.card, subkey: [UInt8](repeating: 1, count: 32))
    let raw = try RawGuest(gathering, committedTo: reveal)
    raw.take(gathering.close(at: .zero))
    try raw.say(.reveal(reveal))
    raw.take(gathering.say(true))
    try raw.say(.yes([UInt8](repeating: 1, count: 64)))
    #expect(raw.failure == .brokeRules(GatheringParticipant(position: 1, label: "owner")))
  }

  @Test("a guest that reveals before the list is closed is put out, and the opening goes on") func tooEarly() throws {
    let opener = try Person("opener")
    let gathering = try GatheringOpener(card: opener.card, identity: opener.identity, at: .zero)
    let reveal = Reveal(card: try Person("hasty").card, subkey: [UInt8](repeating: 1, count: 32))
    let raw = try RawGuest(gathering, committedTo: reveal)
    try raw.say(.reveal(reveal))
    #expect(raw.failure == nil)
    #expect(raw.actions.contains { if case .hangUp(raw.id) = $0 { true } else { false } })
    #expect(gathering.deadline == .seconds(300))
  }

  @Test("a second guest with another's commitment is put out") func copiedCommitment() throws {
    let opener = try Person("opener")
    let gathering = try GatheringOpener(card: opener.card, identity: opener.identity, at: .zero)
    let reveal = Reveal(card: try Person("guest").card, subkey: [UInt8](repeating: 1, count: 32))
    _ = try RawGuest(gathering, committedTo: reveal)
    #expect(throws: RawOpener.Unexpected.self) { _ = try RawGuest(gathering, committedTo: reveal) }
  }
}

@Suite("What becomes of a gathering's messages on their way") struct WayTests {
  /// Runs a gathering of three whose way changes something; all users say yes.
  private func run(
    toGuest: @escaping (Int, [UInt8]) -> [[UInt8]] = { [$1] },
    toOpener: @escaping (Int, [UInt8]) -> [[UInt8]] = { [$1] }
  ) throws -> Table {
    let table = try Table(opener: Person("opener"))
    table.toGuest = toGuest
    table.toOpener = toOpener
    for name in ["one", "two"] { try table.come(Person(name)) }
    table.close()
    table.openerSays(true)
    for id in table.ids { table.says(id, true) }
    return table
  }

  @Test("a message to a guest that comes twice ends it", arguments: 0..<8) func replayed(which: Int) throws {
    var count = 0
    let table = try run(toGuest: { number, bytes in
      guard number == 0 else { return [bytes] }
      count += 1
      return count == which + 1 ? [bytes, bytes] : [bytes]
    })
    // Behind the last yes the guest is done, and deaf.
    #expect((table.cards(table.ids[0]) != nil) == (which == 7))
    #expect((table.failure(table.ids[0]) != nil) == (which < 7))
  }

  @Test("a message to the opener that comes twice ends it", arguments: 0..<4) func replayedToOpener(which: Int) throws {
    var count = 0
    let table = try run(toOpener: { number, bytes in
      guard number == 0 else { return [bytes] }
      count += 1
      return count == which + 1 ? [bytes, bytes] : [bytes]
    })
    #expect(table.cards(table.ids[0]) == nil)
    #expect(table.failure(table.ids[0]) != nil)
  }

  @Test("two messages to a guest in the wrong order end it") func reordered() throws {
    var held: [UInt8]?
    var count = 0
    let table = try run(toGuest: { number, bytes in
      guard number == 1 else { return [bytes] }
      count += 1
      // The two reveals of the others.
      if count == 5 {
        held = bytes
        return []
      }
      defer { held = nil }
      return held.map { [bytes, $0] } ?? [bytes]
    })
    #expect(table.failure(table.ids[1]) == .malformed(.invalidValue(field: "frame")))
    #expect(table.openerCards == nil)
  }

  @Test("a message that is cut off never counts") func truncated() throws {
    for cut in 0..<8 {
      var count = 0
      let table = try run(toGuest: { number, bytes in
        guard number == 0 else { return [bytes] }
        count += 1
        if count < cut + 1 { return [bytes] }
        return count == cut + 1 ? [Array(bytes.dropLast())] : []
      })
      #expect(table.cards(table.ids[0]) == nil)
    }
  }

  @Test("lengths outside the limits are refused before their bytes come") func lengths() throws {
    let table = try Table(opener: Person("opener"))
    for length in [[0, 0], [0, 129], [255, 255]] as [[UInt8]] {
      let (id, _) = try #require(table.opener.connected(at: .zero))
      table.take(table.opener.receive(length, from: id, at: .zero))
      #expect(table.hungUp(id))
    }
    let guest = try GatheringGuest(
      code: mapleHarbor(), card: Person("guest").card, identity: Identity.generate(), at: .zero)
    guard
      case .failed(.malformed(.limitExceeded(field: "frame", limit: 128)))? = guest.receive([1, 0], at: .zero).first
    else {
      Issue.record("a frame of 256 bytes in the clear")
      return
    }
  }

  @Test("whatever single bit changes on the way, nobody ends with another list than the others") func flipped() throws {
    for seed in 0..<120 {
      var place = 0
      let target = seed * 37
      let flip: (Int, [UInt8]) -> [[UInt8]] = { _, bytes in
        defer { place += bytes.count }
        guard (place..<(place + bytes.count)).contains(target) else { return [bytes] }
        var changed = bytes
        changed[target - place] ^= UInt8(1 << (seed % 8))
        return [changed]
      }
      let table = try run(toGuest: flip, toOpener: flip)
      var results = table.ids.compactMap { id in table.cards(id).map { _ in table.list(id) } }
      if table.openerCards != nil { results.append(table.openerList) }
      #expect(Set(results.map { $0?.cards }).count <= 1)
      #expect(Set(results.map { $0?.check }).count <= 1)
      // The whole run is shorter than the farthest place.
      if target < place { #expect(table.openerCards == nil || table.ids.contains { table.cards($0) == nil }) }
    }
  }

  @Test("each message is read back as it was written, and no byte more or fewer is taken") func coding() throws {
    let person = try Person("somebody")
    let digest = try Digest([UInt8](repeating: 1, count: 32))
    let bytes = [UInt8](repeating: 2, count: 32)
    let long = bytes + bytes
    let reveal = Reveal(card: person.card, subkey: bytes)
    let messages: [GatheringMessage] = [
      .greeting(number: 99, opening: bytes, nonce: bytes), .hello(nonce: bytes, share: bytes, commitment: digest),
      .answer(share: bytes, commitment: digest), .confirmation(long), .list([digest, digest]), .reveal(reveal),
      .revealed(position: 20, reveal), .yes(long), .no, .saidYes(position: 0, long), .ended(.saidNo, position: 3),
    ]
    for message in messages {
      let encoded = try message.encoded()
      #expect(try GatheringMessage.decode(encoded, limit: 4096) == message)
      #expect(throws: WireError.self) { try GatheringMessage.decode(encoded + [0], limit: 4096) }
      #expect(throws: WireError.self) { try GatheringMessage.decode(Array(encoded.dropLast()), limit: 4096) }
    }
    for refused in [[], [0], [5], [23], [22, 7, 0], [22, 1, 21], [16, 1] + bytes, [16, 22], [1, 2]] as [[UInt8]] {
      #expect(throws: WireError.self) { try GatheringMessage.decode(refused, limit: 4096) }
    }
  }
}
