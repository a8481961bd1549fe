import Testing

@testable import SecretVault

@Suite struct ChangedCountTests {
  @Test func `what is shown of a secret has the threshold and the holders that count`() async throws {
    let circle = try await ChangingCircle(4, holders: [1, 2, 3])
    let other = try await circle.world.share([1], threshold: 2, to: [1], description: "other")
    func counts(_ summary: SecretSummary?) -> [Int?] { [summary?.threshold, summary?.shareCount] }
    _ = try await circle.vault(0).changing.order(.remove("dan"), of: ["letter"], leavingOutAbsent: false)
    try await circle.settle([1, 2])
    try await circle.agree(1)
    try await circle.settle([0, 1, 2])
    #expect(try counts(circle.vault(0).overview.secret("letter").summary) == [2, 3])
    _ = try await circle.vault(0).changing.order(.threshold(3), of: ["letter"], leavingOutAbsent: false)
    try await circle.settle([1, 2])
    try await circle.agree(1)
    try await circle.settle([0, 1, 2])
    let overview = circle.vault(0).overview
    #expect(try counts(overview.secret("letter").summary) == [3, 3])
    #expect(try counts(overview.secrets().first { $0.id == circle.id.description }) == [3, 3])
    #expect(try counts(overview.status().secrets.map(\.summary).first { $0.id == circle.id.description }) == [3, 3])
    #expect(try counts(overview.secrets().first { $0.id == other.id }) == [2, 2])
    #expect(try overview.consequenceOfDeleting("letter").secret.threshold == 3)
    let check = try await circle.check(0)
    #expect(counts(check.secret) == [3, 3] && check.isRecoverable && check.haveAllAnswered)
    #expect(check.holders.compactMap(\.peer).sorted() == ["ben", "cleo"])
    let started = Collected<SecretSummary>()
    _ = try await circle.vault(0).recovering.recover(
      "letter", to: .file(path: circle.world[0].desk + "/back", overwrites: true)
    ) { event in
      if case .started(let summary) = event { started.add(summary) }
    }
    #expect(started.all.map(\.threshold) == [3])
  }
}
