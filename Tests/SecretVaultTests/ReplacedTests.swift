import PeerAuth
import Testing

@testable import SecretVault

@Suite struct ReplacedTests {
  @Test func `that a device was replaced is still known when Bluetooth has failed, too`() {
    let told = LinkFailure(SessionError.refusedReplaced, peer: "ben")
    #expect(told.saysReplaced && told.and(.tooSlow).saysReplaced && LinkFailure.tooSlow.and(told).saysReplaced)
    #expect(!LinkFailure(SessionError.refusedUnknownKey, peer: "ben").saysReplaced)
  }

  @Test func `a device that was replaced is told so, a removed one hears what a stranger hears`() async throws {
    let world = try TestWorld(4)
    try await world.prove()
    let card = try PeerCard.parse(text: world[3].vault.core.ownIdentity().qrText)
    _ = try world[1].vault.trust.removePeer("dan")
    _ = try world[1].vault.changing.replacePeer("ada", with: card)
    _ = try world[2].vault.trust.removePeer("ada")
    let replaced = await refusal { try await world[0].vault.links.pingPeer("ben") }
    #expect(replaced?.code == .refused && replaced?.reason == "ben says that this device was replaced by another one")
    // Once, however often it is said.
    let began = try #require(try said(world)["ben"])
    world.clock.advance(milliseconds: 60_000)
    _ = await refusal { try await world[0].vault.links.pingPeer("ben") }
    #expect(try said(world) == ["ben": began])
    func lines() throws -> [String?] {
      try world[0].vault.overview.log(limit: 100).filter { $0.event == "said-replaced" }.map(\.peer)
    }
    #expect(try lines() == ["ben"])
    let removed = await refusal { try await world[0].vault.links.pingPeer("cleo") }
    #expect(removed?.code == .refused && removed?.reason == "cleo has not imported your key")
    // Nothing else has come of it there: it is a stranger's dial.
    #expect(try await eventually { try world[1].vault.overview.log(limit: 100).contains { $0.event == "refused" } })
    _ = try world[1].vault.changing.undoReplacement("ada")
    _ = try await world[0].vault.links.pingPeer("ben")
    #expect(try said(world).isEmpty && lines() == ["ben"])
  }

  /// Who says that the first member was replaced, by its own status.
  private func said(_ world: TestWorld) throws -> [String: Int64] {
    let peers = try world[0].vault.overview.status().peers
    return Dictionary(
      uniqueKeysWithValues: peers.compactMap { peer in peer.saysReplacedSince.map { (peer.summary.name, $0) } })
  }

  @Test func `who was replaced by somebody that is no peer any more hears what a stranger hears`() async throws {
    let world = try TestWorld(3)
    try await world.prove()
    let card = try PeerCard.parse(text: world[2].vault.core.ownIdentity().qrText)
    _ = try world[1].vault.changing.replacePeer("ada", with: card)
    _ = try world[1].vault.trust.removePeer("ada")
    let heard = await refusal { try await world[0].vault.links.pingPeer("ben") }
    #expect(heard?.reason == "ben has not imported your key")
  }
}
