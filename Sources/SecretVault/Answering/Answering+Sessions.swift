import Concurrency
package import PeerAuth
import Sodium
import VaultProtocol

extension Answering {
  package func answer(_ transport: any PeerTransport) async {
    let remote = transport.remoteDescription
    let session: PeerSession
    do {
      session = try await withDeadline(environment.deadlines.handshake, sleeper: environment.sleep) {
        [self] () async throws(SessionError) in
        try await PeerSession.answer(
          transport, identity: identity, card: { [self] () throws(SessionError) in try shownCard() }, cards: core.cards,
          recognise: { [self] noiseKey in introductions.recognise(noiseKey: noiseKey) })
      }
    } catch SessionError.unknownPeer {
      recordStranger(from: remote)
      await transport.close()
      return
    } catch {
      noteFailedConnection(from: remote, error)
      await transport.close()
      return
    }
    let keys = session.peerKeys
    let known = trust.met(keys, session.peerCard)
    // Before anything else is done for somebody who was introduced.
    let limit = known == nil ? SessionCount.limitOfIntroduced : SessionCount.limit
    guard sessions.begin(keys.digest, limit: limit) else { return await session.close() }
    defer { sessions.end(keys.digest) }
    var dealer: Digest?
    if known == nil {
      dealer = introductions.beginIntroducedSession(keys.digest)
      guard dealer != nil else { return await session.close() }
    } else {
      carrying.memory.noteSeen(keys.digest, at: environment.monotonic())
    }
    defer { if let dealer { introductions.introducedSessions.end(dealer) } }
    guard let peer = known ?? introductions.metIntroduced(keys, session.peerCard) else { return await session.close() }
    let isNearby = remote.hasPrefix(PeerPlace.bluetoothPrefix)
    guard let opening = try? OpeningChallenge.of(session.handshakeHash) else { return await session.close() }
    var answerer = Answerer(room: self, channel: session, peer: peer, isNearby: isNearby, opening: opening)
    await answerer.run()
  }

  /// The own card, for a peer that has proved who it is.
  private func shownCard() throws(SessionError) -> PeerCard {
    do { return try core.ownCard() } catch {
      core.logFault("\(VaultError(error).reason)")
      throw .wrongCard
    }
  }

  /// Anybody may dial with made-up keys: one line a minute and address, so that nobody fills the log.
  private func recordStranger(from remote: String) {
    guard core.strangers.isNew(Self.place(remote), at: environment.monotonic()) else { return }
    record(.refused, detail: "an unknown key from \(remote)")
  }

  /// Connections that come to nothing get a line a minute and address as well.
  private func noteFailedConnection(from remote: String, _ error: any Error) {
    guard core.strangers.isNew("connection " + Self.place(remote), at: environment.monotonic()) else { return }
    environment.log.info("a connection from \(remote) came to nothing: it \(VaultCore.words(error))")
  }

  /// Where a connection comes from, whichever port and address of a network it has.
  private static func place(_ remote: String) -> String {
    // Anybody can make up addresses there.
    if remote.hasPrefix(PeerPlace.bluetoothPrefix) { return PeerPlace.bluetoothPrefix }
    if let address = try? PeerAddress.parse(remote, allowsAnyPort: true) { return address.place }
    return remote.lastIndex(of: ":").map { String(remote[..<$0]) } ?? remote
  }
}
