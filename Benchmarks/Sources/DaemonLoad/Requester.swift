import Concurrency
import PeerAuth
import PeerLink
import SecretVault
import Sodium
import VaultProtocol
import WireCodec

/// The dialling side of a session with the daemon that is measured.
struct Requester {
  struct Failure: Error { let words: String }
  private static let patience = Duration.seconds(60)

  let session: PeerSession
  let holder: CardKeys

  /// Connects, shakes hands, greets.
  static func open(_ address: PeerAddress, holder: CardKeys, as person: Person) async throws -> Requester {
    let session = try await withDeadline(patience, sleeper: { try await Task.sleep(for: $0) }) {
      () async throws(SessionError) in
      let transport: any PeerTransport
      do throws(TransportError) { transport = try await TCPConnector().connect(address) } catch {
        throw .transport(error)
      }
      return try await PeerSession.dial(transport, identity: person.identity, peer: holder, ownCard: person.card)
    }
    let requester = Requester(session: session, holder: holder)
    try await requester.send(Hello(services: PeerServiceKind.allCases))
    _ = try await requester.receive(Hello.self)
    return requester
  }

  /// Asks for the share of a secret, as the first thing in a session, proves possession of another, and checks the row of what comes.
  func ask(for claim: Claim, number: UInt64) async throws {
    let header = claim.header
    try await send(
      ReleaseRequest(request: number, tag: try AskTag.of(header.id), headerDigest: header.digest, epoch: 0))
    let exchange = PossessionExchange(
      Epoch(header), purpose: .release, prover: claim.requester.identity.keys.digest,
      verifier: holder.digest, binding: session.handshakeHash,
      nonce: try OpeningChallenge.of(session.handshakeHash))
    try await send(
      try exchange.prove(request: number, share: claim.share, salt: claim.salt, evaluation: claim.evaluation))
    let answer = try await session.receive { MessageType.byteLimit($0, isPeer: true) }
    guard answer.type == Release.type.rawValue else { throw Failure(words: "no share was released") }
    let release = try Release.decode(answer.body.bytes)
    try header.verifyHolder(index: release.share.index, card: holder.digest, salt: release.salt.bytes)
  }

  func close() async { await session.close() }

  func send<Message: PeerMessage>(_ message: Message) async throws {
    try await session.send(type: Message.type.rawValue, count: message.encodedByteCount) {
      (writer) throws(WireError) in try message.encode(into: &writer)
    }
  }

  func receive<Message: PeerMessage>(_ type: Message.Type) async throws -> Message {
    let received = try await session.receive { MessageType.byteLimit($0, isPeer: true) }
    guard received.type == Message.type.rawValue else { throw Failure(words: "message \(received.type) came") }
    return try Message.decode(received.body.bytes, limit: Message.type.byteLimit)
  }
}
