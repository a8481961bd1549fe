import PeerAuth
import Sodium
import VaultProtocol
import WireCodec

/// The dialling side of a session after the greeting: typed messages, each with a deadline.
struct Conversation: Sendable {
  let session: PeerSession
  let recipient: Recipient
  let address: PeerAddress
  let handshakeMilliseconds: Double
  /// What the peer can be asked for.
  private(set) var greeting = Hello(services: [])
  private let environment: VaultEnvironment

  /// Tries the peer's addresses in turn until one leads to a session with exactly that peer, and greets.
  static func open(
    _ recipient: Recipient, identity: Identity, ownCard: PeerCard, environment: VaultEnvironment
  ) async throws(LinkFailure) -> Conversation {
    guard !recipient.addresses.isEmpty else {
      throw LinkFailure(
        .unreachable, "has no known address",
        hint: "ask \(recipient.name) for it and run `vault peer address \(shellQuoted(recipient.name)) HOST:PORT`")
    }
    var last = LinkFailure(.unreachable, "unreachable")
    // One peer with many dead addresses must not hold up a command many times over.
    let patience = max(environment.deadlines.handshake / recipient.addresses.count, environment.deadlines.handshake / 4)
    for address in recipient.addresses {
      do {
        return try await open(
          recipient, at: address, within: recipient.addresses.count == 1 ? environment.deadlines.handshake : patience,
          identity: identity, ownCard: ownCard, environment: environment)
      } catch {
        last = error
        if error.kind == .unknownHere || Task.isCancelled { break }
      }
    }
    throw last
  }

  private static func open(
    _ recipient: Recipient, at address: PeerAddress, within deadline: Duration, identity: Identity,
    ownCard: PeerCard, environment: VaultEnvironment
  ) async throws(LinkFailure) -> Conversation {
    let began = environment.monotonic()
    let session: PeerSession
    do throws(SessionError) {
      session = try await withDeadline(deadline, sleeper: environment.sleep) {
        () async throws(SessionError) in
        let transport: any PeerTransport
        do throws(TransportError) { transport = try await environment.connect(address) } catch {
          throw error == .timedOut ? .timedOut : .transport(error)
        }
        return try await PeerSession.dial(
          transport, identity: identity, peer: recipient.keys, ownCard: ownCard)
      }
    } catch {
      throw LinkFailure(error, peer: recipient.name)
    }
    var conversation = Conversation(
      session: session, recipient: recipient, address: address,
      handshakeMilliseconds: environment.monotonic() - began, environment: environment)
    do {
      try await conversation.send(Hello(services: PeerServiceKind.allCases))
      conversation.greeting = try await conversation.receive(Hello.self)
      return conversation
    } catch {
      await conversation.close()
      throw error
    }
  }

  /// Throws unless the peer's program knows a service that later versions have brought.
  func require(_ service: PeerServiceKind) throws(LinkFailure) {
    guard !greeting.offers(service) else { return }
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

  /// Receives the next message, whatever it is.
  func receiveAny(patience: Int = 1) async throws(LinkFailure) -> ReceivedMessage {
    let received = try await within(environment.deadlines.reply * patience) { () async throws(SessionError) in
      try await session.receive { MessageType.byteLimit($0) }
    }
    guard !received.isGoodbye else { throw LinkFailure.hungUp }
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

  /// Says goodbye; never waits long.
  func close() async {
    try? await within(.seconds(2)) { () async throws(SessionError) in await session.close() }
  }

  private func within<Result: ~Copyable & Sendable>(
    _ deadline: Duration, _ operation: @escaping @Sendable () async throws(SessionError) -> Result
  ) async throws(LinkFailure) -> Result {
    do throws(SessionError) {
      return try await withDeadline(deadline, sleeper: environment.sleep, operation: operation)
    } catch {
      throw LinkFailure(error, peer: recipient.name)
    }
  }
}
