import Concurrency
import PeerAuth
import Sodium
import Synchronization
import VaultProtocol
import WireCodec

/// The dialling side of a session: typed messages, each with a deadline.
///
/// Where every change of direction takes a radio's time, as little as possible waits for an answer: the first request follows the own greeting
/// without waiting for the peer's, which is read before the first answer; the first release request is followed by its proof; and the last request
/// by the goodbye.
struct Conversation: Sendable {
  let session: PeerSession
  let recipient: Recipient
  /// Where the peer answered.
  let place: String
  /// Most bytes of a secret's part that go this way; nil for any number.
  let byteLimit: UInt64?
  let handshakeMilliseconds: Double
  private let heard = Heard()
  let environment: VaultEnvironment

  private init(
    session: PeerSession, recipient: Recipient, place: String, byteLimit: UInt64?, handshakeMilliseconds: Double,
    environment: VaultEnvironment
  ) {
    self.session = session
    self.recipient = recipient
    self.place = place
    self.byteLimit = byteLimit
    self.handshakeMilliseconds = handshakeMilliseconds
    self.environment = environment
  }

  /// Greets over a fresh session, and doesn't wait to be greeted.
  static func greeted(
    _ session: PeerSession, _ recipient: Recipient, at place: String, byteLimit: UInt64?, milliseconds: Double,
    _ environment: VaultEnvironment, _ services: [PeerServiceKind] = PeerServiceKind.allCases
  ) async throws(LinkFailure) -> Conversation {
    let conversation = Conversation(
      session: session, recipient: recipient, place: place, byteLimit: byteLimit,
      handshakeMilliseconds: milliseconds, environment: environment)
    do {
      try await conversation.send(Hello(services: services))
      return conversation
    } catch {
      await conversation.close()
      throw error
    }
  }

  /// Whether it goes over Bluetooth. Only there pieces are sent or asked for before it is known that they are wanted: a network's turns
  /// are short, and nobody promises that it takes so much of somebody who doesn't read yet.
  var isNearby: Bool { byteLimit != nil }

  /// How many messages the peer has sent so far.
  var heardCount: Int { heard.state.withLock { $0.count } }

  /// Waits for the peer's greeting, unless that has come: what it can be asked for.
  @discardableResult
  func greeting() async throws(LinkFailure) -> Hello {
    if let hello = heard.state.withLock({ $0.greeting }) { return hello }
    let received = try await next(patience: 1)
    let hello = try parse(received, as: Hello.self)
    heard.state.withLock { $0.greeting = hello }
    return hello
  }

  /// Whether the peer has said in this session that it would take a share. Then nothing of it is there yet, either.
  var isWilling: Bool { heard.state.withLock { $0.isWilling } }

  func foundWilling() { heard.state.withLock { $0.isWilling = true } }

  /// The nonce of the first release request of this session; nil for those behind it, which are challenged.
  func openingChallenge() throws(LinkFailure) -> [UInt8]? {
    let isFirst = heard.state.withLock { state in
      defer { state.hasAsked = true }
      return !state.hasAsked
    }
    guard isFirst else { return nil }
    do { return try OpeningChallenge.of(session.handshakeHash) } catch { throw LinkFailure(.sodium(error)) }
  }

  /// Throws unless the peer's program knows a service that later versions have brought.
  func require(_ service: PeerServiceKind) async throws(LinkFailure) {
    guard try await !greeting().offers(service) else { return }
    throw .tooOld(recipient.name)
  }

  /// Sends a public message.
  func send<Message: PeerMessage>(_ message: Message) async throws(LinkFailure) {
    try await within(environment.deadlines.reply) { () async throws(SessionError) in
      try await session.send(type: Message.type.rawValue, count: message.encodedByteCount) {
        (writer) throws(WireError) in try message.encode(into: &writer)
      }
    }
  }

  /// Receives a message of exactly one type; ``Unsupported`` and a goodbye are failures.
  func receive<Message: PeerMessage>(
    _ type: Message.Type, patience: Int = 1
  ) async throws(LinkFailure) -> Message {
    let received = try await receiveAny(patience: patience)
    return try parse(received, as: type)
  }

  /// Receives the next message behind the greeting, whatever it is.
  func receiveAny(patience: Int = 1) async throws(LinkFailure) -> ReceivedMessage {
    try await greeting()
    return try await next(patience: patience)
  }

  private func next(patience: Int) async throws(LinkFailure) -> ReceivedMessage {
    let received = try await within(environment.deadlines.reply * patience) { () async throws(SessionError) in
      try await session.receive { MessageType.byteLimit($0, isPeer: true) }
    }
    guard !received.isGoodbye else { throw LinkFailure.hungUp }
    heard.state.withLock { $0.count += 1 }
    if received.type == MessageType.unsupported.rawValue {
      throw .tooOld(recipient.name)
    }
    return received
  }

  /// Parses a received message as the type that is due.
  func parse<Message: PeerMessage>(
    _ received: borrowing ReceivedMessage, as type: Message.Type
  ) throws(LinkFailure) -> Message {
    guard received.type == Message.type.rawValue else {
      throw LinkFailure(ProtocolError.unexpectedMessage(received.type))
    }
    do {
      return try Message.decode(received.body.bytes, limit: Message.type.byteLimit)
    } catch {
      throw LinkFailure(ProtocolError.malformed(error))
    }
  }

  /// Says that nothing more will be asked; what was asked is still answered.
  func endAsking() async throws(LinkFailure) {
    try await within(environment.deadlines.reply) { () async throws(SessionError) in try await session.endSending() }
  }

  /// Says goodbye, unless that is said; never waits long.
  func close() async {
    try? await within(.seconds(2)) { () async throws(SessionError) in await session.close() }
  }

  private func within<Result: ~Copyable & Sendable>(
    _ deadline: Duration, _ operation: @escaping @Sendable () async throws(SessionError) -> Result
  ) async throws(LinkFailure) -> Result {
    do {
      return try await withDeadline(deadline, sleeper: environment.sleep, operation: operation)
    } catch {
      throw LinkFailure(error, peer: recipient.name)
    }
  }
}

/// What has come from the peer, and what it was asked for.
private final class Heard: Sendable {
  struct State {
    var greeting: Hello?
    var count = 0
    var isWilling = false
    /// Whether a share was asked for.
    var hasAsked = false
  }

  let state = Mutex(State())
}
