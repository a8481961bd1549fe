import PeerAuth
import ShamirKit
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

/// What is given up, what is done once, and what one failure doesn't stop.
@Suite struct ChangingCancelTests {
  // MARK: - Giving up

  @Test func `of a change that was given up nothing comes, even if others deal for it`() async throws {
    let circle = try await ChangingCircle()
    try await circle.order(.refresh)
    try await circle.settle([1])
    try circle.vault(0).changing.cancel("letter")
    #expect(try circle.vault(0).changing.status(of: "letter") == nil)
    try await circle.agree(1)
    try await circle.settle([0, 1, 2])
    // The dealings that it would take are there.
    let proposal = try #require(circle.known(0).proposals.keys.first)
    #expect(try circle.known(0).possibleRecord(of: proposal)?.count == 2)
    for member in 0...2 { #expect(try circle.count(.record, member) == 0 && circle.epochs(member) == [0]) }
    #expect(await refusal { try circle.vault(0).changing.cancel("letter") }?.code == .notFound)
    try await circle.order(.refresh)
    try await circle.settle([1])
    try await circle.agree(1)
    try await circle.settle([0, 1])
    #expect(try circle.epochs(0).contains(2))
  }

  @Test func `what is wanted and can't be proposed yet can be given up, too`() async throws {
    let circle = try await ChangingCircle()
    circle.world.set(.refuses, for: circle.world[2])
    try await circle.order(.refresh)
    #expect(try circle.vault(0).circles.wish(for: circle.id) != nil)
    try circle.vault(0).changing.cancel("letter")
    try await circle.settle([0])
    #expect(try circle.vault(0).circles.wish(for: circle.id) == nil && circle.count(.proposal, 0) == 0)
  }

  // MARK: - Replaced devices

  /// Ben and cleo put another member in the place of whom they call ada.
  private func replace(_ circle: ChangingCircle, by member: Int) throws {
    let card = try PeerCard.parse(text: circle.vault(member).core.ownIdentity().qrText)
    for friend in [1, 2] {
      _ = try circle.vault(friend).trust.removePeer(circle.world[member].name)
      _ = try circle.vault(friend).changing.replacePeer("ada", with: card)
    }
  }

  private func regain(_ circle: ChangingCircle, by member: Int) async throws {
    for friend in [1, 2] { _ = try await circle.vault(member).links.pingPeer(circle.world[friend].name) }
    _ = try await circle.vault(member).changing.regain()
    for friend in [1, 2] { try await circle.vault(friend).changing.pursue(circle.id) }
    _ = try await circle.vault(member).changing.regain()
  }

  @Test func `a replacement is taken back until a share is dealt to the new device`() async throws {
    let circle = try await ChangingCircle()
    circle.world.set(.refuses, for: circle.world[0])
    try replace(circle, by: 3)
    try await regain(circle, by: 3)
    let cleo = circle.vault(2)
    #expect(try cleo.trust.peers().count { $0.name == "ada" } == 1)
    _ = try cleo.changing.undoReplacement("ada")
    #expect(try cleo.directory.find("ada").digest == circle.card(0))
    #expect(try cleo.core.database.replacements().isEmpty)
    try await circle.agree(1)
    let refused = await refusal { try circle.vault(1).changing.undoReplacement("ada") }
    #expect(refused?.code == .refused)
    #expect(try circle.vault(1).directory.find("ada").digest == circle.card(3))
    #expect(try circle.vault(1).core.database.replacements().map(\.new) == [circle.card(3)])
  }

  @Test func `who loses a second device before the first has its share takes the place with a third`() async throws {
    let circle = try await ChangingCircle(5)
    circle.world.set(.refuses, for: circle.world[0])
    try replace(circle, by: 3)
    circle.world.set(.refuses, for: circle.world[3])
    let card = try PeerCard.parse(text: circle.vault(4).core.ownIdentity().qrText)
    #expect(try circle.vault(1).changing.replacementPlan("ada", card).secrets.count == 1)
    try replace(circle, by: 4)
    try await regain(circle, by: 4)
    try await circle.agree(1)
    try await circle.agree(2)
    try await circle.settle([4, 1, 2])
    #expect(try circle.epochs(4) == [1])
    #expect(try await circle.recovered(by: 4))
  }

  @Test func `a lost one's place that was given up isn't taken again because peers name it again`() async throws {
    let circle = try await ChangingCircle()
    circle.world.set(.refuses, for: circle.world[0])
    try replace(circle, by: 3)
    try await regain(circle, by: 3)
    #expect(try circle.vault(3).circles.hasAccepted(circle.id))
    try circle.vault(3).changing.cancel(circle.id.description)
    _ = try await circle.vault(3).changing.regain()
    #expect(try circle.vault(3).circles.hasGivenUp(circle.id) && !circle.vault(3).circles.isAgreed(circle.id))
  }

  @Test func `a yes can be taken back as long as a delay keeps it from being dealt`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    _ = try circle.vault(1).consent.setReleasePolicy(.delay(3 * 86_400_000), of: circle.id.description)
    try await circle.order(.refresh)
    try await circle.settle([1])
    let request = try #require(circle.waiting(1).first)
    _ = try await circle.vault(1).consent.approveRequest(request.id)
    circle.world.clock.leap(by: .seconds(2 * 86_400))
    _ = try circle.vault(1).consent.refuseRequest(request.id)
    circle.world.clock.leap(by: .seconds(2 * 86_400))
    try await circle.advance(1)
    #expect(try circle.known(1).dealings.values.allSatisfy { $0.dealing.keys.digest != circle.card(1) })
  }

  @Test func `a no that comes between reading a yes and dealing counts`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let proposal = try circle.proposal(by: 0)
    try circle.take([.proposal(proposal)], by: 1)
    try circle.decide(proposal, true, by: 1)
    let made = try circle.dealing(proposal, by: 1)
    let row = try circle.vault(1).circles.row(.dealing(made.dealing, boxes: made.boxes), of: circle.id)
    let name = try LifecycleRecord.Name(.decision, proposal.digest())
    try circle.decide(proposal, false, by: 1)
    try circle.vault(1).core.database.changeLifecycle(ofSecret: circle.id, adding: [row], ifThere: (name, [1]))
    try await circle.advance(1)
    #expect(try circle.count(.dealing, 1) == 0)
  }

  // MARK: - Once only

  @Test func `two processes make one record of a proposal`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let proposal = try circle.proposal(by: 0)
    let made = try [0, 1, 2].map { try circle.dealing(proposal, by: $0) }
    try circle.decide(proposal, true, by: 0)
    try circle.take([.proposal(proposal)] + made.prefix(2).map { .dealing($0.dealing, boxes: $0.boxes) }, by: 0)
    let other = try circle.world[0].opened()
    try await other.changing.advance(circle.id)
    #expect(try circle.count(.record, 0) == 1)
    // This one had seen other dealings.
    let late = try circle.record(proposal, made.suffix(2).map(\.dealing), by: 0)
    let row = try circle.vault(0).circles.row(late, of: circle.id)
    let name = try LifecycleRecord.Name(.decision, proposal.digest())
    try circle.vault(0).core.database.changeLifecycle(ofSecret: circle.id, adding: [row], ifThere: (name, [1]))
    #expect(try circle.count(.record, 0) == 1)
  }

  @Test func `two processes propose once what was wanted once`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let (one, other) = (circle.vault(0), try circle.world[0].opened())
    try one.changing.wish(circle.id) { _ in }
    let wish = try #require(try one.circles.wish(for: circle.id))
    let known = try circle.known(0)
    for vault in [one, other] { _ = try vault.changing.propose(circle.id, wish, known) }
    #expect(try circle.count(.proposal, 0) == 1 && circle.count(.decision, 0) == 1)
  }

  @Test func `two processes deal once`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let proposal = try circle.proposal(by: 0)
    try circle.take([.proposal(proposal)], by: 1)
    try circle.decide(proposal, true, by: 1)
    // The other has dealt, and this one hasn't seen what.
    let mark = LifecycleRecord(secretID: circle.id, name: .init(.dealt, try proposal.digest()), content: [], addedAt: 1)
    let database = circle.vault(1).core.database
    try database.changeLifecycle(ofSecret: circle.id, adding: [mark])
    try await circle.advance(1)
    #expect(try circle.count(.dealing, 1) == 0)
    try database.changeLifecycle(ofSecret: circle.id, removing: [mark.name])
    let vaults = [circle.vault(1), try circle.world[1].opened()]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for vault in vaults { group.addTask { try await vault.changing.advance(circle.id) } }
      try await group.waitForAll()
    }
    #expect(try circle.count(.dealing, 1) == 1)
  }

  @Test func `of an asker's two proposals the user is asked about one, the same until it is decided`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    for number: UInt32 in 1...2 { try circle.take([.proposal(circle.proposal(by: 1, number: number))], by: 0) }
    var ids: Set<Int64> = []
    for _ in 0..<8 {
      try circle.world[0].restart()
      try await circle.vault(0).changing.lookAtRequests()
      ids.formUnion(try circle.waiting(0).map(\.id))
    }
    #expect(ids.count == 1)
    let asked = try #require(circle.waiting(0).first)
    #expect(asked.change?.number == 2)
    _ = try circle.vault(0).consent.refuseRequest(asked.id)
    try await circle.vault(0).changing.lookAtRequests()
    #expect(try circle.waiting(0).map(\.change?.number) == [1])
  }

  @Test func `a step that fails stands in no other's way`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let (first, second) = (try circle.proposal(by: 0), try circle.proposal(by: 2, number: 2))
    try circle.take([.proposal(first)], by: 1)
    try circle.decide(first, true, by: 1)
    try circle.world.damageShares(of: circle.world[1])
    try circle.take([.proposal(second)], by: 1)
    let (ben, lines) = try circle.world[1].logged()
    try await ben.changing.advance(circle.id)
    #expect(lines.all.contains { $0.contains("can't be gone on with") })
    #expect(try circle.count(.dealing, 1) == 0)
    #expect(try circle.waiting(1).map(\.change?.number) == [2])
  }
}
