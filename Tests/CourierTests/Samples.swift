@testable import Courier

/// A generator that a seed fixes.
struct Seeded: RandomNumberGenerator {
  var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
    return mixed ^ mixed >> 31
  }
}

let hour: Int64 = 3_600_000
let day = 24 * hour
let start: Int64 = 20_000 * day

private func bytes(_ count: Int, _ number: Int) -> [UInt8] {
  (0..<count).map { $0 < 8 ? UInt8(truncatingIfNeeded: number >> (8 * (7 - $0))) : 7 }
}

func device(_ number: Int) throws -> DeviceKey { try present(DeviceKey(bytes(32, number))) }
func parcel(_ number: Int) throws -> ParcelKey { try present(ParcelKey(bytes(16, number))) }
/// A copy of a parcel: the true one, or another of these.
func copyKey(_ number: Int, other: Int = 0) throws -> CopyKey {
  CopyKey(id: try parcel(number), digest: try present(CopyDigest(bytes(16, 0x5eed_0000 + other))))
}
/// The tag of a recipient: here simply its number.
func tag(_ number: Int) throws -> RecipientTag { try present(RecipientTag(bytes(16, number))) }

struct Missing: Error {}

func present<T>(_ value: T?) throws -> T {
  guard let value else { throw Missing() }
  return value
}

func header(
  _ number: Int, copy other: Int = 0, for recipient: Int = 99, size: Int = 1000, expiresAt: Int64 = start + day,
  hopsLeft: UInt8 = 2,
  branch: UInt8 = 0, allowsServers: Bool = false
) throws -> ParcelHeader {
  try present(
    ParcelHeader(
      copy: copyKey(number, other: other), tag: tag(recipient), size: size, expiresAt: expiresAt, hopsLeft: hopsLeft,
      branch: branch,
      allowsServers: allowsServers))
}

func carried(
  _ number: Int, copy other: Int = 0, from giver: Int, isPeer: Bool = true, size: Int = 1000,
  expiresAt: Int64 = start + day
) throws -> CarriedParcel {
  CarriedParcel(
    header: try header(number, copy: other, size: size, expiresAt: expiresAt), from: try device(giver),
    fromPeer: isPeer,
    receivedAt: start)
}

func receipt(_ number: Int, branch: UInt8 = 0, expiresAt: Int64 = start + day) throws -> Receipt {
  try present(Receipt(id: parcel(number), branch: branch, expiresAt: expiresAt, proof: []))
}

/// Room for `bytes` that everybody may fill.
func room(_ bytes: Int) -> CarryingLimits {
  var limits = CarryingLimits()
  (limits.bytes, limits.bytesPerGiver, limits.strangersPercent) = (bytes, bytes, 100)
  return limits
}

extension Satchel {
  /// Of all its parcels.
  var bytes: Int { parcels.values.reduce(0) { $0 + $1.header.size } }
}

/// Some devices that meet as `Courier` says, and what became of their parcels.
struct Town {
  var devices: [Courier]
  let keys: [DeviceKey]
  /// Who gave which parcel to whom, in order.
  var given: [(id: ParcelKey, from: Int, to: Int, isTheirs: Bool)] = []
  var arrivals: [ParcelKey: Int] = [:]
  var lost: Set<ParcelKey> = []
  var recipients: [ParcelKey: Int] = [:]
  /// Devices that say they want everything and are sure to deliver it, and drop it.
  var liars: Set<Int> = []
  var generator: Seeded
  private var next = 0

  init(
    _ count: Int, policy: CourierPolicy = CourierPolicy(), limits: CarryingLimits = CarryingLimits(), seed: UInt64 = 1
  )
    throws
  {
    keys = try (0..<count).map { try device($0) }
    devices = keys.map { Courier(own: $0, policy: policy, limits: limits) }
    generator = Seeded(seed)
  }

  @discardableResult
  mutating func send(
    from sender: Int, to recipient: Int, size: Int = 1000, allowsServers: Bool = true, at now: Int64 = start,
    lasts: Int64 = day
  ) throws -> ParcelKey {
    next += 1
    let id = try parcel(next)
    recipients[id] = recipient
    let isSent = devices[sender].send(
      try copyKey(next), tag: try tag(recipient), size: size, expiresAt: now + lasts, to: keys[recipient],
      allowsServers: allowsServers, at: now)
    guard isSent else { throw Missing() }
    return id
  }

  mutating func meet(_ one: Int, _ other: Int, at now: Int64, budget: Int = .max) throws {
    devices[one].met(keys[other], isPeer: true, at: now)
    devices[other].met(keys[one], isPeer: true, at: now)
    let greetings = (
      devices[one].greeting(for: keys[other], DeviceCondition(), at: now),
      devices[other].greeting(for: keys[one], DeviceCondition(), at: now)
    )
    tell(one, other, greetings.1, now)
    tell(other, one, greetings.0, now)
    try give(one, other, greetings.1, now, budget)
    try give(other, one, greetings.0, now, budget)
  }

  private mutating func tell(_ one: Int, _ other: Int, _ greeting: Greeting, _ now: Int64) {
    let receipts = devices[one].receipts(for: keys[other], greeting, at: now)
    _ = devices[other].learn(receipts, from: keys[one], at: now)
  }

  private mutating func give(_ one: Int, _ other: Int, _ greeting: Greeting, _ now: Int64, _ budget: Int) throws {
    let (recipients, keys) = (recipients, keys)
    let isTheirs = { (header: ParcelHeader) in recipients[header.id] == other }
    let whose = { (header: ParcelHeader) in recipients[header.id].map { keys[$0] } }
    let offers = devices[one].offers(to: keys[other], greeting, DeviceCondition(), isTheirs: isTheirs, at: now)
    var replies = devices[other].replies(
      to: offers, from: keys[one], isPeer: true, DeviceCondition(), isMine: isTheirs, recipient: whose, at: now)
    if liars.contains(other) {
      replies = offers.map { Reply(copy: $0.header.copy, answer: .wanted(UInt16.max)) }
    }
    for header in devices[one].selection(
      offers, replies, to: keys[other], budget: budget, recipient: whose, at: now, using: &generator)
    {
      let isMine = isTheirs(header)
      if liars.contains(other) && !isMine {
        lost.insert(header.id)
      } else {
        let arrival = devices[other].took(header, from: keys[one], isPeer: true, isMine: isMine, at: now)
        if arrival == .known || arrival == .refused { continue }
      }
      given.append((header.id, one, other, isMine))
      devices[one].gave(header, to: keys[other], isTheirs: isMine, at: now)
      guard isMine else { continue }
      arrivals[header.id, default: 0] += 1
      let receipt = try present(
        Receipt(id: header.id, branch: header.branch, expiresAt: header.expiresAt, proof: []))
      devices[other].confirmed(receipt, at: now)
      _ = devices[one].learn([receipt], from: keys[other], at: now)
    }
  }

  /// Random meetings over some days, with a parcel now and then.
  mutating func live(meetings: Int, parcels: Int, minutes: Int64 = 5) throws {
    for meeting in 0..<meetings {
      let now = start + Int64(meeting) * minutes * 60_000
      if meeting * parcels / meetings != (meeting + 1) * parcels / meetings {
        let sender = Int(generator.next() % UInt64(keys.count))
        let recipient = (sender + 1 + Int(generator.next() % UInt64(keys.count - 1))) % keys.count
        try send(
          from: sender, to: recipient, size: 500 + Int(generator.next() % 5000), allowsServers: meeting % 2 == 0,
          at: now)
      }
      let one = Int(generator.next() % UInt64(keys.count))
      let other = (one + 1 + Int(generator.next() % UInt64(keys.count - 1))) % keys.count
      try meet(one, other, at: now)
      if meeting % 50 == 0 { for index in devices.indices { _ = devices[index].expire(at: now) } }
    }
  }
}
