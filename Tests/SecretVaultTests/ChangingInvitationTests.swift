import PeerAuth
import ShamirKit
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

/// Ada wants dan to hold a share in cleo's place. What dan's device keeps of that, and for how long.
@Suite struct ChangingInvitationTests {
  private func invited() async throws -> ChangingCircle {
    let circle = try await ChangingCircle()
    try await circle.meet()
    try await circle.order(.replace("cleo", by: "dan"))
    return circle
  }

  private func header(_ circle: ChangingCircle) -> LifecycleObject {
    .header(circle.header, dealer: circle.card(0), former: nil)
  }

  private func kinds(_ circle: ChangingCircle) throws -> [LifecycleRecord.Kind] {
    try circle.rows(3).map(\.name.kind)
  }

  @Test func `before the user's yes nothing is kept but the header`() async throws {
    let circle = try await invited()
    #expect(try kinds(circle) == [.header])
    let proposal = LifecycleObject.proposal(try circle.proposal(by: 0))
    let said = try await circle.say([header(circle), proposal] + circle.known(0).objects(), by: 0, to: 3)
    #expect(said.refusal == nil)
    #expect(try kinds(circle) == [.header] && circle.waiting(3).count == 1)
    let request = try #require(circle.waiting(3).first)
    _ = try await circle.vault(3).consent.approveRequest(request.id)
    #expect(try Set(kinds(circle)) == [.header, .joining, .receivingKey])
  }

  @Test func `an invitation is forgotten when its time is over, and may come again`() async throws {
    let circle = try await invited()
    let first = try #require(circle.waiting(3).first)
    _ = try await circle.say([header(circle)], by: 0, to: 3)
    #expect(try circle.waiting(3).map(\.id) == [first.id])
    circle.world.clock.leap(by: .seconds(8 * 86_400))
    try circle.vault(3).changing.forgetPlace(circle.id)
    #expect(try kinds(circle) == [] && circle.waiting(3).isEmpty)
    _ = try await circle.say([header(circle)], by: 0, to: 3)
    #expect(try kinds(circle) == [.header])
    let again = try #require(circle.waiting(3).first)
    #expect(again.id != first.id)
  }

  @Test func `an invitation that the user has refused is forgotten, and not repeated at once`() async throws {
    let circle = try await invited()
    let request = try #require(circle.waiting(3).first)
    _ = try circle.vault(3).consent.refuseRequest(request.id)
    #expect(try kinds(circle) == [])
    _ = try await circle.say([header(circle)], by: 0, to: 3)
    #expect(try kinds(circle) == [] && circle.waiting(3).isEmpty)
  }

  @Test func `what the user has agreed to take a share of is shown, and can be given up`() async throws {
    let circle = try await invited()
    #expect(try circle.vault(3).changing.statuses().isEmpty)
    _ = try await circle.vault(3).consent.approveRequest(#require(circle.waiting(3).first).id)
    #expect(try circle.vault(3).changing.statuses().map(\.secret.id) == [circle.id.description])
    #expect(await refusal { try circle.vault(3).changing.cancel("letters") }?.code == .notFound)
    try circle.vault(3).changing.cancel("letter")
    #expect(try circle.vault(3).circles.hasGivenUp(circle.id) && circle.vault(3).changing.statuses().isEmpty)
    #expect(try circle.vault(3).changing.secretsUnderWay().isEmpty)
    // Its user may be asked again, and say yes then: what was heard of it before still holds.
    circle.world.clock.leap(by: .seconds(2 * 86_400))
    _ = try await circle.say([header(circle)], by: 0, to: 3)
    try await circle.agree(3)
    try await circle.settle([3, 0, 1])
    try await circle.agree(1)
    try await circle.settle([0, 1, 3])
    #expect(try circle.epochs(3) == [1])
  }

  @Test func `what one peer's invitation was accepted for stays if another one's is refused, and goes with all`()
    async throws
  {
    let circle = try await invited()
    func invite(by member: Int) async throws {
      _ = try await circle.say([header(circle)], by: member, to: 3)
    }
    try await invite(by: 1)
    let requests = try circle.waiting(3)
    #expect(requests.count == 2)
    _ = try await circle.vault(3).consent.approveRequest(requests[0].id)
    _ = try circle.vault(3).consent.refuseRequest(requests[1].id)
    #expect(try circle.vault(3).circles.hasAccepted(circle.id))
    circle.world.clock.leap(by: .seconds(2 * 86_400))
    #expect(try circle.vault(3).circles.hasAccepted(circle.id))
    try circle.vault(3).changing.cancel("letter")
    #expect(try circle.vault(3).circles.hasGivenUp(circle.id))
  }

  @Test func `a place that is given up while somebody still asks about it is given up`() async throws {
    let circle = try await invited()
    _ = try await circle.vault(3).consent.approveRequest(#require(circle.waiting(3).first).id)
    let other = RequestRecord(
      kind: .change, peer: circle.card(1), secretID: circle.id, headerDigest: circle.header.digest,
      askedAt: circle.world.clock.now, endsAt: circle.world.clock.now + 86_400_000)
    _ = try circle.vault(3).core.database.changeRequest(
      .change, of: circle.card(1), secret: circle.id, at: circle.world.clock.now
    ) { row, _ in row = other }
    #expect(try circle.waiting(3).count == 1)
    try circle.vault(3).changing.cancel("letter")
    #expect(try circle.vault(3).circles.hasGivenUp(circle.id) && circle.waiting(3).isEmpty)
  }

  @Test func `a place of which no share comes is forgotten after three months`() async throws {
    let circle = try await invited()
    _ = try await circle.vault(3).consent.approveRequest(#require(circle.waiting(3).first).id)
    circle.world.clock.leap(by: .seconds(92 * 86_400))
    try circle.vault(3).changing.forgetPlace(circle.id)
    #expect(try !kinds(circle).isEmpty)
    circle.world.clock.leap(by: .seconds(2 * 86_400))
    try circle.vault(3).changing.forgetPlace(circle.id)
    #expect(try kinds(circle) == [])
  }

  @Test func `who has not taken over the share that it was dealt keeps the key for it, whoever names the place again`()
    async throws
  {
    let circle = try await ChangingCircle(5, threshold: 2, holders: [1, 2, 3])
    try await circle.meet([0, 1, 2, 3])
    try await circle.order(.replace("dan", by: "eva"))
    func waiting() throws -> VaultRequest? {
      try circle.vault(4).consent.requests().first { $0.kind == .change && $0.state == .waiting }
    }
    _ = try await circle.vault(4).consent.approveRequest(#require(waiting()).id)
    try await circle.settle([4, 0, 1, 2])
    try await circle.agree(1)
    try await circle.settle([0, 1, 2])
    #expect(try circle.known(4).isComplete(circle.known(4).newestComplete) && circle.known(4).hasRow(circle.card(4)))
    #expect(try circle.known(4).newestComplete.number == 1 && circle.epochs(4).isEmpty)
    for _ in 0..<2 { try circle.vault(4).circles.sayWilling(circle.header) }
    try await circle.settle([4])
    #expect(try circle.epochs(4) == [1])
  }

  @Test func `a place for which a share was dealt isn't forgotten`() async throws {
    let circle = try await invited()
    try await circle.agree(3)
    try await circle.settle([3, 0, 1])
    try await circle.agree(1)
    try await circle.vault(0).changing.pursue(circle.id)
    #expect(try circle.known(3).hasRow(circle.card(3)) && circle.epochs(3).isEmpty)
    circle.world.clock.leap(by: .seconds(200 * 86_400))
    try circle.vault(3).changing.forgetPlace(circle.id)
    try await circle.settle([3])
    #expect(try circle.epochs(3) == [1])
  }

  @Test func `nobody is invited to what the user has deleted`() async throws {
    let circle = try await ChangingCircle(4, holders: [1, 2, 3])
    _ = try circle.vault(3).overview.delete("letter")
    _ = try await circle.say([header(circle)], by: 0, to: 3)
    #expect(try kinds(circle) == [] && circle.waiting(3).isEmpty)
  }

  @Test func `a peer invites to eight secrets at a time, and stands in no other's way`() async throws {
    let circle = try await ChangingCircle()
    let (ada, ben) = (circle.world[0], circle.world[1])
    for number in 1...10 {
      let secret = try ForgedSecret(by: ada, to: [ada, ben], threshold: 2, byteCount: 100)
      let invitation = LifecycleObject.header(secret.header, dealer: circle.card(0), former: nil)
      _ = try await circle.say([invitation], about: secret.header, by: number == 10 ? 1 : 0, to: 3)
      #expect(try circle.waiting(3).count == (number == 10 ? 9 : min(number, 8)))
      #expect(try circle.vault(3).core.database.secretsWithLifecycle().count == (number == 10 ? 9 : min(number, 8)))
    }
  }

  @Test func `an invitation is of the secret that was asked about`() async throws {
    let circle = try await ChangingCircle()
    let (ada, ben) = (circle.world[0], circle.world[1])
    let other = try ForgedSecret(by: ada, to: [ada, ben], threshold: 2, byteCount: 100)
    _ = try await circle.say([header(circle)], about: other.header, by: 0, to: 3)
    #expect(try circle.vault(3).core.database.secretsWithLifecycle() == [] && circle.waiting(3).isEmpty)
  }

  @Test func `a new device takes by itself only what its lost one had`() async throws {
    let circle = try await invited()
    #expect(try circle.vault(0).circles.places(for: circle.card(3)).map(\.id) == [circle.id])
    _ = try await circle.vault(3).changing.regain()
    #expect(try kinds(circle) == [.header])
    #expect(try circle.vault(3).circles.wish(for: circle.id) == nil)
  }
}
