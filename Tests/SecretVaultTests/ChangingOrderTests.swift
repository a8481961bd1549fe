import ShamirKit
import Testing
import VaultStore

@testable import SecretVault

/// Who is meant in an order.
@Suite struct ChangingNamesTests {
  @Test func `a holder that is no peer any more is named by its share, in one secret`() async throws {
    let circle = try await ChangingCircle(4)
    let ada = circle.vault(0)
    let cleo = circle.vault(2).core.identity.keys.digest
    let index = try #require(try circle.vault(2).core.database.secret(circle.id)?.ownIndex)
    _ = try ada.trust.removePeer("cleo")
    await #expect(throws: VaultError.self) {
      _ = try await ada.changing.order(.remove("cleo"), of: ["letter"], leavingOutAbsent: false)
    }
    await #expect(throws: VaultError.self) {
      _ = try await ada.changing.order(.remove("#\(index)"), of: nil, leavingOutAbsent: false)
    }
    await #expect(throws: VaultError.self) {
      _ = try await ada.changing.order(.remove("#9"), of: ["letter"], leavingOutAbsent: false)
    }
    let statuses = try await ada.changing.order(.remove("#\(index)"), of: ["letter"], leavingOutAbsent: false)
    #expect(statuses.first?.change?.leaves.map(\.index) == [index] || statuses.first?.change?.othersLeave == 1)
    try await circle.settle([1, 0])
    try await circle.agree(1)
    try await circle.settle([0, 1])
    #expect(try circle.epochs(0) == [1] && circle.epochs(1) == [1])
    #expect(
      try ada.circles.circle(of: circle.id)?.epochs.values.contains { $0.holders?.values.contains(cleo) == true }
        == false)
  }
}

/// What is left of older shares.
@Suite struct ErasedSharesTests {
  @Test func `older shares that still wait for their holders go with the own one`() async throws {
    let world = try TestWorld(4)
    try await world.prove()
    for member in 1..<4 { try await world.prove(by: member) }
    world.set(.refuses, for: world[3])
    let report = try await world.share(randomBytes(2000), threshold: 2, to: [1, 2, 3], description: "letter")
    let id = try #require(SecretID(named: report.id))
    let ada = world[0].vault
    func waiting() throws -> [OutboxRecord.State] { try ada.core.database.deliveries(ofSecret: id).map(\.state) }
    #expect(try waiting().filter { $0 == .waiting }.count == 1)
    _ = try await ada.changing.order(.refresh, of: ["letter"], leavingOutAbsent: true)
    try await world[1].vault.changing.pursue(id)
    let request = try #require(try world[1].vault.consent.requests().first { $0.kind == .change })
    _ = try await world[1].vault.consent.approveRequest(request.id)
    for _ in 0..<3 { for member in 0..<3 { try await world[member].vault.changing.pursue(id) } }
    #expect(try ada.circles.ownEpochs(id) == [1])
    #expect(try waiting().filter { $0 == .cancelled }.count == 1 && waiting().allSatisfy { $0 != .waiting })
    // Its holder comes back, and is told nothing of it.
    world.set(.none, for: world[3])
    _ = try await ada.sharing.retry(nil, events: { _ in })
    #expect(try world[3].vault.core.database.secret(id) == nil)
  }
}
