import PeerAuth
import ShamirKit
import Sodium
import Testing
@testable import VaultProtocol
import VaultStore

@testable import SecretVault

/// A dialler with real keys, and often a real share, whose every message a test decides.
struct HostileRequester: Sendable {
  let member: Member
  let target: Member
  let session: PeerSession
  /// Raised by the first release request.
  private let hasAsked = Flag()

  /// A session that has greeted.
  init(
    _ member: Member, dials target: Member, in world: TestWorld,
    services: [PeerServiceKind] = PeerServiceKind.allCases
  ) async throws {
    let transport = try await world.network.connect(target.address)
    let vault = member.vault
    session = try await PeerSession.dial(
      transport, identity: vault.core.identity, peer: target.vault.core.identity.keys, ownCard: try vault.core.ownCard()
    )
    self.member = member
    self.target = target
    try await session.send(Hello(services: services))
    _ = try await session.expect(Hello.self)
  }

  /// Asks for a share and returns the nonce: the first one is the session's own, the others are the holder's.
  func ask(
    _ header: SecretHeader, request: UInt64 = 1, digest: Digest? = nil, epoch: UInt32 = 0
  ) async throws -> [UInt8] {
    try await session.send(
      ReleaseRequest(
        request: request, tag: AskTag.of(header.id), headerDigest: digest ?? header.digest, epoch: epoch))
    guard hasAsked.isUp else {
      hasAsked.raise()
      return try OpeningChallenge.of(session.handshakeHash)
    }
    return try await session.expect(Challenge.self).nonce
  }

  /// A proof by a holder's real share, with every part of what is proved at choice.
  func proof(
    _ header: SecretHeader, nonce: [UInt8], request: UInt64 = 1, share: Member? = nil, prover: Member? = nil,
    verifier: Member? = nil, epoch: UInt32 = 0, purpose: ProofPurpose = .release, binding: Digest? = nil
  ) throws -> Possession {
    let holder = share ?? member
    let held = try holder.held(header)
    var sharing = Epoch(header)
    sharing.number = epoch
    let exchange = PossessionExchange(
      sharing, purpose: purpose, prover: (prover ?? member).vault.core.identity.keys.digest,
      verifier: (verifier ?? target).vault.core.identity.keys.digest, binding: binding ?? session.handshakeHash,
      nonce: nonce)
    return try exchange.prove(
      request: request, share: held.share, salt: held.salt, evaluation: held.share.evaluation())
  }

  /// What the holder says to a proof: a refusal's reason, nil for a release; throws if the session ends.
  func submit(_ possession: Possession) async throws -> RefusalReason? {
    try await session.send(possession)
    let received = try await session.receive { MessageType.byteLimit($0, isPeer: true) }
    if received.type == Release.type.rawValue { return nil }
    guard received.type == Refusal.type.rawValue else { throw ProtocolError.unexpectedMessage(received.type) }
    return try Refusal.decode(received.body.bytes, limit: Refusal.type.byteLimit).reason
  }

  /// Gets one piece under a request for which the share was released.
  func fetch(_ number: UInt64, request: UInt64) async throws {
    try await session.send(PieceRequest(request: request, first: number, count: 1))
    _ = try await session.expect(ProvenPiece.self)
    #expect(try await session.expect(PiecesEnd.self).refusal == nil)
  }

  /// Whether the holder ends the session rather than answer.
  func isHungUp() async -> Bool {
    do { return try await session.nextType() == ReceivedMessage.goodbyeType } catch { return true }
  }
}

extension Member {
  /// This member's share of a secret, opened.
  func held(_ header: SecretHeader) throws -> HeldShare {
    guard let stored = try vault.core.database.share(ofSecret: header.id) else {
      throw ProtocolError.foreignShare("none")
    }
    return try HeldShare(index: stored.index, record: stored.bytes, of: "a secret")
  }

  /// The header of a secret as this member has it.
  func header(_ id: String) throws -> SecretHeader { try vault.directory.header(of: vault.directory.resolve(id)) }
}

extension [PeerServiceKind] {
  /// What programs offer that know nothing of introductions.
  static var usual: [PeerServiceKind] { PeerServiceKind.allCases.filter { $0 != .introductions } }
}
