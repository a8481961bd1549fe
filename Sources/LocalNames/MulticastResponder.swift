/// What a device answers by multicast DNS on one interface, in one family of addresses (RFC 6762). Pure: times are in milliseconds on a
/// clock that never jumps.
///
/// - Names have 64 bits drawn at random, so no two devices have one by accident: nothing is claimed as unique, so nothing is probed for (section
///   8.1 is about unique records), and whoever shows the same name on purpose is ignored.
/// - All records go together, in one message, which is said twice at the beginning, and then whenever any of them is asked for, at most once a
///   second (section 6) and ``perMinute`` times a minute.
/// - Who says that he knows the answer gets none (section 7.1), also when he says so in a later message (section 7.2).
/// - All lifetimes are two minutes, as section 10 has it for what depends on a host; the name itself goes with its hour.
struct MulticastResponder: Sendable {
  static let lifetime: UInt32 = 120
  static let atOnce = 10
  static let perMinute = 30
  /// Between two times of saying the same.
  static let leastPause: Int64 = 1000
  /// Those whose known answers are taken note of.
  private static let askerLimit = 16

  private struct Pending: Sendable {
    var due: Int64
    /// Who has asked for the pointer alone; nil where somebody needs an answer whatever he knows.
    var askers: Set<[UInt8]>?
  }

  private let type: DNSName
  private let pointer: DNSData
  private let records: [DNSRecord]
  private var announcements: [Int64]
  private var pending: Pending?
  private var lastSaid: Int64?
  private var allowance = Allowance(
    atOnce: MulticastResponder.atOnce, perMinute: MulticastResponder.perMinute)

  /// Nil if the offer doesn't fit into names and records.
  init?(_ offer: LocalOffer, of type: DNSName, in domain: DNSName, addresses: [DNSData], at now: Int64, delay: Int64) {
    guard let instance = type.below(offer.label), let host = domain.below(offer.label), !offer.texts.isEmpty,
      offer.texts.allSatisfy({ $0.count <= 255 })
    else { return nil }
    self.type = type
    pointer = .pointer(instance)
    func record(_ name: DNSName, _ data: DNSData) -> DNSRecord {
      DNSRecord(name, data, lifetime: Self.lifetime, isUnique: false)
    }
    records =
      [
        record(type, .pointer(instance)), record(instance, .service(host: host, port: offer.port)),
        record(instance, .texts(offer.texts)),
      ] + addresses.map { record(host, $0) }
    announcements = [now + delay, now + delay + Self.leastPause]
  }

  /// A question that came; `source` tells who asked, `delay` is what he waits at least, for others who answer the same.
  mutating func take(_ query: DNSMessage, from source: [UInt8], at now: Int64, delay: Int64) {
    let asked = query.questions.filter { question in records.contains { $0.answers(question) } }
    let knows = query.answers.contains {
      $0.name == type && $0.data == pointer && $0.lifetime >= Self.lifetime / 2
    }
    guard !asked.isEmpty else {
      if query.questions.isEmpty, knows { forget(source) }
      return
    }
    let wantsPointer = asked.allSatisfy { $0.name == type && $0.type == DNSData.pointerType }
    if wantsPointer, knows { return }
    // What else he knows comes behind (section 7.2).
    let due = max(
      now + (query.isTruncated ? 400 + delay : delay), (lastSaid ?? now - Self.leastPause) + Self.leastPause)
    guard var pending else {
      self.pending = Pending(due: due, askers: wantsPointer ? [source] : nil)
      return
    }
    if wantsPointer, let askers = pending.askers, askers.count < Self.askerLimit {
      pending.askers = askers.union([source])
    } else {
      pending.askers = nil
    }
    self.pending = pending
  }

  private mutating func forget(_ source: [UInt8]) {
    guard pending?.askers?.remove(source) != nil, pending?.askers?.isEmpty == true else { return }
    pending = nil
  }

  /// When there is something to say; `.max` for never.
  var nextMoment: Int64 { min(announcements.first ?? .max, pending?.due ?? .max) }

  /// What is to be said now.
  mutating func due(at now: Int64) -> DNSMessage? {
    guard nextMoment <= now else { return nil }
    if let first = announcements.first, first <= now { announcements.removeFirst() }
    // An announcement answers, too.
    pending = nil
    guard allowance.take(at: now) else { return nil }
    lastSaid = now
    // The second announcement keeps its distance, however late the first was.
    announcements = announcements.map { max($0, now + Self.leastPause) }
    return message(records)
  }

  /// What is said at the end: nothing of it holds any more (section 10.1).
  var goodbye: DNSMessage {
    message(
      records.map { record in
        var record = record
        record.lifetime = 0
        return record
      })
  }

  private func message(_ records: [DNSRecord]) -> DNSMessage {
    var message = DNSMessage()
    message.isResponse = true
    message.answers = records
    return message
  }
}
