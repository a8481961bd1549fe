/// What comes and goes by multicast DNS on one interface, in one family of addresses: responder and browser, and how much of what others send
/// is looked at. Pure: times are in milliseconds on a clock that never jumps.
struct MulticastMachine: Sendable {
  /// Messages that are looked at; the rest of a flood is dropped as it comes.
  static let readAtOnce = 200
  static let readPerMinute = 6000
  /// Own messages that may come back.
  private static let echoLimit = 8
  static let port: UInt16 = 5353

  private var responder: MulticastResponder?
  private var browser: MulticastBrowser?
  private var reading = Allowance(
    atOnce: MulticastMachine.readAtOnce, perMinute: MulticastMachine.readPerMinute)
  private var echoes: [[UInt8]] = []
  /// Milliseconds by which devices that answer the same question keep apart (RFC 6762, section 6).
  private let delay: @Sendable () -> Int64

  init(
    responder: MulticastResponder?, browser: MulticastBrowser?,
    delay: @escaping @Sendable () -> Int64 = { Int64.random(in: 20...120) }
  ) {
    self.responder = responder
    self.browser = browser
    self.delay = delay
  }

  /// A message that came from an address on the network; `isOwn` says that it is one of this device, where others listen, too.
  mutating func take(_ bytes: [UInt8], from source: [UInt8], isOwn: Bool, at now: Int64) -> [LocalEvent] {
    guard reading.take(at: now) else { return [] }
    if isOwn, let place = echoes.firstIndex(of: bytes) {
      echoes.remove(at: place)
      return []
    }
    guard let message = try? DNSMessage(bytes) else { return [] }
    guard message.isResponse else {
      responder?.take(message, from: source, at: now, delay: delay())
      return []
    }
    return browser?.take(message, from: source, at: now) ?? []
  }

  /// When there is something to do; `.max` for never.
  var nextMoment: Int64 { min(responder?.nextMoment ?? .max, browser?.nextMoment ?? .max) }

  /// What is to be sent now to all, and what has become of offers.
  mutating func due(at now: Int64) -> (messages: [[UInt8]], events: [LocalEvent]) {
    let answer = responder?.due(at: now)
    let (question, events) = browser?.due(at: now) ?? (nil, [])
    let messages = [answer, question].compactMap { try? $0?.encoded() }
    echoes = (echoes + messages).suffix(Self.echoLimit)
    return (messages, events)
  }

  /// What is to be sent when it ends.
  var goodbye: [UInt8]? { responder.flatMap { try? $0.goodbye.encoded() } }
}
