import PeerAuth
import ShamirKit
import Sodium
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

/// What is kept of what others say is bounded, whoever they are.
@Suite struct ChangingLimitTests {
  // MARK: - Dealings

  @Test func `a third dealing of a dealer is kept only with the record that names it`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let proposal = try circle.proposal(by: 1)
    let made = try (0..<3).map { _ in try circle.dealing(proposal, by: 1) }
    let other = try circle.dealing(proposal, by: 2)
    let objects = made.map { LifecycleObject.dealing($0.dealing, boxes: $0.boxes) }
    try circle.take([.proposal(proposal)], by: 0)
    let taken = try objects.map { try circle.take([$0], by: 0) }
    #expect(taken == [true, true, false])
    let record = try circle.record(proposal, [made[2].dealing, other.dealing], by: 1)
    #expect(try circle.take([objects[2], .dealing(other.dealing, boxes: other.boxes), record], by: 0))
    try circle.world[0].restart()
    let digest = try record.digest()
    #expect(try circle.known(0).epochs[digest] != nil)
    #expect(
      try circle.known(0).dealings(of: proposal.digest())[made[2].dealing.index]?.dealing == made[2].dealing)
  }

  @Test(arguments: [true, false]) func `a record that isn't kept brings no dealings with it`(
    _ isOfAsker: Bool
  ) async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let proposal = try circle.proposal(by: 1)
    let made = try (0..<6).map { _ in try circle.dealing(proposal, by: 1) }
    let unknown = try circle.dealing(proposal, by: 2).dealing
    try circle.take([.proposal(proposal)], by: 0)
    for one in made {
      let record = try circle.record(proposal, [one.dealing, unknown], by: isOfAsker ? 1 : 2)
      let objects = [.dealing(one.dealing, boxes: one.boxes), record]
      if isOfAsker {
        try circle.take(objects, by: 0)
      } else {
        #expect(throws: ProtocolError.foreignProposal("record")) { try circle.take(objects, by: 0) }
      }
    }
    #expect(try circle.count(.dealing, 0) == (isOfAsker ? 2 : 0) && circle.count(.record, 0) == 0)
  }

  // MARK: - Proposals and joinings

  @Test func `a proposal is kept if it lasts for more than half a day, and for a month at most`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let month: Int64 = 31 * 86_400_000
    let taken = try [-1, 43_200_000, month + 2 * 3_600_000, month].map { lasting in
      try circle.take([.proposal(circle.proposal(by: 1, lasting: lasting))], by: 0)
    }
    #expect(taken == [false, false, false, true])
  }

  @Test func `who neither holds a share nor is to have one proposes nothing`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let proposal = LifecycleObject.proposal(try circle.proposal(by: 3))
    #expect(try !circle.take([proposal], by: 0))
    try circle.vault(0).changing.wish(circle.id) { $0.added.insert(circle.card(3)) }
    #expect(try circle.take([proposal], by: 0))
  }

  @Test func `who isn't awaited says in vain that it would take a share`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let joinings = try [circle.identity(3), Identity.generate()].map { LifecycleObject.joining(try circle.willing($0)) }
    #expect(try !circle.take(joinings, by: 0))
    try circle.vault(0).changing.wish(circle.id) { $0.added.insert(circle.card(3)) }
    #expect(try circle.take(joinings, by: 0))
    #expect(try circle.known(0).joinings.values.filter { $0.index == 0 }.map(\.keys.digest) == [circle.card(3)])
  }

  @Test func `an asker has two proposals, and one that the user has refused makes room`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let proposals = try (1...4).map { LifecycleObject.proposal(try circle.proposal(by: 1, number: $0)) }
    let taken = try proposals.prefix(3).map { try circle.take([$0], by: 0) }
    #expect(taken == [true, true, false])
    try await circle.vault(0).changing.lookAtRequests()
    let request = try #require(circle.waiting(0).first)
    _ = try circle.vault(0).consent.refuseRequest(request.id)
    let later = try proposals.suffix(2).map { try circle.take([$0], by: 0) }
    #expect(later == [true, false])
  }

  @Test func `eight proposals wait at most, whoever has made them`() async throws {
    let circle = try await ChangingCircle(6, holders: [1, 2, 3, 4, 5])
    try await circle.meet([0, 1, 2, 3, 4, 5])
    let rows = try circle.kept([0, 1, 2, 3, 4, 5])
    for asker in 1...5 {
      for number: UInt32 in 1...2 {
        let proposal = try circle.proposal(by: asker, number: number, rows: rows)
        #expect(try circle.take([.proposal(proposal)], by: 0) == (asker < 5))
      }
    }
    #expect(try circle.count(.proposal, 0) == 8)
  }

  // MARK: - Floods

  @Test func `a holder that says much leaves little`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let before = try circle.rows(0).count
    var objects: [LifecycleObject] = []
    for number: UInt32 in 1...20 { objects.append(.proposal(try circle.proposal(by: 1, number: number))) }
    guard case .proposal(let first) = objects[0] else { return }
    for _ in 0..<20 {
      let made = try circle.dealing(first, by: 1)
      objects.append(.dealing(made.dealing, boxes: made.boxes))
      objects.append(.joining(try circle.willing(.generate())))
      let index = try #require(circle.kept([1]).first).index
      let again = try Joining.sign(
        secret: circle.id, record: circle.header.digest, index: index,
        salt: circle.world[1].held(circle.header).salt.withUnsafeBytes { Array($0) },
        receivingKey: AgreementKeyPair.generate().publicKey, by: circle.identity(1))
      objects.append(.joining(again))
    }
    for _ in 0..<2 { #expect(try await circle.say(objects, by: 1, to: 0).refusal == nil) }
    #expect(try circle.count(.proposal, 0) == 2 && circle.count(.dealing, 0) == 2)
    #expect(try circle.rows(0).count == before + 4)
    try await circle.vault(0).changing.lookAtRequests()
    #expect(try circle.waiting(0).count == 1)
  }

  @Test func `sixteen records that aren't complete are kept, and little more than that`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    for number: UInt32 in 1...20 {
      try circle.take(
        circle.change(circle.proposal(by: 1, number: number), dealers: [1, 2], asker: 1), by: 0)
    }
    #expect(try circle.count(.record, 0) == 16)
    #expect(try circle.count(.proposal, 0) == 18 && circle.count(.dealing, 0) == 36)
  }
}
