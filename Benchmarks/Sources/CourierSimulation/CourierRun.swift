import Courier

/// Whom parcels are for: what devices tell by the tag.
private struct Directory {
  let numbers: [ParcelKey: Int]
  let messages: [Message]
  let keys: [DeviceKey]

  func isFor(_ device: Int, _ id: ParcelKey) -> Bool { numbers[id].map { messages[$0].recipient == device } ?? false }
  func recipient(_ id: ParcelKey) -> DeviceKey? { numbers[id].map { keys[messages[$0].recipient] } }
}

/// The decisions of `Courier`, on every device, over the contacts of a trace.
struct CourierRun {
  /// Bytes of what is said besides parcels: a copy's name, a receipt with its proof, an offer or its reply.
  private static let copyBytes = 32
  private static let receiptBytes = 128
  private static let offerBytes = 72
  private static let replyBytes = 36
  private static let hour: Int32 = 3600

  private let trace: Trace
  private let messages: [Message]
  private let run: Run
  private let drops: [Bool]
  private let keys: [DeviceKey]
  /// Nobody alters anything here: each parcel has one copy.
  private let copies: [CopyKey]
  private let tags: [RecipientTag]
  private let directory: Directory
  private var devices: [Courier]
  /// What droppers pretend to carry.
  private var swallowed: [Set<CopyKey>]
  /// Grows when a device has something new to say.
  private var versions: [Int32]
  private var exchanged: [SIMD2<Int32>]
  private var atServer: [Int: ParcelHeader] = [:]
  private var receiptsAtServer: [ParcelKey: Receipt] = [:]
  private var newestAtServer: [ParcelKey] = []
  private var fetched: [Int]
  private var arrivedAtServer: [Int] = []
  private var chance: Chance
  private var outcome: Outcome

  init(_ trace: Trace, _ messages: [Message], _ run: Run, drops: [Bool], seed: UInt64) {
    (self.trace, self.messages, self.run, self.drops) = (trace, messages, run, drops)
    var chance = Chance(seed, 4)
    let keys = (0..<trace.people).compactMap { _ in DeviceKey(Self.bytes(4, &chance)) }
    copies = messages.compactMap { _ in
      let id = Self.bytes(2, &chance)
      return CopyKey(id + id)
    }
    tags = messages.compactMap { _ in RecipientTag(Self.bytes(2, &chance)) }
    directory = Directory(
      numbers: Dictionary(uniqueKeysWithValues: zip(copies.map(\.id), messages.indices)), messages: messages, keys: keys
    )
    self.keys = keys
    self.chance = chance
    let policy = CourierPolicy(
      carriers: run.carriers, hops: UInt8(run.hops), handOn: run.handOn, patience: Int64(run.patience) * 1000,
      usesRecords: run.usesRecords)
    devices = keys.map { Courier(own: $0, policy: policy) }
    swallowed = Array(repeating: [], count: trace.people)
    versions = Array(repeating: 0, count: trace.people)
    exchanged = Array(repeating: SIMD2(-1, -1), count: trace.people * trace.people)
    fetched = Array(repeating: 0, count: trace.people)
    outcome = Outcome(delays: Array(repeating: nil, count: messages.count))
  }

  private static func bytes(_ words: Int, _ chance: inout Chance) -> [UInt8] {
    (0..<(8 * words)).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
  }

  mutating func result() -> Outcome {
    var message = 0
    var visit = 0
    var hour: Int32 = 0
    for contact in trace.contacts {
      while hour + Self.hour <= contact.at {
        hour += Self.hour
        everyHour(hour)
      }
      while message < messages.count, messages[message].at <= contact.at {
        send(message)
        message += 1
      }
      while visit < trace.visits.count, trace.visits[visit].at <= contact.at {
        if run.hasNetwork { serve(Int(trace.visits[visit].device), trace.visits[visit].at) }
        visit += 1
      }
      meet(contact)
    }
    return outcome
  }

  /// What has expired is forgotten, and what waited for a better carrier may be given to any.
  private mutating func everyHour(_ now: Int32) {
    for device in devices.indices {
      _ = devices[device].expire(at: time(now))
      if run.patience > 0, !devices[device].outgoing.isEmpty { versions[device] += 1 }
    }
  }

  private mutating func send(_ number: Int) {
    let message = messages[number]
    let isSent = devices[message.sender].send(
      copies[number], tag: tags[number], size: message.size, expiresAt: time(message.expires),
      to: keys[message.recipient], allowsServers: true, at: time(message.at))
    precondition(isSent, "a device of the simulation has too much on its way")
    versions[message.sender] += 1
  }

  private mutating func meet(_ contact: Contact) {
    let (one, other) = (Int(contact.one), Int(contact.other))
    let now = time(contact.at)
    if contact.isNew {
      devices[one].met(keys[other], isPeer: false, at: now)
      devices[other].met(keys[one], isPeer: false, at: now)
    } else if exchanged[one * trace.people + other] == SIMD2(versions[one], versions[other]) {
      return
    }
    guard hasSomething(one) || hasSomething(other) else { return }
    var left = Int(contact.length) * run.rate
    let greetings = (
      devices[one].greeting(DeviceCondition(), at: now), devices[other].greeting(DeviceCondition(), at: now)
    )
    outcome.spoken += Self.copyBytes * (greetings.0.copies.count + greetings.1.copies.count)
    tell(from: one, to: other, greetings.1, now)
    tell(from: other, to: one, greetings.0, now)
    give(from: one, to: other, greetings.1, now, &left)
    give(from: other, to: one, greetings.0, now, &left)
    exchanged[one * trace.people + other] = SIMD2(versions[one], versions[other])
  }

  private func hasSomething(_ device: Int) -> Bool {
    !devices[device].outgoing.isEmpty || !devices[device].satchel.parcels.isEmpty || devices[device].receipts.count > 0
  }

  private mutating func tell(from one: Int, to other: Int, _ greeting: Greeting, _ now: Int64) {
    let receipts = devices[one].receipts(for: keys[other], greeting, at: now)
    learn(receipts, other, from: keys[one], now)
  }

  private mutating func learn(_ receipts: [Receipt], _ device: Int, from: DeviceKey, _ now: Int64) {
    guard !receipts.isEmpty else { return }
    outcome.spoken += Self.receiptBytes * receipts.count
    let before = devices[device].receipts.count
    let learned = devices[device].learn(receipts, from: from, at: now)
    outcome.confirmed += learned.delivered.count
    for receipt in receipts { directory.numbers[receipt.id].map { _ = swallowed[device].remove(copies[$0]) } }
    if devices[device].receipts.count > before { versions[device] += 1 }
  }

  private mutating func give(from one: Int, to other: Int, _ greeting: Greeting, _ now: Int64, _ left: inout Int) {
    let directory = directory
    let offers = devices[one].offers(
      to: keys[other], greeting, DeviceCondition(), isTheirs: { directory.isFor(other, $0.id) }, at: now)
    guard !offers.isEmpty else { return }
    var replies = devices[other].replies(
      to: offers, from: keys[one], isPeer: false, DeviceCondition(), isMine: { directory.isFor(other, $0.id) },
      recipient: { directory.recipient($0.id) },
      at: now)
    outcome.spoken += (Self.offerBytes + Self.replyBytes) * offers.count
    if drops[other] { replies = replies.map { pretended($0, other) } }
    let chosen = devices[one].selection(
      offers, replies, to: keys[other], budget: left, recipient: { directory.recipient($0.id) }, at: now,
      using: &chance)
    // Confirmations of parcels that were here already go back, so that they are carried no more.
    var confirmations = replies.compactMap { $0.answer == .had ? devices[other].receipts[$0.copy.id] : nil }
    for header in chosen {
      left -= header.size
      outcome.bytes += header.size
      outcome.copies += 1
      let isMine = directory.isFor(other, header.id)
      if drops[other], !isMine {
        swallowed[other].insert(header.copy)
      } else {
        let arrival = devices[other].took(header, from: keys[one], isPeer: false, isMine: isMine, at: now)
        if arrival == .refused || arrival == .known { continue }
        versions[other] += 1
        if isMine, let receipt = arrive(header, other, now) { confirmations.append(receipt) }
      }
      if devices[one].outgoing[header.id] != nil, !isMine { count(header, other) }
      devices[one].gave(header, to: keys[other], isTheirs: isMine, at: now)
    }
    learn(confirmations, one, from: keys[other], now)
  }

  private func pretended(_ reply: Reply, _ device: Int) -> Reply {
    guard case .wanted(let claim) = reply.answer, !directory.isFor(device, reply.copy.id) else { return reply }
    if swallowed[device].contains(reply.copy) { return Reply(copy: reply.copy, answer: .had) }
    return Reply(copy: reply.copy, answer: .wanted(run.lies ? UInt16.max : claim))
  }

  /// A carrier with a network leaves there what it has, and gets what is its own.
  private mutating func serve(_ device: Int, _ at: Int32) {
    let now = time(at)
    devices[device].met(.network, isPeer: true, at: now)
    let greeting = devices[device].greeting(DeviceCondition(), at: now)
    learn(greeting.copies.compactMap { receiptsAtServer[$0.id] }, device, from: .network, now)
    for copy in devices[device].deposits(DeviceCondition(), at: now) {
      guard let number = directory.numbers[copy.id] else { continue }
      let carried = devices[device].satchel.parcels[copy]?.header
      if atServer[number] == nil, let header = carried ?? devices[device].outgoing[copy.id]?.header {
        atServer[number] = header
        arrivedAtServer.append(number)
      }
      devices[device].deposited(copy, at: now)
    }
    while fetched[device] < arrivedAtServer.count {
      let number = arrivedAtServer[fetched[device]]
      fetched[device] += 1
      guard messages[number].recipient == device, let header = atServer[number] else { continue }
      if devices[device].took(header, from: .network, isPeer: true, isMine: true, at: now) == .mine {
        versions[device] += 1
        _ = arrive(header, device, now)
      }
    }
    for receipt in devices[device].receipts(for: .network, Greeting(copies: [], takes: false), at: now) {
      receiptsAtServer[receipt.id] = receipt
    }
  }

  private mutating func arrive(_ header: ParcelHeader, _ device: Int, _ now: Int64) -> Receipt? {
    guard let number = directory.numbers[header.id] else { return nil }
    if outcome.delays[number] != nil { outcome.twice += 1 }
    outcome.delays[number] = Int32(now / 1000) - messages[number].at
    let receipt = Receipt(id: header.id, branch: header.branch, expiresAt: header.expiresAt, proof: [])
    if let receipt { devices[device].confirmed(receipt, at: now) }
    return receipt
  }

  private mutating func count(_ header: ParcelHeader, _ carrier: Int) {
    guard let number = directory.numbers[header.id] else { return }
    let third = min(2, 3 * number / messages.count)
    outcome.places[third] += 1
    if drops[carrier] { outcome.lost[third] += 1 }
  }

  private func time(_ seconds: Int32) -> Int64 { Int64(seconds) * 1000 }
}
