/// Who offers a service, as it is heard by multicast DNS on one interface, in one family of addresses (RFC 6762, RFC 6763). Pure: times are in
/// milliseconds on a clock that never jumps.
///
/// An offer stands where it was heard: the address that it came from, and not what it says about addresses. So nobody can send this device to
/// somebody else, and only who has said something can take it back.
struct MulticastBrowser: Sendable {
  /// Offers that are remembered; when there are more, those go that would end first.
  static let limit = 64
  /// Seconds that an offer holds, whatever it says.
  static let lifetimes: ClosedRange<UInt32> = 60...4500
  /// Between two questions: the first pause, doubled each time, and the longest (RFC 6762, section 5.2).
  static let firstPause: Int64 = 1000
  static let longestPause: Int64 = 3_600_000
  /// Times that somebody is asked whether his offer still holds, from four fifths of its time on.
  private static let checks = 3
  /// Questions at most, whatever is heard.
  static let perMinute = 12
  private static let atOnce = 8
  /// Known answers that go with a question: they fit into one packet.
  private static let knownLimit = 16

  private struct Entry: Sendable {
    var port: UInt16?
    var texts: [[UInt8]]?
    var heardAt: Int64
    var lifetime: Int64
    var checks = 0

    var end: Int64 { heardAt + lifetime }
    var isWhole: Bool { port != nil && texts != nil }
    /// When it is asked after again: soon, as long as something of it is missing.
    var nextCheck: Int64 {
      guard checks < MulticastBrowser.checks else { return .max }
      return isWhole ? heardAt + lifetime / 20 * (16 + Int64(checks)) : heardAt + 1000 * Int64(checks + 1)
    }
  }

  private let type: DNSName
  private let interface: UInt32
  private var entries: [LocalSighting.Key: Entry] = [:]
  private var nextQuestion: Int64
  private var pause = MulticastBrowser.firstPause
  private var allowance = Allowance(
    atOnce: MulticastBrowser.atOnce, perMinute: MulticastBrowser.perMinute)

  init(_ type: DNSName, on interface: UInt32, at now: Int64, delay: Int64) {
    self.type = type
    self.interface = interface
    nextQuestion = now + delay
  }

  var count: Int { entries.count }

  /// An answer that came from an address.
  mutating func take(_ answer: DNSMessage, from source: [UInt8], at now: Int64) -> [LocalEvent] {
    var events: [LocalEvent] = []
    var named: [[UInt8]] = []
    let address = LocalAddress(bytes: source, interface: interface)
    for record in answer.answers + answer.additionals {
      let label: [UInt8]?
      switch record.data {
      case .pointer(let instance): label = record.name == type ? type.label(of: instance) : nil
      case .service, .texts: label = type.label(of: record.name)
      case .four, .six: label = nil
      }
      guard let label else { continue }
      let key = LocalSighting.Key(label: label, address: address)
      guard record.lifetime > 0 else {
        if let entry = entries.removeValue(forKey: key), entry.isWhole { events.append(.gone(key)) }
        named.removeAll { $0 == label }
        continue
      }
      learn(record, key, at: now, &events)
      if !named.contains(label) { named.append(label) }
    }
    for label in named {
      let key = LocalSighting.Key(label: label, address: address)
      guard let entry = entries[key], let port = entry.port, let texts = entry.texts else { continue }
      events.append(.heard(LocalSighting(key: key, port: port, texts: texts)))
    }
    return events
  }

  private mutating func learn(
    _ record: DNSRecord, _ key: LocalSighting.Key, at now: Int64, _ events: inout [LocalEvent]
  ) {
    if entries[key] == nil, entries.count >= Self.limit, let first = entries.min(by: { $0.value.end < $1.value.end }) {
      entries[first.key] = nil
      if first.value.isWhole { events.append(.gone(first.key)) }
    }
    let isNew = entries[key] == nil
    var entry = entries[key] ?? Entry(heardAt: now, lifetime: 0)
    switch record.data {
    case .service(_, let port): entry.port = port
    case .texts(let texts): entry.texts = texts
    case .pointer, .four, .six: break
    }
    // What depends on a host says how long it holds, where it is said.
    if isNew || record.data.type == DNSData.serviceType {
      entry.lifetime = Int64(min(max(record.lifetime, Self.lifetimes.lowerBound), Self.lifetimes.upperBound)) * 1000
    }
    // What is only named, again and again, is asked after no more often for that.
    if entry.isWhole { (entry.heardAt, entry.checks) = (now, 0) }
    entries[key] = entry
  }

  var nextMoment: Int64 {
    entries.values.reduce(nextQuestion) { min($0, $1.end, $1.nextCheck) }
  }

  /// A question that is to be asked now, and who has gone.
  mutating func due(at now: Int64) -> (question: DNSMessage?, events: [LocalEvent]) {
    var events: [LocalEvent] = []
    for (key, entry) in entries where entry.end <= now {
      entries[key] = nil
      if entry.isWhole { events.append(.gone(key)) }
    }
    var isAsking = nextQuestion <= now
    for (key, entry) in entries where entry.nextCheck <= now {
      entries[key]?.checks += 1
      isAsking = true
    }
    if nextQuestion <= now {
      nextQuestion = now + pause
      pause = min(pause * 2, Self.longestPause)
    }
    guard isAsking, allowance.take(at: now) else { return (nil, events) }
    return (question(at: now), events)
  }

  /// Who is known for a while to come needn't answer (RFC 6762, section 7.1).
  private func question(at now: Int64) -> DNSMessage {
    var question = DNSMessage()
    question.questions = [DNSQuestion(type, DNSData.pointerType)]
    let known = entries.filter { $0.value.isWhole && $0.value.end - now > $0.value.lifetime / 2 }
    for (key, entry) in known.sorted(by: { $0.value.end > $1.value.end }).prefix(Self.knownLimit) {
      guard let instance = type.below(key.label) else { continue }
      let seconds = UInt32(clamping: (entry.end - now) / 1000)
      question.answers.append(DNSRecord(type, .pointer(instance), lifetime: seconds, isUnique: false))
    }
    return question
  }
}
