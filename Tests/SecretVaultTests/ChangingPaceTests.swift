import PeerAuth
import ShamirKit
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

/// How often others are called about a change, and how long for.
@Suite struct ChangingPaceTests {
  @Test(arguments: [(9, nil), (14, LinkFailure.Kind.slow)])
  func `a peer is listened to for a minute if it says little`(_ pause: Int, _ failure: LinkFailure.Kind?) async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    circle.drip(as: 1, try circle.ready(1, 1, in: circle.header.digest), every: .seconds(pause))
    let changing = circle.vault(0).changing
    let ben = try changing.directory.recipient(changing.directory.find("ben"))
    var found: LinkFailure.Kind?
    do throws(LinkFailure) { _ = try await changing.links.ask(PlacesAsker(), of: ben) } catch { found = error.kind }
    #expect(found == failure)
  }

  @Test func `a fragment that can't be had is tried for again after growing pauses`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    try await circle.order(.replace("cleo", by: "dan"))
    try await circle.agree(3)
    try await circle.settle([3, 0, 1])
    try await circle.agree(1)
    try await circle.vault(0).changing.pursue(circle.id)
    // Its share is ready for dan, and those who have the fragments are away.
    circle.world.cutOff()
    func calls(of deed: () async throws -> Void) async throws -> Int {
      circle.world.network.resetCounts()
      try await deed()
      return circle.world.network.dialled.count
    }
    #expect(try await calls { try await circle.advance(3) } > 0)
    #expect(try await calls { for _ in 0..<5 { try await circle.advance(3) } } == 0)
    circle.world.clock.advance(by: .seconds(6))
    #expect(try await calls { try await circle.advance(3) } > 0)
    circle.world.clock.advance(by: .seconds(6))
    #expect(try await calls { try await circle.advance(3) } == 0)
    for member in 0...3 { circle.world.set(.none, for: circle.world[member]) }
    circle.world.clock.advance(by: .seconds(3600))
    try await circle.settle([3])
    #expect(try circle.epochs(3) == [1])
  }

  @Test func `who was left out while it was away hears of it when it is back`() async throws {
    let circle = try await ChangingCircle(4, holders: [1, 2, 3])
    try await circle.meet([0, 1, 2, 3])
    circle.world.set(.refuses, for: circle.world[3])
    try await circle.order(.remove("dan"))
    try await circle.settle([1, 2])
    try await circle.agree(1)
    try await circle.settle([0, 1, 2])
    for member in 1...2 where try circle.epochs(member) != [1] { try await circle.agree(member) }
    for member in 0...2 { #expect(try circle.epochs(member) == [1]) }
    circle.world.set(.none, for: circle.world[3])
    circle.world.clock.advance(by: .seconds(3600))
    for member in 0...2 { try await circle.vault(member).changing.pursueAll() }
    #expect(try circle.known(3).isOld(Epoch(circle.header)))
    for member in 0...2 { #expect(try circle.vault(member).changing.secretsUnderWay(orUntold: true).isEmpty) }
  }

  @Test func `what one peer alone has named to a new device is nothing to ask the others about`() async throws {
    let circle = try await ChangingCircle(6)
    circle.world.set(.refuses, for: circle.world[0])
    let card = try PeerCard.parse(text: circle.vault(3).core.ownIdentity().qrText)
    _ = try circle.vault(1).trust.removePeer("dan")
    _ = try circle.vault(1).changing.replacePeer("ada", with: card)
    _ = try await circle.vault(3).links.pingPeer("ben")
    circle.world.network.resetCounts()
    _ = try await circle.vault(3).changing.regain()
    #expect(try circle.vault(3).circles.hasAccepted(circle.id))
    let dialled = circle.world.network.dialled
    // Once for whether they have a place for it, and not about this one.
    #expect(dialled.count { $0 == circle.world[4].address.description } == 1)
    #expect(dialled.count { $0 == circle.world[1].address.description } > 1)
  }
}
