import Foundation
import Sodium
import Testing
import WireCodec

@testable import Grouper

/// Messages, rosters and what they are made of.
@Suite struct MessageTests {
  @Test func aMessageComesBackWithAllItsAttributes() throws {
    let group = try PaperGroup()
    let signed = try group.message(.resend, by: 1, to: [group.nodes[0], group.nodes[2]], content: [4, 5])
    let read = try SignedMessage(signed.bytes)
    #expect(read == signed)
    try read.verify(group.roster)
    #expect(try read.message.encoded() + signed.bytes.suffix(64) == signed.bytes)
  }

  @Test func everyDamagedByteOfAMessageIsNoticed() throws {
    let group = try PaperGroup()
    let signed = try group.message()
    for place in signed.bytes.indices {
      var damaged = signed.bytes
      damaged[place] ^= 0x20
      let error = groupError { try SignedMessage(damaged).verify(group.roster) }
      #expect(error != nil, "byte \(place)")
    }
  }

  @Test func onlyMembersAndWhatRemovedOnesHadSentCount() throws {
    let group = try PaperGroup()
    let stranger = try PaperGroup()
    #expect(groupError { try stranger.message().verify(group.roster) }?.isForged == true)
    var roster = group.roster
    roster.members[1].lastSequence = 5
    try group.message(by: 1, 5).verify(roster)
    #expect(throws: GroupError.unknownMember(group.nodes[1])) { try group.message(by: 1, 6).verify(roster) }
    #expect(throws: GroupError.unknownMember(group.nodes[1])) {
      try group.message(.confirm, by: 1, content: [0, 0]).verify(roster)
    }
    // What a present member hands on counts: it has the newest key, which the removed one hasn't.
    try group.message(by: 1, 6).verify(roster, isHandedOn: true)
  }

  @Test func aVersionSpeaksOfItsOwnMessageAndOfMembers() throws {
    let group = try PaperGroup()
    let own = group.streams[0]
    let stranger = StreamID(node: try .random(), incarnation: 1)
    try group.message(.update, by: 0, 3, version: [own: 3, group.streams[1]: 9]).verify(group.roster)
    #expect(
      groupError { try group.message(.update, by: 0, 3, version: [own: 4]).verify(group.roster) }?.isMalformed == true)
    #expect(throws: GroupError.unknownMember(stranger.node)) {
      try group.message(.update, by: 0, 3, version: [own: 3, stranger: 1]).verify(group.roster)
    }
  }

  @Test func normalMessagesAreForEverybody() throws {
    let group = try PaperGroup()
    #expect(groupError { _ = try group.message(.update, by: 0, 1, to: [group.nodes[1]]) }?.isInvalid == true)
  }

  @Test func theNewestIsTheSameInWhateverOrderVersionsCome() throws {
    let group = try PaperGroup()
    var random = FixedRandom(3)
    for keeping in [false, true] {
      for _ in 0..<100 {
        var versions: [ObjectVersion] = []
        for sequence in UInt64(1)...6 {
          let number = Int.random(in: 0..<3, using: &random)
          var seen = VersionVector()
          for version in versions where Bool.random(using: &random) { seen.merge(version.version) }
          seen[group.streams[number]] = sequence
          let time = UInt64.random(in: 1...4, using: &random)
          let signed = try group.message(.update, by: number, sequence, version: seen.entries, at: time)
          versions.append(ObjectVersion(signed.message))
        }
        func end(_ order: [ObjectVersion]) -> Set<ObjectVersion> {
          var state = ObjectState(className: "Note", objectID: "a")
          for version in order { _ = state.take(version, keepingConflicts: keeping) }
          return Set(state.versions)
        }
        let expected = end(versions)
        for _ in 0..<4 { #expect(end(versions.shuffled(using: &random)) == expected) }
      }
    }
  }

  @Test func theJSONHasEveryAttributeOfTheTable() throws {
    let group = try PaperGroup()
    let view = MessageView(try group.message(by: 0, 3).message)
    let object = try #require(
      try JSONSerialization.jsonObject(with: JSONEncoder().encode(view)) as? [String: Any])
    for attribute in [
      "type", "content", "sequence", "class", "objectId", "receiverId", "senderId", "email", "name", "sentTime",
      "messageId",
    ] { #expect(object[attribute] != nil, "\(attribute)") }
    #expect(object["receiverId"] as? [String] == ["*"])
    #expect(object["type"] as? String == "update")
    #expect(try JSONDecoder().decode(MessageView.self, from: JSONEncoder().encode(view)) == view)
  }

  @Test func aRosterIsTheOwnersAlone() throws {
    let group = try PaperGroup()
    let signed = try SignedRoster(group.roster, by: group.owner)
    #expect(try SignedRoster(signed.bytes, group: group.roster.group) == signed)
    #expect(throws: GroupError.notOwner) { try SignedRoster(group.roster, by: group.people[1]) }
    for place in stride(from: 0, to: signed.bytes.count, by: 3) {
      var damaged = signed.bytes
      damaged[place] ^= 1
      #expect(groupError { _ = try SignedRoster(damaged, group: group.roster.group) } != nil, "byte \(place)")
    }
    // Somebody else's roster can't have this group's id: it is the hash of the owner's key.
    let other = try PaperGroup()
    let foreign = try SignedRoster(other.roster, by: other.owner)
    #expect(throws: GroupError.forged("a roster of another group")) {
      try SignedRoster(foreign.bytes, group: group.roster.group)
    }
  }

  @Test func aRosterThatMakesNoSenseIsRefused() throws {
    let group = try PaperGroup()
    func refused(_ change: (inout Roster) -> Void) -> Bool {
      var roster = group.roster
      change(&roster)
      return groupError { try roster.check() } != nil
    }
    #expect(refused { $0.threshold = 1 })
    #expect(refused { $0.sufficient = 1 })
    #expect(refused { $0.sufficient = 4 })
    #expect(refused { $0.servers[1] = $0.servers[0] })
    #expect(refused { $0.members.append($0.members[1]) })
    #expect(refused { $0.members[1].users.removeLast() })
    #expect(refused { $0.members.swapAt(0, 1) })
    #expect(refused { $0.ttl = 59 })
    #expect(refused { $0.name = String(repeating: "x", count: 65) })
    #expect(!refused { $0.serial += 1 })
  }

  @Test func sequenceSetsAreWhatSetsOfNumbersAre() throws {
    var random = FixedRandom(1)
    for _ in 0..<300 {
      var left = SequenceSet()
      var right = SequenceSet()
      var (a, b) = (Set<UInt64>(), Set<UInt64>())
      for _ in 0..<12 {
        let low = UInt64.random(in: 1...40, using: &random)
        let high = low + UInt64.random(in: 0...5, using: &random)
        if Bool.random(using: &random) {
          left.insert(low...high)
          a.formUnion(low...high)
        } else if Bool.random(using: &random) {
          left.remove(low...high)
          a.subtract(low...high)
        } else {
          right.insert(low...high)
          b.formUnion(low...high)
        }
      }
      func numbers(_ set: SequenceSet) -> Set<UInt64> { Set(set.ranges.flatMap { Array($0) }) }
      #expect(numbers(left) == a)
      #expect(left.count == UInt64(a.count))
      #expect(numbers(left.intersection(right)) == a.intersection(b))
      var difference = left
      difference.subtract(right)
      #expect(numbers(difference) == a.subtracting(b))
      #expect(numbers(left.prefix(5)) == Set(a.sorted().prefix(5)))
      #expect(left.prefix(.max) == left)
      #expect((1...50).allSatisfy { left.contains($0) == a.contains($0) })
      #expect(try SequenceSet.decode(left.encoded(), limit: 10_000) == left)
    }
  }

  @Test func hybridTimesFollowWhatTheyHaveSeen() {
    let early = HybridTime(milliseconds: 100, counter: 4)
    #expect(early.next(at: 50) == HybridTime(milliseconds: 100, counter: 5))
    #expect(early.next(at: 101) == HybridTime(milliseconds: 101, counter: 0))
    let latest = HybridTime(milliseconds: HybridTime.millisecondLimit, counter: .max)
    #expect(latest.next(at: 1) > latest)
    #expect(HybridTime(milliseconds: 100, counter: .max).next(at: 1) == HybridTime(milliseconds: 101, counter: 0))
    let wrong = HybridTime(milliseconds: 10_000_000, counter: 9)
    #expect(wrong.tolerated(at: 1000) == HybridTime(milliseconds: 301_000, counter: 0))
    #expect(wrong.tolerated(at: 9_900_000) == wrong)
    // Whoever changes an object with a wrong time makes a later one all the same.
    #expect(wrong.next(at: 1000) > wrong)
  }

  @Test func versionsKnowWhatTheyHaveSeen() throws {
    let (a, b) = (
      StreamID(node: try .random(), incarnation: 1), StreamID(node: try .random(), incarnation: 2)
    )
    let one = VersionVector([a: 1])
    let two = VersionVector([a: 1, b: 1])
    let other = VersionVector([a: 2])
    #expect(two.includes(one) && !one.includes(two))
    #expect(!two.includes(other) && !other.includes(two))
    var merged = two
    merged.merge(other)
    #expect(merged.includes(two) && merged.includes(other))
    #expect(try VersionVector.decode(merged.encoded(), limit: 1000) == merged)
  }
}
