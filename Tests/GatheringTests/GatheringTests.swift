import PeerAuth
import Sodium
import Testing
import WireCodec

@testable import Gathering

@Suite("A gathering") struct GatheringTests {
  private func gathered(_ count: Int) throws -> (table: Table, people: [Person]) {
    let people = try (0...count).map { try Person("person \($0)") }
    let table = try Table(opener: people[0])
    for person in people.dropFirst() { try table.come(person) }
    return (table, people)
  }

  @Test(
    "of 2, 5 and 21 people shows all the same names and words, and ends with everybody's cards", arguments: [1, 4, 20])
  func honest(guests: Int) throws {
    let (table, people) = try gathered(guests)
    #expect(table.guestCount == guests)
    table.close()
    let list = try #require(table.openerList)
    #expect(list.cards == people.map(\.card.published))
    for (place, id) in table.ids.enumerated() {
      let shown = try #require(table.list(id))
      #expect(shown.cards == list.cards && shown.check == list.check && shown.own == place + 1)
      #expect(table.cards(id) == nil)
    }
    for id in table.ids { table.says(id, true) }
    #expect(table.openerCards == nil)
    table.openerSays(true)
    #expect(table.openerCards?.map(\.published) == Array(list.cards.dropFirst()))
    for (place, id) in table.ids.enumerated() {
      var others = list.cards
      others.remove(at: place + 1)
      #expect(table.cards(id)?.map(\.published) == others)
    }
    #expect(table.opener.deadline == nil)
  }

  @Test("is the same when every byte comes alone") func bytes() throws {
    let people = try ["opener", "one", "two"].map { try Person($0) }
    let table = try Table(opener: people[0])
    table.toGuest = { _, bytes in bytes.map { [$0] } }
    table.toOpener = { _, bytes in bytes.map { [$0] } }
    for person in people.dropFirst() { try table.come(person) }
    table.close()
    table.openerSays(true)
    for id in table.ids { table.says(id, true) }
    #expect(table.openerCards?.count == 2)
    #expect(table.ids.allSatisfy { table.cards($0)?.count == 2 })
  }

  @Test("never has two of the same words for other cards, subkeys or openings") func fresh() throws {
    var seen: Set<GroupCheck> = []
    for _ in 0..<5 {
      let (table, _) = try gathered(1)
      table.close()
      seen.insert(try #require(table.openerList).check)
    }
    #expect(seen.count == 5)
  }

  @Test("gives beacon keys when all have said yes, and not before") func beacon() throws {
    let (opener, guest) = (try Person("opener"), try Person("guest"))
    let table = try Table(opener: opener)
    let id = try #require(try table.come(guest))
    table.close()
    #expect(try #require(table.openerList).cards.allSatisfy { $0.beaconKey == nil })
    table.openerSays(true)
    var keys = 0
    table.toGuest = { _, bytes in
      keys += 1
      return [bytes]
    }
    table.says(id, true)
    // The opener's key, and nothing else.
    #expect(keys == 1)
    #expect(table.openerCards == [guest.own])
    #expect(table.cards(id) == [opener.own])
    let reveal = Reveal(card: try Person("other").own, subkey: [UInt8](repeating: 1, count: 32))
    #expect(throws: WireError.invalidValue(field: "card")) {
      _ = try GatheringMessage.decode(GatheringMessage.reveal(reveal).encoded(), limit: 4096)
    }
  }

  // MARK: - Codes

  @Test("ends for all at the third wrong code, and only then") func wrongCodes() throws {
    let table = try Table(opener: Person("opener"))
    let words = table.opener.code.text.split(separator: "-")
    let wrong = "\(words[0])-\(words[1])-\(words[2] == "maple" ? "harbor" : "maple")"
    let early = try #require(try table.come(Person("early")))
    for attempt in 1...3 {
      let id = try #require(try table.come(Person("guesser"), code: wrong))
      #expect(table.failure(id) == .notLetIn)
      #expect((table.openerFailure != nil) == (attempt == 3))
      // Nothing that the opener has sent shows what would have been right.
      let sent = table.openerActions.filter { if case .send(_, id) = $0 { true } else { false } }
      #expect(sent.count == 2)
    }
    #expect(table.openerFailure == .tooManyWrongCodes)
    #expect(table.failure(early) == .tooManyWrongCodes)
    #expect(try table.come(Person("late")) == nil)
  }

  @Test("lets a guest in after two wrong codes") func twoWrong() throws {
    let table = try Table(opener: Person("opener"))
    let number = table.opener.code.number
    let wrong = table.opener.code.text == "\(number)-maple-harbor" ? "maple-maple" : "maple-harbor"
    for _ in 0..<2 { try table.come(Person("guesser"), code: "\(number)-\(wrong)") }
    try table.come(Person("guest"))
    table.close()
    #expect(table.openerList?.cards.count == 2)
  }

  @Test("isn't joined with another opening's number") func otherNumber() throws {
    let table = try Table(opener: Person("opener"))
    let words = table.opener.code.text.split(separator: "-", maxSplits: 1)
    let other = table.opener.code.number % 99 + 1
    let id = try #require(try table.come(Person("guest"), code: "\(other)-\(words[1])"))
    #expect(table.failure(id) == .otherOpening)
    // It has said nothing by which its words could be guessed.
    #expect(table.guestActions[id]?.count == 1)
  }

  @Test("doesn't count who leaves before it confirms as a guess") func leavers() throws {
    let table = try Table(opener: Person("opener"))
    table.toOpener = { _, bytes in bytes.count == 67 ? [] : [bytes] }
    for _ in 0..<5 {
      let id = try #require(try table.come(Person("leaver"), code: "\(table.opener.code.number)-maple-maple"))
      table.leaves(id)
    }
    #expect(table.openerFailure == nil)
  }

  // MARK: - Limits and times

  @Test("has at most eight strangers at once, and they have ten seconds") func strangers() throws {
    let table = try Table(opener: Person("opener"))
    table.toOpener = { _, _ in [] }
    for _ in 0..<8 { #expect(try table.come(Person("silent")) != nil) }
    #expect(try table.come(Person("ninth")) == nil)
    #expect(table.opener.deadline == .seconds(10))
    table.pass(.seconds(10))
    #expect(table.ids.allSatisfy { table.hungUp($0) && table.failure($0) != nil })
    #expect(try table.come(Person("later")) != nil)
  }

  @Test("takes 32 connections in ten seconds and no more") func rate() throws {
    let table = try Table(opener: Person("opener"))
    for _ in 0..<32 { table.leaves(try #require(try table.come(Person("leaver")))) }
    #expect(try table.come(Person("too fast")) == nil)
    table.pass(.seconds(10))
    #expect(try table.come(Person("in time")) != nil)
  }

  @Test("has at most twenty guests") func full() throws {
    let (table, _) = try gathered(20)
    #expect(try table.come(Person("one too many")) == nil)
    #expect(table.guestCount == 20)
  }

  @Test("tells whoever confirms as the twenty-first that it is full") func fullBehind() throws {
    let (table, _) = try gathered(19)
    var held: [UInt8]?
    table.toOpener = { number, bytes in
      guard number == 19, bytes.count == 67 else { return [bytes] }
      held = bytes
      return []
    }
    let slow = try #require(try table.come(Person("slow")))
    try table.come(Person("quick"))
    table.take(table.opener.receive(try #require(held), from: slow, at: table.now))
    #expect(table.failure(slow) == .full)
    #expect(table.guestCount == 20)
  }

  @Test("is over five minutes after its opening, whoever is there") func openTime() throws {
    let (table, _) = try gathered(2)
    table.pass(.seconds(299))
    #expect(table.openerFailure == nil)
    table.pass(.seconds(1))
    #expect(table.openerFailure == .timeIsUp)
    #expect(table.ids.allSatisfy { table.failure($0) == .timeIsUp })
    #expect(try table.come(Person("late")) == nil)
    table.close()
    #expect(table.openerList == nil)
  }

  @Test("ends at its deadlines also when somebody connects before the driver's timer") func lateConnection() throws {
    let (table, _) = try gathered(1)
    table.now = .seconds(300)
    #expect(try table.come(Person("late")) == nil)
    #expect(table.openerFailure == .timeIsUp)
    #expect(table.failure(table.ids[0]) == .timeIsUp)
    let (silent, _) = try gathered(1)
    silent.toOpener = { _, _ in [] }
    silent.close()
    silent.now = .seconds(10)
    #expect(try silent.come(Person("late")) == nil)
    #expect(silent.openerFailure == .left(GatheringParticipant(position: 1, label: nil)))
  }

  @Test("hangs up on late strangers also when somebody connects first") func lateStrangers() throws {
    let table = try Table(opener: Person("opener"))
    table.toOpener = { _, _ in [] }
    for _ in 0..<8 { try table.come(Person("silent")) }
    table.now = .seconds(10)
    #expect(try table.come(Person("next")) != nil)
    #expect(table.ids.dropLast().allSatisfy { table.hungUp($0) })
  }

  @Test("names who doesn't reveal within ten seconds") func silentReveal() throws {
    let (table, _) = try gathered(3)
    table.toOpener = { number, bytes in number == 1 ? [] : [bytes] }
    table.close()
    table.pass(.seconds(10))
    #expect(table.openerFailure == .left(GatheringParticipant(position: 2, label: nil)))
    #expect(table.failure(table.ids[0]) == .left(GatheringParticipant(position: 2, label: nil)))
  }

  @Test("waits five minutes for everybody's yes") func comparisonTime() throws {
    let (table, _) = try gathered(2)
    table.pass(.seconds(200))
    table.close()
    table.openerSays(true)
    table.says(table.ids[0], true)
    table.pass(.seconds(299))
    #expect(table.openerFailure == nil)
    table.pass(.seconds(1))
    #expect(table.openerFailure == .timeIsUp)
    #expect(table.openerCards == nil && table.ids.allSatisfy { table.cards($0) == nil })
  }

  @Test("ends for a guest whose opener falls silent at any time") func silentOpener() throws {
    for silentFrom in 0..<5 {
      let table = try Table(opener: Person("opener"))
      var sent = 0
      table.toGuest = { _, bytes in
        sent += 1
        return sent > silentFrom ? [] : [bytes]
      }
      let id = try #require(try table.come(Person("guest")))
      table.close()
      var rounds = 0
      while table.failure(id) == nil, rounds < 100 {
        table.take(table.guests[id]?.tick(at: table.guests[id]?.deadline ?? .zero) ?? [], of: id)
        rounds += 1
      }
      #expect(table.failure(id) == .timeIsUp)
    }
  }

  // MARK: - Yes, no, and leaving

  @Test("ends for all at anybody's no, and names who said it") func no() throws {
    let (table, _) = try gathered(3)
    table.close()
    table.openerSays(true)
    table.says(table.ids[0], true)
    table.says(table.ids[2], false)
    let who = GatheringParticipant(position: 3, label: "person 3")
    #expect(table.openerFailure == .saidNo(who))
    #expect(table.ids.allSatisfy { table.failure($0) == .saidNo(who) && table.cards($0) == nil })
  }

  @Test("ends for all at the opener's no") func openersNo() throws {
    let (table, _) = try gathered(2)
    table.close()
    table.openerSays(false)
    let who = GatheringParticipant(position: 0, label: "person 0")
    #expect(table.openerFailure == .saidNo(who))
    #expect(table.ids.allSatisfy { table.failure($0) == .saidNo(who) })
  }

  @Test("goes on without whoever leaves before the list is closed, and names who leaves later") func leaving() throws {
    let (table, _) = try gathered(3)
    table.leaves(table.ids[1])
    #expect(table.guestCount == 2)
    table.close()
    #expect(table.openerList?.cards.map(\.label) == ["person 0", "person 1", "person 3"])
    table.leaves(table.ids[2])
    #expect(table.openerFailure == .left(GatheringParticipant(position: 2, label: "person 3")))
    #expect(table.failure(table.ids[0]) == .left(GatheringParticipant(position: 2, label: "person 3")))
  }

  @Test("counts for the others though somebody leaves when all have said yes, and ends ten seconds later")
  func leftLast() throws {
    let (table, _) = try gathered(2)
    table.close()
    table.openerSays(true)
    table.says(table.ids[0], true)
    table.toOpener = { _, _ in [] }
    table.toGuest = { number, bytes in number == 1 ? [] : [bytes] }
    let opened = try #require(table.guests[table.ids[1]])
    guard case .send(let yes)? = opened.say(true, at: .zero).first else { throw RawOpener.Unexpected() }
    table.take(table.opener.receive(yes, from: table.ids[1], at: .zero))
    table.leaves(table.ids[1])
    #expect(table.openerCards == nil)
    table.pass(.seconds(10))
    #expect(table.openerCards?.map(\.label) == ["person 1", "person 2"])
    table.pass(.seconds(10))
    #expect(table.cards(table.ids[0])?.map(\.label) == ["person 0", "person 2"])
  }

  @Test("takes a user's first word only, and none behind the time for it") func oneWord() throws {
    let (table, _) = try gathered(2)
    table.close()
    table.openerSays(true)
    table.openerSays(false)
    table.says(table.ids[0], true)
    table.says(table.ids[0], false)
    #expect(table.openerFailure == nil && table.failure(table.ids[0]) == nil)
    table.now = .seconds(310)
    table.says(table.ids[1], true)
    #expect(table.failure(table.ids[1]) == .timeIsUp)
    let (late, _) = try gathered(1)
    late.close()
    late.now = .seconds(300)
    late.openerSays(true)
    #expect(late.openerFailure == .timeIsUp)
    #expect(late.failure(late.ids[0]) == .timeIsUp)
  }

  @Test("says whose names can't be told apart, and starts with no card of which nothing can be seen")
  func names() throws {
    let people = try ["Ann", "Bob", "aN\u{200b}n", "Beth", "b ob"].map { try Person($0) }
    let table = try Table(opener: people[0])
    for person in people.dropFirst() { try table.come(person) }
    table.close()
    #expect(try #require(table.openerList).sameNames == [0, 1, 2, 4])
    for label in ["", " ", "\u{200b}\u{2060}", "\u{2800}", "\u{301}"] {
      let person = try Person(label)
      #expect(throws: GatheringFailure.noName) {
        _ = try GatheringOpener(card: person.own, identity: person.identity, at: .zero)
      }
      #expect(throws: GatheringFailure.noName) {
        _ = try GatheringGuest(code: mapleHarbor(), card: person.own, identity: person.identity, at: .zero)
      }
    }
    for label in ["1", "♥", "é", "Ян"] { #expect(try Person(label).card.hasVisibleName) }
  }

  @Test("isn't closed without a guest, nor twice, nor agreed to before it can be compared") func early() throws {
    let table = try Table(opener: Person("opener"))
    table.close()
    #expect(table.openerActions.isEmpty)
    let id = try #require(try table.come(Person("guest")))
    table.openerSays(true)
    table.says(id, true)
    table.close()
    let count = table.openerActions.count
    table.close()
    #expect(table.openerActions.count == count)
    table.says(id, true)
    table.says(id, true)
    table.openerSays(true)
    table.openerSays(true)
    #expect(table.cards(id)?.count == 1)
    #expect(table.openerCards?.count == 1)
  }
}
