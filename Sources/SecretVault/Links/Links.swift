package import PeerAuth
import Sodium
import VaultStore
import WireCodec

/// Sessions that this device opens.
package final class Links: Room {
  package let core: VaultCore
  let directory: Directory
  let introductions: Introductions
  let trust: TrustList
  /// Conversations behind a question whether a share would be taken.
  let conversations: KeptConversations

  init(_ core: VaultCore, _ directory: Directory, _ introductions: Introductions, _ trust: TrustList) {
    self.core = core
    self.directory = directory
    self.introductions = introductions
    self.trust = trust
    conversations = KeptConversations(core.environment)
  }
}

extension Links {
  /// Opens a session and says how it went.
  package func pingPeer(_ reference: String) async throws -> PingReport {
    let peer = try directory.find(reference)
    switch await send(.ping, to: try directory.recipient(peer)) {
    case .success(.pong(let handshake, let roundTrip, let address)):
      let now = try directory.find(reference)
      return PingReport(
        peer: try directory.summary(now), handshakeMilliseconds: handshake, roundTripMilliseconds: roundTrip, address: address)
    case .failure(let failure): throw VaultError(failure, peer: peer.name)
    default: throw VaultError(.other, "\(peer.name) answered something else")
    }
  }

  /// Asks something of a peer in a session.
  func send(_ content: Envelope.Content, to recipient: Recipient) async -> RouteOutcome {
    let route = SessionRoute(
      identity: identity, ownCard: { [self] in try core.ownCard() }, environment: environment,
      met: { [self] recipient, card in trust.met(recipient, card) }, kept: conversations,
      services: { [self] in introductions.services })
    return await route.send(Envelope(id: core.requestNumber(), recipient: recipient, content: content))
  }
}
