import PeerAuth
import ShamirKit
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

/// Older and newer shares beside one another, fragments for who had none, and shared keys.
@Suite struct ChangingSharesTests {
  /// Ada and ben have new shares, and cleo, who can't be reached, hasn't: so older ones stay, and count.
  private func unfinished() async throws -> ChangingCircle {
    let circle = try await ChangingCircle()
    try await circle.meet()
    circle.world.set(.refuses, for: circle.world[2])
    try await circle.order(.refresh)
    try await circle.settle([1])
    try await circle.agree(1)
    try await circle.settle([0, 1])
    for member in 0...1 { try #require(circle.epochs(member) == [0, 1]) }
    return circle
  }

  private func release(_ circle: ChangingCircle) async throws -> RefusalReason? {
    let requester = try await HostileRequester(circle.world[2], dials: circle.world[1], in: circle.world)
    let nonce = try await requester.ask(circle.header)
    let answer = try await requester.submit(requester.proof(circle.header, nonce: nonce))
    await requester.session.close()
    return answer
  }

  @Test func `who knows of a later sharing releases an older share only if its user says so`() async throws {
    let before = try await ChangingCircle()
    #expect(try await release(before) == nil)
    let circle = try await unfinished()
    #expect(try await release(circle) == .userAsked)
    let request = try #require(circle.vault(1).consent.requests().first { $0.kind == .release })
    _ = try await circle.vault(1).consent.approveRequest(request.id)
    #expect(try await release(circle) == nil)
  }

  @Test func `a recovery for which a holder's user is asked goes on with the shares of another sharing`() async throws {
    let circle = try await unfinished()
    let record = try circle.vault(0).directory.resolve("letter")
    #expect(try circle.vault(0).circles.usableEpochs(of: record).map(\.number) == [0, 1])
    #expect(try await circle.recovered(by: 0))
    let log = try circle.vault(1).overview.log(limit: 100)
    #expect(log.contains { $0.event == AuditEvent.releaseRequested.rawValue && $0.peer == "ada" })
  }

  @Test func `two who have the same fragment count once for whoever has none`() async throws {
    let circle = try await ChangingCircle(5)
    try await circle.meet()
    try await circle.order(.replace("ada", by: "dan"), by: 1)
    try await circle.agree(3)
    try await circle.settle([3, 1, 2])
    try await circle.agree(2)
    try await circle.settle([1, 2, 3])
    try #require(circle.epochs(3) == [1])
    // Ada still has the fragment that dan has rebuilt; cleo, the only one with a third, can't be reached from now on.
    try await circle.order(.replace("cleo", by: "eva"), by: 1)
    try await circle.agree(4)
    try await circle.settle([4, 1, 3])
    circle.world.set(.refuses, for: circle.world[2])
    try await circle.agree(3)
    try await circle.settle([1, 3, 4])
    #expect(try circle.epochs(4) == [2])
    #expect(try await circle.recovered(by: 4))
  }

  @Test func `a shared key changes holders, and what is encrypted under it opens as before`() async throws {
    let world = try TestWorld(4)
    try await world.prove()
    let key = try await world[0].vault.items.createKey(named: "family", threshold: 2, recipients: ["ben", "cleo"]) {
      _ in
    }
    for member in 1...3 { try await world.prove(by: member) }
    let bytes = randomBytes(50_000)
    let path = try world.scratch.write(bytes, as: "letter.txt")
    let item = try await world[0].vault.items.addItem(ItemRequest(source: .file(path: path)), under: "family")
    let circle = try ChangingCircle(key.id, in: world)
    try await circle.change(.replace("cleo", by: "dan"), asks: [3, 1], among: [0, 1, 3])
    for member in [0, 1, 3] { try #require(circle.epochs(member) == [1]) }
    world.set(.refuses, for: world[2])
    try await world[0].vault.items.sendItem(item.id, to: "dan")
    _ = try await world[3].vault.items.acceptItem(item.id)
    for member in [0, 3] {
      let opened = world[member].desk + "/opened"
      _ = try await world[member].vault.items.openItem(
        item.id, to: .file(path: opened, overwrites: true), access: ItemAccess())
      #expect(contents(opened) == bytes)
    }
    #expect(try world[3].vault.items.encryptionKeys().map(\.items) == [1])
  }
}
