import Testing
import WireCodec

@testable import Grouper

/// Multicasts of a whole group on a made-up network and virtual time.
struct SimulatedGroup {
  struct Member {
    var machine: Multicast
    var log: [StreamID: [UInt64: SignedMessage]] = [:]
    var delivered: [StreamID: [UInt64]] = [:]
  }

  /// Messages that were sent, by what they are.
  struct Counts: Equatable {
    var normal = 0
    var resent = 0
    var confirms = 0
    var questions = 0
    var downloads = 0
  }

  let paper: PaperGroup
  var members: [Member]
  var counts: [Counts]
  var now: UInt64 = 1_000_000
  /// Whether a message of this sender doesn't reach this receiver.
  var isLost: (_ from: Int, _ to: Int) -> Bool = { _, _ in false }
  /// On the way: receiver, message, when it arrives.
  private var flying: [(to: Int, message: SignedMessage, at: UInt64)] = []
  private var random: FixedRandom
  var delay: ClosedRange<UInt64> = 0...0
  var doubles = false

  init(_ count: Int, seed: UInt64 = 1) throws {
    paper = try PaperGroup(count)
    members = (0..<count).map { [paper] in Member(machine: paper.multicast($0)) }
    counts = Array(repeating: Counts(), count: count)
    random = FixedRandom(seed)
  }

  private func number(_ node: NodeID) -> Int { paper.nodes.firstIndex(of: node) ?? 0 }

  mutating func send(_ from: Int, _ message: SignedMessage, to target: Int? = nil) {
    for receiver in members.indices where receiver != from && (target == nil || receiver == target) {
      if isLost(from, receiver) { continue }
      for _ in 0..<(doubles ? 2 : 1) {
        flying.append((receiver, message, now + UInt64.random(in: delay, using: &random)))
      }
    }
  }

  mutating func write(_ from: Int) throws {
    let sequence = members[from].machine.nextSequence
    let message = try paper.message(.update, by: from, sequence, content: [])
    members[from].machine.made(sequence)
    members[from].log[paper.streams[from], default: [:]][sequence] = message
    counts[from].normal += 1
    send(from, message)
  }

  /// Everything that has arrived is handled, and what is due is sent.
  mutating func step(_ milliseconds: UInt64) throws {
    now += milliseconds
    let arrived = flying.filter { $0.at <= now }.sorted { $0.at < $1.at }
    flying.removeAll { $0.at <= now }
    for item in arrived {
      counts[item.to].downloads += 1
      try perform(item.to, members[item.to].machine.receive(item.message, at: now))
    }
    for place in members.indices { try perform(place, members[place].machine.due(at: now, jitter: 1)) }
  }

  mutating func perform(_ place: Int, _ effects: [MulticastEffect]) throws {
    for effect in effects {
      switch effect {
      case .keep(let signed):
        members[place].log[signed.message.stream, default: [:]][signed.message.sequence] = signed
      case .deliver(let stream, let range): members[place].delivered[stream, default: []] += Array(range)
      case .confirm(let vector):
        counts[place].confirms += 1
        send(place, try paper.confirm(by: place, vector.entries))
      case .request(let table, let target):
        counts[place].questions += 1
        send(place, try paper.message(.resend, by: place, to: [target], content: table.encoded()), to: number(target))
      case .countAnew: Issue.record("nobody's database was put back")
      case .answer(let table, let asker):
        for (stream, set) in table.rows {
          for sequence in set.ranges.joined() {
            guard let message = members[place].log[stream]?[sequence] else { continue }
            counts[place].resent += 1
            send(place, message, to: number(asker))
          }
        }
      }
    }
  }

  func hasAll(_ perMember: UInt64) -> Bool {
    members.indices.allSatisfy { place in
      members.indices.allSatisfy { other in
        members[place].machine.contiguous(of: paper.streams[other]) == perMember
          && (place == other || members[place].delivered[paper.streams[other]] == Array(1...perMember))
      }
    }
  }
}

@Suite struct SimulationTests {
  @Test func caseOneOfTheThesis() throws {
    // Ten devices, a hundred messages each, one confirm each, all online: equations 6.1 to 6.4.
    var group = try SimulatedGroup(10)
    for _ in 0..<100 { for place in 0..<10 { try group.write(place) } }
    try group.step(1)
    for place in 0..<10 { group.members[place].machine.confirmSoon(at: group.now) }
    try group.step(1)
    try group.step(1)
    #expect(group.hasAll(100))
    for counts in group.counts {
      #expect(counts.normal + counts.resent + counts.confirms == 101)
      #expect(counts.questions == 0)
      // The thesis counts a device's own messages as if it took them from the servers, too: 1010.
      #expect(counts.downloads + counts.normal + counts.confirms == 1010)
    }
  }

  @Test func caseTwoOfTheThesis() throws {
    // Each message misses two devices on average, and L = T: equations 6.5 to 6.8.
    var group = try SimulatedGroup(10)
    group.isLost = { from, to in (to + 10 - from) % 10 <= 2 }
    for _ in 0..<100 { for place in 0..<10 { try group.write(place) } }
    try group.step(1)
    group.isLost = { _, _ in false }
    for place in 0..<10 { group.members[place].machine.confirmSoon(at: group.now) }
    for _ in 0..<6 { try group.step(1) }
    #expect(group.hasAll(100))
    for counts in group.counts {
      #expect(counts.normal + counts.resent + counts.confirms == 301)
      // What the equations leave out: each asks two senders, once.
      #expect(counts.questions == 2)
    }
    #expect(group.counts.reduce(0) { $0 + $1.normal + $1.resent + $1.confirms } == 3010)
  }

  /// U_i, C, F and L/T.
  @Test(arguments: [(40, 3, 0, 0.0), (100, 1, 2, 0.5), (20, 1, 7, 1.0), (60, 2, 3, 0.25)])
  func countedMessagesAreThoseOfTheEquations(
    _ changes: Int, _ confirms: Int, _ offline: Int, _ share: Double
  ) throws {
    var group = try SimulatedGroup(10)
    let lost = Int(Double(changes) * share)
    group.isLost = { from, to in (to + 10 - from) % 10 <= offline }
    for _ in 0..<lost { for place in 0..<10 { try group.write(place) } }
    try group.step(1)
    group.isLost = { _, _ in false }
    for _ in lost..<changes { for place in 0..<10 { try group.write(place) } }
    try group.step(1)
    for _ in 0..<confirms {
      for place in 0..<10 { group.members[place].machine.confirmSoon(at: group.now) }
      for _ in 0..<4 { try group.step(1) }
    }
    #expect(group.hasAll(UInt64(changes)))
    let again = lost * offline
    for counts in group.counts {
      #expect(counts.resent == again, "equation 6.5")
      #expect(counts.normal + counts.resent + counts.confirms == changes + again + confirms, "equations 6.1 and 6.6")
      // One for each sender of whom something is missing: the equations leave them out.
      #expect(counts.questions == (lost > 0 ? offline : 0))
    }
    let all = group.counts.reduce(0) { $0 + $1.normal + $1.resent + $1.confirms }
    #expect(all == 10 * (changes + again + confirms), "equations 6.2 and 6.7")
    // With his own, and what is sent again to others, as the thesis counts: equations 6.3, 6.4 and 6.8. What is sent again goes to
    // the asker alone, in the place of what he missed, and so does the question to the one who is asked.
    for counts in group.counts {
      let own = counts.normal + counts.confirms
      #expect(counts.downloads - counts.questions + own == all - 10 * again)
    }
  }

  @Test(arguments: [1, 2, 3, 4])
  func whateverIsLostDoubledOrOvertakenIsDeliveredOnceAndInOrder(_ seed: UInt64) throws {
    var group = try SimulatedGroup(5, seed: seed)
    var random = FixedRandom(seed &* 77)
    group.delay = 0...30_000
    group.doubles = seed.isMultiple(of: 2)
    for round in 0..<60 {
      let losses = (0..<25).map { _ in Int.random(in: 0..<3, using: &random) == 0 }
      group.isLost = { from, to in losses[from * 5 + to] }
      if round < 20 { for place in 0..<5 where Bool.random(using: &random) { try group.write(place) } }
      try group.step(120_000)
    }
    group.isLost = { _, _ in false }
    for _ in 0..<120 { try group.step(600_000) }
    for place in 0..<5 {
      for other in 0..<5 where other != place {
        let last = group.members[other].machine.nextSequence - 1
        #expect(group.members[place].delivered[group.paper.streams[other], default: []] == Array(1..<(last + 1)))
      }
      #expect(group.members[place].machine.missingCount == 0)
    }
  }

  @Test func aHundredMembersHearEachOther() throws {
    var group = try SimulatedGroup(100)
    for _ in 0..<3 { for place in 0..<100 { try group.write(place) } }
    try group.step(1)
    #expect(group.hasAll(3))
    #expect(group.counts.allSatisfy { $0.normal == 3 && $0.resent == 0 && $0.questions == 0 && $0.downloads == 297 })
  }
}
