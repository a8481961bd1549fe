/// One parcel that somebody sends.
struct Message: Sendable {
  let at: Int32
  let sender: Int
  let recipient: Int
  let size: Int
  let expires: Int32
}

/// Who sends what to whom.
enum Workload {
  /// `count` parcels from `senders` of the people to anybody, at random times of the hours named, in order of time.
  static func make(
    _ count: Int, people: Int, senders: Int, from: Int, until: Int, lifetime: Int, seed: UInt64
  ) -> [Message] {
    var chance = Chance(seed, 2)
    let sending = Array((0..<people).shuffled(using: &chance).prefix(senders))
    return (0..<count).map { number in
      let sender = sending[number % sending.count]
      var recipient = chance.below(people - 1)
      if recipient >= sender { recipient += 1 }
      let kind = chance.unit()
      let at = Int32(chance.between(Double(from), Double(until)))
      return Message(
        at: at, sender: sender, recipient: recipient, size: kind < 0.7 ? 2 << 10 : kind < 0.95 ? 64 << 10 : 1 << 20,
        expires: at + Int32(lifetime))
    }.sorted { ($0.at, $0.sender, $0.recipient) < ($1.at, $1.sender, $1.recipient) }
  }

  /// The people who drop all that they are given to carry. Larger parts contain the smaller ones.
  static func droppers(_ part: Double, people: Int, seed: UInt64) -> [Bool] {
    var chance = Chance(seed, 3)
    return (0..<people).map { _ in chance.unit() < part }
  }
}

/// How parcels travel.
struct Run: Sendable {
  enum Method: String, Sendable {
    case courier, epidemic, direct
  }
  var table: String
  var method: Method
  var hasNetwork = true
  var carriers = 5
  var hops = 3
  var handOn = 2
  var patience = 0
  var droppers = 0.0
  /// Whether who drops also says that it meets everybody.
  var lies = false
  var usesRecords = true
  /// Bytes a second between two devices.
  var rate = 50_000
}

/// What came of a run.
struct Outcome: Sendable {
  /// Seconds that each parcel took; nil: it didn't arrive.
  var delays: [Int32?]
  /// Bytes of parcels over the radio, and of all that is said besides.
  var bytes = 0
  var spoken = 0
  /// Parcels over the radio.
  var copies = 0
  /// Parcels of which the sender learned that they arrived.
  var confirmed = 0
  /// Parcels that arrived once more: must be none.
  var twice = 0
  /// Of the places that senders gave to carriers, those that droppers got, in the first and in the last third of the
  /// time.
  var places = [0, 0, 0]
  var lost = [0, 0, 0]
}
