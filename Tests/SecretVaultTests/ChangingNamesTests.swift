import Testing

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
