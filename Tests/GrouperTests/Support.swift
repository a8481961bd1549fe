import Sodium
import Testing
import WireCodec

@testable import Grouper

/// A group of people on paper: keys, a signed roster, the epoch's key.
struct PaperGroup {
  let people: [MemberKeys]
  let roster: Roster
  let key: EpochKey

  var owner: MemberKeys { people[0] }
  var nodes: [NodeID] { people.map(\.card.node) }
  var streams: [StreamID] { nodes.map { StreamID(node: $0, incarnation: 1) } }

  init(
    _ count: Int = 3, threshold: Int = 2, servers: Int = 3, sufficient: Int? = nil, ttl: UInt32 = 3600
  ) throws {
    var people: [MemberKeys] = []
    for number in 0..<count {
      people.append(
        try MemberKeys.generate(node: .random(), email: "m\(number)@example.org", name: "Member \(number)"))
    }
    let places = try (0..<servers).map { number in
      try RosterServer(address: "https://s\(number).example.org", group: .random())
    }
    func member(_ keys: MemberKeys) throws -> RosterMember {
      RosterMember(card: keys.card, users: try places.map { _ in try ServerUserID.random() })
    }
    var (roster, key) = try Roster.first(
      application: "test", name: "Family", owner: member(people[0]), threshold: threshold,
      sufficient: sufficient ?? threshold, ttl: ttl, servers: places, issued: 1_000)
    for keys in people.dropFirst() { roster.members.append(try member(keys)) }
    try roster.check()
    self.people = people
    self.roster = roster
    self.key = key
  }

  /// A message of a member's.
  func message(
    _ type: MessageType = .update, by number: Int = 0, _ sequence: UInt64 = 1, to receivers: [NodeID] = [],
    content: [UInt8] = [1, 2, 3], incarnation: UInt64 = 1, version: [StreamID: UInt64]? = nil, at time: UInt64 = 5000
  ) throws -> SignedMessage {
    let keys = people[number]
    let own = StreamID(node: keys.card.node, incarnation: incarnation)
    let message = try GrouperMessage(
      type: type, group: roster.group, epoch: 1, id: .random(), sequence: type.isNormal ? sequence : 0,
      className: type.isNormal ? "Note" : "", objectID: type.isNormal ? "object \(sequence)" : "",
      receivers: receivers.sorted(), stream: StreamID(node: keys.card.node, incarnation: incarnation),
      email: keys.card.email, name: keys.card.name,
      sentTime: 5_000, version: VersionVector(version ?? [own: sequence]),
      time: HybridTime(milliseconds: time, counter: 0), content: content)
    return try SignedMessage(message, by: keys)
  }

  /// A confirm message of a member's.
  func confirm(
    by number: Int = 0, _ vector: [StreamID: UInt64], incarnation: UInt64 = 1
  ) throws -> SignedMessage {
    let digest = try SignedRoster(roster, by: owner).digest()
    let content = try ConfirmContent(serial: 1, rosterDigest: digest, vector: VersionVector(vector)).encoded()
    return try message(.confirm, by: number, content: content, incarnation: incarnation)
  }

  /// A skip message of a member's.
  func skip(
    by number: Int = 0, _ table: [StreamID: SequenceSet], to receivers: [NodeID],
    having vector: [StreamID: UInt64] = [:]
  ) throws -> SignedMessage {
    let content = try SkipContent(table: SequenceTable(table), vector: VersionVector(vector)).encoded()
    return try message(.skip, by: number, to: receivers, content: content)
  }

  /// A member's multicast.
  func multicast(_ number: Int, ttl: UInt64 = 3_600_000, grace: UInt64 = 0, window: UInt64 = 1024) -> Multicast {
    var machine = Multicast(
      own: streams[number], settings: MulticastSettings(ttl: ttl, grace: grace, window: window))
    machine.setMembers(roster)
    return machine
  }
}

/// Numbers by a fixed rule, so that a failure comes again.
struct FixedRandom: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}

/// Runs `body` and returns what it threw.
func groupError(_ body: () throws -> Void) -> GroupError? {
  do {
    try body()
    return nil
  } catch { return error as? GroupError }
}

extension GroupError {
  var isForged: Bool { if case .forged = self { true } else { false } }
  var isMalformed: Bool { if case .malformed = self { true } else { false } }
  var isInvalid: Bool { if case .invalid = self { true } else { false } }
}
