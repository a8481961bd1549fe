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
    #expect(try overview.secret("letter").holders == ["this device", "ben", "cleo"])
    let deletion = try overview.consequenceOfDeleting("letter")
    #expect(deletion.secret.threshold == 3 && deletion.makesUnrecoverable)
    #expect(deletion.explanation.hasPrefix("all 3 shares are needed"))
    let plan = try circle.vault(0).recovering.planReshare(ReshareRequest(reference: "letter"))
    #expect(plan.threshold == 3 && plan.old.threshold == 3 && plan.recipients == ["ben", "cleo"])
    let retry = try #require(try await circle.vault(0).sharing.retry("letter") { _ in }.first)
    #expect([retry.threshold, retry.shareCount, retry.placed] == [3, 3, 3] && retry.isFinished)
    let holding = try overview.status().peers.filter { $0.holds.contains(circle.id.description) }
    #expect(holding.map(\.summary.name).sorted() == ["ben", "cleo"])
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

  @Test func `a check needs as many fragments as the secret was dealt with, and as many shares as count now`()
    async throws
  {
    let circle = try await ChangingCircle(3)
    try await circle.order(.threshold(3))
    try await circle.settle([1, 2])
    try await circle.agree(1)
    try await circle.settle([0, 1, 2])
    try damage(circle.fragment(1), at: 1000)
    let check = try await circle.check(0)
    #expect(check.answered == 2 && check.proved == 3 && check.fragmentsNeeded == 2)
    #expect(check.isRecoverable && !check.haveAllAnswered)
    try damage(circle.fragment(2), at: 1000)
    #expect(try await !circle.check(0).isRecoverable)
  }

  @Test func `keys are listed with what counts`() async throws {
    let world = try TestWorld(3)
    try await world.prove()
    let key = try await world[0].vault.items.createKey(named: "family", threshold: 2, recipients: ["ben", "cleo"]) {
      _ in
    }
    for member in 1...2 { try await world.prove(by: member) }
    let circle = try ChangingCircle(key.id, in: world)
    try await circle.order(.threshold(3))
    try await circle.settle([1, 2])
    try await circle.agree(1)
    try await circle.settle([0, 1, 2])
    #expect(try circle.vault(0).items.encryptionKeys().map(\.secret.threshold) == [3])
  }

  @Test func `whoever came by a change is known to hold a share, and proposed for one of a copy`() async throws {
    let circle = try await ChangingCircle()
    try await circle.change(.replace("cleo", by: "dan"), asks: [3, 1], among: [0, 1, 3])
    let vault = circle.vault(0)
    #expect(try vault.recovering.planReshare(ReshareRequest(reference: "letter")).recipients == ["ben", "dan"])
    #expect(try vault.sharing.sharing(circle.id.description, leftOut: []).isFinished)
    #expect(try vault.trust.removePeer("dan").stillHolds.map(\.id) == [circle.id.description])
    // It keeps its older share until its user deletes it.
    #expect(try vault.trust.removePeer("cleo").stillHolds.map(\.id) == [circle.id.description])
  }

  @Test func `who dealt a secret and holds none of it knows what counts, too`() async throws {
    let circle = try await ChangingCircle(4, holders: [1, 2, 3], keepsOwnShare: false)
    try await circle.order(.remove("dan"), by: 1)
    try await circle.settle([1, 2])
    try await circle.agree(2)
    try await circle.settle([1, 2, 0])
    let summary = try circle.vault(0).overview.secret("letter").summary
    #expect(summary.threshold == 2 && summary.shareCount == 2)
  }
}
