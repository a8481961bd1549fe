import Concurrency
import PeerAuth
import Sodium
import Synchronization
import VaultProtocol
import WireCodec

/// The dialling side of a session: typed messages, each with a deadline.
///
/// Over a radio every change of direction takes time, so little waits for an answer: the first request follows the own greeting without
/// waiting for the peer's, which is read before the first answer; the first release request is followed by its proof, the last request
/// by the goodbye.
struct Conversation: Sendable {
  let session: PeerSession
  let recipient: Recipient
  /// The address, or `Bluetooth`.
  let place: String
  /// Most bytes of a fragment that go this way; nil for any number.
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

  /// Greets without waiting for the peer's greeting.
  static func greeted(
    _ session: PeerSession, _ recipient: Recipient, at place: String, byteLimit: UInt64?, milliseconds: Double,
    _ environment: VaultEnvironment, _ services: [PeerServiceKind]
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

  /// Whether it goes over Bluetooth. Only there pieces are sent or asked for before it is known that they are wanted: on a network turns
  /// are short, and pieces that nobody reads yet might not fit into its buffers.
  var isNearby: Bool { byteLimit != nil }

  /// Messages that the peer has sent so far.
  var heardCount: Int { heard.state.withLock { $0.count } }

  /// Waits for the peer's greeting, unless that has come: it says what the peer can be asked for.
  @discardableResult
  func greeting() async throws(LinkFailure) -> Hello {
    if let hello = heard.state.withLock({ $0.greeting }) { return hello }
    let received = try await next(patience: 1)
    let hello = try parse(received, as: Hello.self)
    heard.state.withLock { $0.greeting = hello }
    return hello
  }

  /// Whether the peer has said in this session that it would take a share. Then it has nothing of it yet.
  var isWilling: Bool { heard.state.withLock { $0.isWilling } }

  func foundWilling() { heard.state.withLock { $0.isWilling = true } }

  /// The nonce of the first release request of this session; nil for later ones, for which the peer sends a challenge.
  func openingChallenge() throws(LinkFailure) -> [UInt8]? {
    let isFirst = heard.state.withLock { state in
      defer { state.hasAsked = true }
      return !state.hasAsked
    }
    guard isFirst else { return nil }
    do { return try OpeningChallenge.of(session.handshakeHash) } catch { throw LinkFailure(.sodium(error)) }
  }

  /// Throws if the peer's program is too old for this service.
  func require(_ service: PeerServiceKind) async throws(LinkFailure) {
    guard try await !greeting().offers(service) else { return }
    throw .tooOld(recipient.name)
  }

  func send<Message: PeerMessage>(_ message: Message) async throws(LinkFailure) {
    try await within(environment.deadlines.reply) { () async throws(SessionError) in
      try await session.send(type: Message.type.rawValue, count: message.encodedByteCount) {
        (writer) throws(WireError) in try message.encode(into: &writer)
      }
    }
  }

  /// Receives a message of this type; ``Unsupported`` and a goodbye are failures.
  func receive<Message: PeerMessage>(_ type: Message.Type, patience: Int = 1) async throws(LinkFailure) -> Message {
    let received = try await receiveAny(patience: patience)
    return try parse(received, as: type)
  }

  /// Receives the next message after the greeting.
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
    if received.type == MessageType.unsupported.rawValue { throw .tooOld(recipient.name) }
    return received
  }

  /// Throws if it has another type.
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

  /// What was asked is still answered.
  func endAsking() async throws(LinkFailure) {
    try await within(environment.deadlines.reply) { () async throws(SessionError) in try await session.endSending() }
  }

  /// Says goodbye, unless that was said; waits at most two seconds.
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

/// What a conversation has come to so far.
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
