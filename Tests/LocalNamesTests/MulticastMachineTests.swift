import Testing

@testable import LocalNames

@Suite("Who answers and who asks by multicast DNS")
struct MulticastMachineTests {
  private static let type = DNSMessageTests.name("_vault-peer._tcp.local")
  private static let domain = DNSMessageTests.name("local")
  private static let offer = LocalOffer(port: 4721, texts: [[1, 2, 3]])
  private static let other: [UInt8] = [192, 0, 2, 9]

  private static func responder(_ offer: LocalOffer = MulticastMachineTests.offer, at now: Int64 = 0) throws
    -> MulticastResponder
  {
    try #require(
      MulticastResponder(offer, of: type, in: domain, addresses: [.four([192, 0, 2, 7])], at: now, delay: 20))
  }

  private static func machine(
    _ responder: MulticastResponder?, browsing: Bool = false, at now: Int64 = 0
  ) -> MulticastMachine {
    MulticastMachine(
      responder: responder, browser: browsing ? MulticastBrowser(type, on: 3, at: now, delay: 20) : nil, delay: { 20 })
  }

  private static func query(_ name: DNSName = MulticastMachineTests.type, _ type: UInt16 = 12) -> DNSMessage {
    var message = DNSMessage()
    message.questions = [DNSQuestion(name, type)]
    return message
  }

  /// A device that has said that it is there.
  private static func settled(_ offer: LocalOffer = MulticastMachineTests.offer) throws -> MulticastMachine {
    var machine = machine(try responder(offer))
    #expect(machine.due(at: 20).messages.count == 1)
    #expect(machine.due(at: 1020).messages.count == 1)
    #expect(machine.nextMoment == .max)
    return machine
  }

  @discardableResult
  private static func hear(
    _ machine: inout MulticastMachine, _ message: DNSMessage, from source: [UInt8] = MulticastMachineTests.other,
    at now: Int64
  ) throws -> [LocalEvent] {
    machine.take(try message.encoded(), from: source, isOwn: false, at: now)
  }

  @Test("an offer is said twice, a second apart, with all that it takes to call")
  func announcement() throws {
    var machine = Self.machine(try Self.responder())
    #expect(machine.due(at: 19).messages.isEmpty)
    let first = try DNSMessage(try #require(machine.due(at: 20).messages.first))
    #expect(first.isResponse)
    #expect(first.answers.map(\.data.type) == [12, 33, 16, 1])
    #expect(machine.due(at: 1019).messages.isEmpty)
    #expect(try machine.due(at: 1020).messages == [first.encoded()])
    #expect(machine.nextMoment == .max)
  }

  @Test("who asks for any of it is answered, who asks for something else isn't")
  func answers() throws {
    let instance = try #require(Self.type.below(Self.offer.label))
    let host = try #require(Self.domain.below(Self.offer.label))
    for (name, type, isAnswered) in [
      (Self.type, UInt16(12), true), (Self.type, 255, true), (instance, 33, true), (instance, 16, true),
      (host, 1, true), (host, 28, false), (Self.type, 33, false), (Self.domain, 255, false),
    ] as [(DNSName, UInt16, Bool)] {
      var machine = try Self.settled()
      try Self.hear(&machine, Self.query(name, type), at: 5000)
      #expect(machine.nextMoment == (isAnswered ? 5020 : .max), "\(name) \(type)")
      #expect(machine.due(at: 5020).messages.count == (isAnswered ? 1 : 0))
    }
  }

  @Test("the same is said once a second at most, however many ask")
  func pace() throws {
    var machine = try Self.settled()
    for moment in stride(from: Int64(1030), to: 2020, by: 10) { try Self.hear(&machine, Self.query(), at: moment) }
    #expect(machine.nextMoment == 2020)
    #expect(machine.due(at: 2019).messages.isEmpty)
    #expect(machine.due(at: 2020).messages.count == 1)
    #expect(machine.nextMoment == .max)
  }

  @Test("who keeps asking has this device send only so much in an hour")
  func flood() throws {
    var machine = try Self.settled()
    var sent = 0
    for moment in stride(from: Int64(2000), to: 3_602_000, by: 500) {
      try Self.hear(&machine, Self.query(), from: [192, 0, 2, UInt8(moment / 500 % 256)], at: moment)
      sent += machine.due(at: moment + 400).messages.count
    }
    #expect(sent <= MulticastResponder.perMinute * 60 + MulticastResponder.atOnce)
    #expect(sent > MulticastResponder.perMinute * 59)
  }

  @Test("who says that he knows the answer gets none, unless he soon won't")
  func knownAnswer() throws {
    let instance = try #require(Self.type.below(Self.offer.label))
    for (lifetime, isAnswered) in [(UInt32(120), false), (60, false), (59, true)] {
      var machine = try Self.settled()
      var query = Self.query()
      query.answers = [DNSRecord(Self.type, .pointer(instance), lifetime: lifetime, isUnique: false)]
      try Self.hear(&machine, query, at: 5000)
      #expect((machine.nextMoment != .max) == isAnswered, "\(lifetime)")
    }
  }

  @Test("who says in a second message that he knows the answer gets none, but others do")
  func knownLater() throws {
    let instance = try #require(Self.type.below(Self.offer.label))
    for asksAnother in [false, true] {
      var machine = try Self.settled()
      var query = Self.query()
      query.isTruncated = true
      try Self.hear(&machine, query, at: 5000)
      #expect(machine.nextMoment == 5420)
      if asksAnother { try Self.hear(&machine, Self.query(), from: [192, 0, 2, 10], at: 5001) }
      var rest = DNSMessage()
      rest.answers = [DNSRecord(Self.type, .pointer(instance), lifetime: 120, isUnique: false)]
      try Self.hear(&machine, rest, at: 5100)
      #expect((machine.nextMoment != .max) == asksAnother)
    }
  }

  @Test("what comes back of what it has said itself is no question to it, but another program's on this device is")
  func echo() throws {
    var machine = Self.machine(try Self.responder(), browsing: true)
    let messages = machine.due(at: 20).messages
    #expect(messages.count == 2)
    _ = machine.due(at: 1020)
    let question = try #require(messages.last)
    let rest = machine.nextMoment
    #expect(machine.take(question, from: [192, 0, 2, 7], isOwn: true, at: 1500).isEmpty)
    #expect(machine.nextMoment == rest)
    #expect(machine.take(question, from: [192, 0, 2, 7], isOwn: true, at: 1600).isEmpty)
    #expect(machine.take(question, from: [192, 0, 2, 7], isOwn: true, at: 1700).isEmpty)
    #expect(machine.nextMoment < rest)
  }

  @Test("a device that looks hears of one that offers, and of its going")
  func meeting() throws {
    var one = Self.machine(try Self.responder())
    var other = Self.machine(nil, browsing: true)
    _ = one.due(at: 20)
    _ = one.due(at: 1020)
    let question = try #require(other.due(at: 20).messages.first)
    #expect(one.take(question, from: Self.other, isOwn: false, at: 2000).isEmpty)
    let answer = try #require(one.due(at: one.nextMoment).messages.first)
    let events = other.take(answer, from: [192, 0, 2, 7], isOwn: false, at: 2100)
    let address = LocalAddress(bytes: [192, 0, 2, 7], interface: 3)
    let key = LocalSighting.Key(label: Self.offer.label, address: address)
    #expect(events == [.heard(LocalSighting(key: key, port: 4721, texts: [[1, 2, 3]]))])
    let goodbye = try #require(one.goodbye)
    #expect(other.take(goodbye, from: [192, 0, 2, 66], isOwn: false, at: 2200).isEmpty)
    #expect(other.take(goodbye, from: [192, 0, 2, 7], isOwn: false, at: 2300) == [.gone(key)])
  }

  private static func said(_ offer: LocalOffer = MulticastMachineTests.offer) throws -> DNSMessage {
    var machine = machine(try responder(offer))
    return try DNSMessage(try #require(machine.due(at: 20).messages.first))
  }

  @Test("who says nothing any more is asked three times, and then gone")
  func expiry() throws {
    var machine = Self.machine(nil, browsing: true)
    var moment: Int64 = 20
    // The questions at the beginning are more and more seldom.
    while moment < 4_000_000 {
      _ = machine.due(at: moment)
      moment = machine.nextMoment
    }
    let start = moment - 1_000_000
    try Self.hear(&machine, try Self.said(), at: start)
    var asked: [Int64] = []
    var gone: [Int64] = []
    for step in stride(from: start, through: start + 130_000, by: 1000) {
      let (messages, events) = machine.due(at: step)
      asked += messages.map { _ in step - start }
      gone += events.map { _ in step - start }
    }
    #expect(asked == [96_000, 102_000, 108_000])
    #expect(gone == [120_000])
  }

  @Test("who looks asks at once, and then more and more seldom")
  func questions() throws {
    var machine = Self.machine(nil, browsing: true)
    var asked: [Int64] = []
    while asked.count < 16 {
      let moment = machine.nextMoment
      if !machine.due(at: moment).messages.isEmpty { asked.append(moment) }
    }
    let pauses = zip(asked, asked.dropFirst()).map { $1 - $0 }
    #expect(Array(pauses.prefix(4)) == [1000, 2000, 4000, 8000])
    #expect(pauses.last == MulticastBrowser.longestPause)
  }

  @Test("a question names those who are known for a while to come")
  func suppression() throws {
    var machine = Self.machine(nil, browsing: true)
    _ = machine.due(at: 20)
    try Self.hear(&machine, try Self.said(), at: 100)
    let question = try DNSMessage(try #require(machine.due(at: 1020).messages.first))
    #expect(question.answers.count == 1)
    #expect(question.answers.first?.lifetime == 119)
    var answering = try Self.settled()
    try Self.hear(&answering, question, at: 5000)
    #expect(answering.nextMoment == .max)
  }

  @Test("half of an offer is asked after, and is none")
  func halves() throws {
    var machine = Self.machine(nil, browsing: true, at: 0)
    for moment: Int64 in [20, 1020, 3020, 7020, 15020] { _ = machine.due(at: moment) }
    var half = try Self.said()
    half.answers.removeAll { $0.data.type == DNSData.textsType }
    #expect(try Self.hear(&machine, half, at: 16_000).isEmpty)
    #expect(machine.nextMoment == 17_000)
    #expect(machine.due(at: 17_000).messages.count == 1)
    #expect(try Self.hear(&machine, try Self.said(), at: 17_100).count == 1)
  }

  @Test("of a crowd, or of somebody who makes one up, only so many are remembered and asked after")
  func crowd() throws {
    var browser = MulticastBrowser(Self.type, on: 3, at: 0, delay: 20)
    var asked = 0
    for number in 0..<5000 {
      let said = try Self.said(LocalOffer(port: 1, texts: [[UInt8(number % 256)]]))
      #expect(!browser.take(said, from: Self.other, at: Int64(number) * 100).isEmpty)
      if browser.due(at: Int64(number) * 100).question != nil { asked += 1 }
    }
    #expect(browser.count == MulticastBrowser.limit)
    #expect(asked <= 9 * MulticastBrowser.perMinute + 8)
    let last = try Self.said()
    #expect(browser.take(last, from: Self.other, at: 500_000).contains { if case .heard = $0 { true } else { false } })
  }

  @Test("of a flood only so much is looked at")
  func reading() throws {
    var machine = Self.machine(nil, browsing: true)
    let said = try Self.said()
    var heard = 0
    for _ in 0..<10_000 { heard += try Self.hear(&machine, said, at: 1000).count }
    #expect(heard == MulticastMachine.readAtOnce)
    #expect(try Self.hear(&machine, said, at: 2000).count == 1)
  }

  @Test("what isn't understood, or is about something else, is passed over")
  func nonsense() throws {
    var machine = Self.machine(try Self.responder(), browsing: true)
    _ = machine.due(at: 20)
    _ = machine.due(at: 1020)
    let rest = machine.nextMoment
    #expect(machine.take([1, 2, 3], from: Self.other, isOwn: false, at: 1100).isEmpty)
    var other = DNSMessage()
    other.isResponse = true
    other.answers = DNSMessageTests.records.map {
      DNSRecord(DNSMessageTests.name("elsewhere"), $0.data, lifetime: 120, isUnique: false)
    }
    #expect(try Self.hear(&machine, other, at: 1100).isEmpty)
    #expect(machine.nextMoment == rest)
  }

  @Test("an offer that fits into no record is none")
  func unfit() {
    for offer in [LocalOffer(port: 1, texts: []), LocalOffer(port: 1, texts: [[UInt8](repeating: 0, count: 256)])] {
      #expect(
        MulticastResponder(offer, of: Self.type, in: Self.domain, addresses: [], at: 0, delay: 20) == nil)
    }
  }
}

@Suite("How often something may be done")
struct AllowanceTests {
  private func takes(_ moments: [Int64], of allowance: Allowance) -> [Bool] {
    var allowance = allowance
    return moments.map { allowance.take(at: $0) }
  }

  @Test("so many times at once, and then so many a minute, however long it wasn't done")
  func rate() {
    let moments: [Int64] = [0, 0, 0, 0, 9_999, 10_000, 10_001, .max, .max, .max, .max]
    let taken = takes(moments, of: Allowance(atOnce: 3, perMinute: 6))
    #expect(taken == [true, true, true, false, false, true, false, true, true, true, false])
  }

  @Test("a clock that went back gives nothing")
  func back() {
    #expect(takes([5000, 0, 5999, 6000], of: Allowance(atOnce: 1, perMinute: 60)) == [true, false, false, true])
  }
}
