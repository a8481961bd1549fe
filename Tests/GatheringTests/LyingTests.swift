import PeerAuth
import Sodium
import Testing

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

  @Test("an opener that shows a guest's own reveal, or somebody's twice, is the one who broke the rules")
  func shownAgain() throws {
    for again in [0, 1] as [UInt8] {
      let entry = try made(Person("liar"), 1)
      let raw = try RawOpener(Person("victim"), opening: opening, commitment: entry.commitment)
      let own = try revealed(raw, entry, [try made(Person("other"), 2)])
      try raw.say(.revealed(position: 0, entry.reveal))
      try raw.say(.revealed(position: again, again == 0 ? entry.reveal : own))
      #expect(raw.failure == .brokeRules(GatheringParticipant(position: 0, label: "liar")))
    }
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
    second.take(second.guest.say(true, at: .zero))
    guard case .yes(let yes)? = try second.frames.next() else { throw RawOpener.Unexpected() }
    try first.say(.saidYes(position: 2, yes))
    #expect(first.failure == .brokeRules(GatheringParticipant(position: 0, label: "liar")))
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

  @Test("a card with somebody else's keys, a wrong signature or no name is refused, and the opener named")
  func stolenCards() throws {
    let (liar, victim) = (try Person("liar"), try Person("victim"))
    let opener = try made(liar, 1)
    let unsigned = try PeerCard(
      keys: Person("x").card.keys, label: "x", serial: 1, signature: [UInt8](repeating: 7, count: 64))
    for card in [victim.card, liar.card, unsigned, try Person(" \u{200b}").card] {
      let bad = try made(liar, 2, card: card)
      let raw = try RawOpener(victim, opening: opening, commitment: opener.commitment)
      _ = try revealed(raw, opener, [bad])
      try raw.say(.revealed(position: 0, opener.reveal))
      try raw.say(.revealed(position: 2, bad.reveal))
      #expect(raw.failure == .brokeRules(GatheringParticipant(position: 0, label: "liar")))
    }
  }

  @Test("a yes holds with the card's own key, for its own position and binding only", arguments: 0..<5)
  func forgedYes(which: Int) throws {
    let (liar, owner, victim) = (try Person("liar"), try Person("owner"), try Person("victim"))
    let (opener, third) = (try made(liar, 1), try made(owner, 2))
    let raw = try RawOpener(victim, opening: opening, commitment: opener.commitment)
    let own = try revealed(raw, opener, [third])
    try raw.say(.revealed(position: 0, opener.reveal))
    try raw.say(.revealed(position: 2, third.reveal))
    raw.take(raw.guest.say(true, at: .zero))
    let entries = [opener.reveal, own, third.reveal]
    let commitments = [opener.commitment, try #require(raw.guestCommitment), third.commitment]
    func signed(_ person: Person, _ position: Int) throws -> Yes {
      try Yes(of: person, to: entries, commitments, position, opening: opening)
    }
    try raw.say(.saidYes(position: 0, signed(liar, 0)))
    #expect(raw.failure == nil)
    let said =
      switch which {
      case 0: try signed(owner, 2)
      case 1: try signed(liar, 2)
      case 2: try signed(owner, 0)
      case 3: Yes(signature: try signed(owner, 2).signature, binding: third.commitment)
      default: try signed(owner, 1)
      }
    try raw.say(.saidYes(position: 2, said))
    #expect(raw.cards == nil)
    if which == 0 { for position in [0, 2] as [UInt8] { try raw.say(.keyed(position: position, Yes.sampleKey)) } }
    #expect((raw.cards != nil) == (which == 0))
    #expect(raw.failure == (which == 0 ? nil : .brokeRules(GatheringParticipant(position: 0, label: "liar"))))
  }

  @Test("whoever answers with another code isn't believed to be the opener") func impostor() throws {
    let opener = try made(Person("liar"), 1)
    for code in ["7-maple-harbor", "7-maple-maple"] {
      let person = try Person("guest")
      let guest = try GatheringGuest(code: mapleHarbor(), card: person.own, identity: person.identity, at: .zero)
      var frames = GatheringFrames()
      func say(_ message: GatheringMessage) throws -> [GatheringGuest.Action] {
        let actions = guest.receive(try frames.frame(message), at: .zero)
        for case .send(let bytes) in actions { frames.append(bytes) }
        return actions
      }
      let nonce = [UInt8](repeating: 1, count: 32)
      _ = try say(.greeting(number: 7, opening: opening, nonce: nonce))
      guard case .hello(let theirNonce, let share, let theirs)? = try frames.next() else {
        throw RawOpener.Unexpected()
      }
      let cpace = try CPace(
        .responder, password: mapleHarbor(code).password, channel: GatheringInputs.channel(number: 7, opening: opening),
        session: nonce + theirNonce, associated: GatheringInputs.associated(.responder, opener.commitment),
        scalar: RistrettoScalar.random())
      let ownShare = cpace.share
      let keys = try cpace.finish(share: share, associated: GatheringInputs.associated(.initiator, theirs))
      _ = try say(.answer(share: ownShare, commitment: opener.commitment))
      guard case .confirmation(let confirmation)? = try frames.next() else { throw RawOpener.Unexpected() }
      let isRight = code == "7-maple-harbor"
      let isConfirmed = try keys.isConfirmed(by: confirmation)
      #expect(isConfirmed == isRight)
      switch try say(.confirmation(keys.confirmation())).last {
      case .joined: #expect(isRight)
      case .failed(.notLetIn): #expect(!isRight)
      case let other: Issue.record("\(String(describing: other))")
      }
    }
  }

  /// The neutral element, and what encodes none.
  private let badShares = [[UInt8](repeating: 0, count: 32), [UInt8](repeating: 255, count: 32)]

  @Test("a guest takes no neutral or invalid share, and confirms nothing") func badShareOfOpener() throws {
    let opener = try made(Person("liar"), 1)
    for share in badShares {
      let person = try Person("guest")
      let guest = try GatheringGuest(code: mapleHarbor(), card: person.own, identity: person.identity, at: .zero)
      var frames = GatheringFrames()
      let nonce = [UInt8](repeating: 1, count: 32)
      _ = guest.receive(try frames.frame(.greeting(number: 7, opening: opening, nonce: nonce)), at: .zero)
      let answer = GatheringMessage.answer(share: share, commitment: opener.commitment)
      let actions = guest.receive(try frames.frame(answer), at: .zero)
      guard case .failed(.malformed(.invalidValue(field: "share")))? = actions.first, actions.count == 1 else {
        Issue.record("\(actions)")
        continue
      }
    }
  }

  @Test("an opener takes no neutral or invalid share, hangs up without an answer, and counts no wrong code")
  func badShareOfGuest() throws {
    let person = try Person("opener")
    let gathering = try GatheringOpener(card: person.own, identity: person.identity, at: .zero)
    for share in badShares + badShares {
      let id = try #require(gathering.connected(at: .zero).id)
      var frames = GatheringFrames()
      let hello = GatheringMessage.hello(
        nonce: [UInt8](repeating: 1, count: 32), share: share, commitment: try made(Person("guest"), 1).commitment)
      let actions = gathering.receive(try frames.frame(hello), from: id, at: .zero)
      guard case .hangUp(id)? = actions.first, actions.count == 1 else {
        Issue.record("\(actions)")
        continue
      }
    }
    #expect(gathering.deadline == .seconds(300))
  }

  @Test("a guest's own words, sent back to it, let nobody in") func reflected() throws {
    let guest = try GatheringGuest(
      code: mapleHarbor(), card: Person("guest").own, identity: Identity.generate(), at: .zero)
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

  @Test("a beacon key that no yes has bound, or that comes twice, is no reason to lose the cards that all agreed to")
  func falseKey() throws {
    for isTwice in [true, false] {
      let (liar, owner) = (try Person("liar"), try Person("owner"))
      let (opener, third) = (try made(liar, 1), try made(owner, 2))
      let raw = try RawOpener(Person("victim"), opening: opening, commitment: opener.commitment)
      let own = try revealed(raw, opener, [third])
      try raw.say(.revealed(position: 0, opener.reveal))
      try raw.say(.revealed(position: 2, third.reveal))
      raw.take(raw.guest.say(true, at: .zero))
      let entries = [opener.reveal, own, third.reveal]
      let commitments = [opener.commitment, try #require(raw.guestCommitment), third.commitment]
      try raw.say(.saidYes(position: 0, Yes(of: liar, to: entries, commitments, 0, opening: opening)))
      try raw.say(.saidYes(position: 2, Yes(of: owner, to: entries, commitments, 2, opening: opening)))
      try raw.say(.keyed(position: 0, Yes.sampleKey))
      try raw.say(.keyed(position: isTwice ? 0 : 2, isTwice ? Yes.sampleKey : [UInt8](repeating: 9, count: 16)))
      #expect(raw.cards?.map(\.beaconKey) == [Yes.sampleKey, nil])
    }
  }

}
