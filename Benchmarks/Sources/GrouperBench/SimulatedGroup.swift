import Grouper
import Sodium

/// A whole group on virtual time: each member is the library's ``Multicast`` with a log of what still means something, and
/// between them are servers that keep each message for one time to live. Every message is signed and every signature checked once;
/// nothing is cut into shares, because that changes no count.
struct SimulatedGroup {
  /// How many of which messages a member has put on the servers and taken from them.
  struct Counts {
    /// Updates, sent for the first time (Ui).
    var updates = 0
    /// Updates, sent again because they were asked for (URi).
    var resent = 0
    /// Answers that all of what was asked for is obsolete. The papers have none.
    var skips = 0
    /// Confirm messages (C).
    var confirms = 0
    /// Resend messages. The papers' equations leave them out.
    var questions = 0
    /// Messages taken from the servers: those to all, and those to this member.
    var downloads = 0
    /// Messages delivered to the application: not the obsolete ones that were skipped.
    var delivered = 0

    /// What the papers call uploads (NUi).
    var uploads: Int { updates + resent + confirms }
  }

  /// What decides between versions of an object.
  struct Version: Comparable {
    let time: HybridTime
    let stream: StreamID
    let sequence: UInt64

    static func < (left: Version, right: Version) -> Bool {
      (left.time, left.stream, left.sequence) < (right.time, right.stream, right.sequence)
    }
  }

  struct Member {
    let keys: MemberKeys
    var machine: Multicast
    var isOnline = true
    var counts = Counts()
    /// The newest version of each object.
    var objects: [String: Version] = [:]
    fileprivate var log: [StreamID: [UInt64: SignedMessage]] = [:]
    fileprivate var outbox: [(message: SignedMessage, to: Int?)] = []
    fileprivate var cursor = 0
    fileprivate var clock = HybridTime.zero
    /// The last number delivered of each stream, to see that none comes twice or too early.
    fileprivate var last: [StreamID: UInt64] = [:]

    var stream: StreamID { machine.own }
    /// Messages that it keeps.
    var kept: Int { log.values.reduce(0) { $0 + $1.count } }
  }

  /// Something that must not happen.
  struct Fault: Error, CustomStringConvertible { let description: String }

  private struct Held {
    let message: SignedMessage
    let from: Int
    let to: Int?
    let ends: UInt64
  }

  let ttl: UInt64
  private(set) var now: UInt64 = 1_000_000_000_000
  var members: [Member] = []
  /// Whether an update that is sent for the first time never reaches a member: as if he had been offline until it was gone.
  var isMissed: (_ from: Int, _ to: Int, _ sequence: UInt64) -> Bool = { _, _, _ in false }
  private let roster: Roster
  private let rosterDigest: Digest
  private var numbers: [NodeID: Int] = [:]
  private var held: [Held] = []
  /// How many were held before the first of ``held``.
  private var forgotten = 0

  init(_ count: Int, ttlSeconds: UInt32 = 86_400) throws {
    let people = try (0..<count).map { number in
      try MemberKeys.generate(node: .random(), email: "m\(number)@example.org", name: "Member \(number)")
    }
    let servers = try (0..<3).map { try RosterServer(address: "https://s\($0).example.org", group: .random()) }
    func member(_ keys: MemberKeys) throws -> RosterMember {
      RosterMember(card: keys.card, users: try servers.map { _ in try ServerUserID.random() })
    }
    var (roster, _) = try Roster.first(
      application: "simulation", name: "Group", owner: member(people[0]), threshold: 2, sufficient: 3,
      ttl: ttlSeconds, servers: servers, issued: now)
    for keys in people.dropFirst() { roster.members.append(try member(keys)) }
    self.roster = roster
    rosterDigest = try SignedRoster(roster, by: people[0]).digest()
    ttl = UInt64(ttlSeconds) * 1000
    for (number, keys) in people.enumerated() {
      numbers[keys.card.node] = number
      var machine = Multicast(
        own: StreamID(node: keys.card.node, incarnation: 1), settings: MulticastSettings(ttl: ttl, grace: 5000))
      machine.setMembers(roster)
      members.append(Member(keys: keys, machine: machine))
    }
  }

  // MARK: - What members do

  /// A member changes an object. It is sent when he is online.
  mutating func write(_ place: Int, _ object: String) throws {
    let stream = members[place].stream
    let sequence = members[place].machine.nextSequence
    members[place].clock = max(members[place].clock, members[place].objects[object]?.time ?? .zero).next(at: now)
    let signed = try sign(
      place, .update, sequence: sequence, object: object, version: VersionVector([stream: sequence]),
      time: members[place].clock, content: [UInt8](repeating: 0x6f, count: 323))
    try signed.verify(roster)
    members[place].machine.made(sequence)
    members[place].log[stream, default: [:]][sequence] = signed
    apply(signed.message, at: place)
    members[place].counts.updates += 1
    members[place].outbox.append((signed, nil))
  }

  /// A member confirms, as he does by himself once in a TTL.
  mutating func confirm(_ place: Int) { members[place].machine.confirmSoon(at: now) }

  mutating func setOnline(_ place: Int, _ isOnline: Bool) {
    if isOnline, !members[place].isOnline { members[place].machine.cameOnline(at: now) }
    members[place].isOnline = isOnline
  }

  /// Time passes; who is online takes what is new, does what is due, and sends what waits.
  mutating func step(_ milliseconds: UInt64) throws {
    now += milliseconds
    dropExpired()
    for place in members.indices where members[place].isOnline {
      try receive(place)
      try perform(place, members[place].machine.due(at: now, jitter: 1))
      for item in members[place].outbox {
        held.append(Held(message: item.message, from: place, to: item.to, ends: now + ttl))
      }
      members[place].outbox = []
    }
  }

  private mutating func dropExpired() {
    let end = held.firstIndex { $0.ends > now } ?? held.count
    // Not one by one: the rest of the list moves each time.
    guard end > 4096 || end == held.count else { return }
    held.removeFirst(end)
    forgotten += end
  }

  private mutating func receive(_ place: Int) throws {
    for index in max(members[place].cursor, forgotten)..<(forgotten + held.count) {
      let item = held[index - forgotten]
      let message = item.message.message
      guard item.ends > now, item.from != place, item.to == nil || item.to == place else { continue }
      if item.to == nil, message.type.isNormal, isMissed(item.from, place, message.sequence) { continue }
      members[place].counts.downloads += 1
      try perform(place, members[place].machine.receive(item.message, at: now))
    }
    members[place].cursor = forgotten + held.count
  }

  private mutating func perform(_ place: Int, _ effects: [MulticastEffect]) throws {
    for effect in effects {
      switch effect {
      case .keep(let signed):
        members[place].log[signed.message.stream, default: [:]][signed.message.sequence] = signed
      case .deliver(let stream, let range):
        guard range.lowerBound == members[place].last[stream, default: 0] + 1 else {
          throw Fault(description: "\(range) after \(members[place].last[stream, default: 0])")
        }
        members[place].last[stream] = range.upperBound
        for sequence in range {
          guard let signed = members[place].log[stream]?[sequence] else { continue }
          members[place].counts.delivered += 1
          apply(signed.message, at: place)
        }
      case .confirm(let vector):
        let content = ConfirmContent(serial: roster.serial, rosterDigest: rosterDigest, vector: vector)
        members[place].counts.confirms += 1
        members[place].outbox.append((try sign(place, .confirm, content: content.encoded()), nil))
      case .request(let table, let target):
        members[place].counts.questions += 1
        let message = try sign(place, .resend, to: [target], content: table.encoded())
        members[place].outbox.append((message, numbers[target]))
      case .answer(let table, let asker): try answer(place, table, asker)
      // No state is put back here.
      case .countAnew: throw Fault(description: "a member that was never put back counts anew")
      }
    }
  }

  private mutating func answer(_ place: Int, _ table: SequenceTable, _ asker: NodeID) throws {
    var skipped: [StreamID: SequenceSet] = [:]
    for (stream, numbers) in table.rows {
      var gone = numbers
      for sequence in numbers.ranges.joined() {
        guard let message = members[place].log[stream]?[sequence] else { continue }
        gone.remove(sequence...sequence)
        members[place].counts.resent += 1
        members[place].outbox.append((message, self.numbers[asker]))
      }
      skipped[stream] = gone.prefix(.max)
    }
    let skip = SequenceTable(skipped)
    guard !skip.isEmpty else { return }
    members[place].counts.skips += 1
    let content = try SkipContent(table: skip, vector: members[place].machine.confirmation).encoded()
    members[place].outbox.append((try sign(place, .skip, to: [asker], content: content), numbers[asker]))
  }

  /// Newest wins; what it replaces, or comes too late, is forgotten.
  private mutating func apply(_ message: GrouperMessage, at place: Int) {
    let version = Version(time: message.time, stream: message.stream, sequence: message.sequence)
    members[place].clock = max(members[place].clock, message.time.tolerated(at: now))
    var obsolete = version
    if let old = members[place].objects[message.objectID] {
      obsolete = min(old, version)
      members[place].objects[message.objectID] = max(old, version)
    } else {
      members[place].objects[message.objectID] = version
      return
    }
    members[place].log[obsolete.stream]?[obsolete.sequence] = nil
  }

  private func sign(
    _ place: Int, _ type: MessageType, sequence: UInt64 = 0, object: String = "", to receivers: [NodeID] = [],
    version: VersionVector = VersionVector(), time: HybridTime = .zero, content: [UInt8]
  ) throws -> SignedMessage {
    let card = members[place].keys.card
    let message = try GrouperMessage(
      type: type, group: roster.group, epoch: roster.epoch, id: .random(), sequence: sequence,
      className: object.isEmpty ? "" : "Record", objectID: object, receivers: receivers,
      stream: members[place].stream, email: card.email, name: card.name, sentTime: now, version: version, time: time,
      content: content)
    return try SignedMessage(message, by: members[place].keys)
  }

  // MARK: - What has become of it

  /// Throws unless everybody has all that anybody has sent, each once and in order, and the same objects.
  func check() throws {
    for member in members {
      for other in members where other.stream != member.stream {
        let sent = other.machine.nextSequence - 1
        guard member.machine.contiguous(of: other.stream) == sent, member.last[other.stream, default: 0] == sent else {
          let (name, count) = (member.keys.card.name, member.last[other.stream, default: 0])
          throw Fault(description: "\(name) has \(count) of \(sent) messages of \(other.keys.card.name)")
        }
      }
      guard member.objects == members[0].objects else { throw Fault(description: "objects differ") }
      guard member.machine.missingCount == 0 else { throw Fault(description: "something is missing") }
    }
  }

  /// A count of all members.
  func sum(_ count: (Counts) -> Int) -> Int { members.reduce(0) { $0 + count($1.counts) } }
}
