import Foundation
import PeerAuth
import ShamirKit
import Sodium
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

/// What one holder, or time, must not bring to a standstill.
@Suite struct ChangingStuckTests {
  @Test func `a proposal of the highest number keeps nobody from proposing`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let highest = try circle.proposal(by: 2, number: Proposal.numberLimit)
    #expect(try circle.take([.proposal(highest)], by: 0))
    try await circle.order(.threshold(3))
    let own = try circle.known(0).proposals.values.first { $0.asker.digest == circle.card(0) }
    #expect(own?.number == Proposal.numberLimit)
  }

  @Test func `what somebody deals who leaves counts only where too few stay`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let joining = try circle.willing(circle.identity(3))
    func proposal(_ kept: [Int]) throws -> (Proposal, Digest) {
      let rows = try circle.kept(kept)
      let free = try #require((1...3).map { UInt8($0) }.first { index in !rows.contains { $0.index == index } })
      let made = try circle.proposal(
        by: 0, rows: (rows + [.init(index: free, joining: joining)]).sorted { $0.index < $1.index })
      return (made, try made.digest())
    }
    func deal(_ proposal: Proposal, _ members: [Int]) throws {
      for member in members {
        let made = try circle.dealing(proposal, by: member)
        #expect(try circle.take([.dealing(made.dealing, boxes: made.boxes)], by: 0))
      }
    }
    let (enough, digest) = try proposal([0, 1])
    try circle.take([.proposal(enough)], by: 0)
    try deal(enough, [2, 1])
    #expect(try circle.known(0).possibleRecord(of: digest) == nil)
    try deal(enough, [0])
    let known = try circle.known(0)
    let dealers = try #require(known.possibleRecord(of: digest)).compactMap { known.dealings[$0]?.dealing.keys.digest }
    #expect(Set(dealers) == [circle.card(0), circle.card(1)])
  }

  @Test func `what was overtaken by a complete change is under way no more`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let first = try circle.change(circle.proposal(by: 0), dealers: [0, 1], asker: 0)
    #expect(try circle.take(first, by: 0))
    #expect(try circle.known(0).pending.map(\.number) == [1])
    let second = try circle.change(circle.proposal(by: 0, number: 2), dealers: [0, 1], asker: 0)
    #expect(try circle.take(second, by: 0))
    let record = try #require(second.last).digest()
    let rows = try circle.kept()
    for member in 0...2 {
      let index = try #require(rows.first { $0.joining.keys.digest == circle.card(member) }).index
      #expect(try circle.take([circle.ready(member, index, in: record)], by: 0))
    }
    #expect(try circle.known(0).pending.isEmpty)
  }

  @Test func `what comes while a peer is being told is told next`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let news = try circle.proposal(by: 1)
    let heard = circle.listen(as: 2) { _ = try circle.take([.proposal(news)], by: 0) }
    try await circle.vault(0).changing.pursue(circle.id, asksAll: true)
    #expect(!heard.all.contains(.proposal))
    try await circle.vault(0).changing.pursue(circle.id)
    #expect(heard.all.contains(.proposal))
  }

  @Test func `who couldn't be reached during a whole change hears of it from those who are done`() async throws {
    let circle = try await ChangingCircle(5, threshold: 2, holders: [1, 2, 3, 4])
    let everybody = Array(0...4)
    try await circle.meet(everybody)
    circle.world.set(.refuses, for: circle.world[4])
    try await circle.order(.refresh)
    try await circle.settle([1, 2, 3])
    try await circle.agree(1)
    for member in 0...3 {
      try await circle.settle([0, 1, 2, 3])
      if try circle.epochs(member) != [1] { try await circle.agree(member) }
      #expect(try circle.epochs(member) == [1])
    }
    #expect(try circle.epochs(4) == [0])
    circle.world.set(.none, for: circle.world[4])
    circle.world.clock.advance(by: .seconds(3600))
    for member in 0...3 { try await circle.vault(member).changing.pursueAll() }
    try await circle.vault(4).changing.pursueAll()
    #expect(try circle.epochs(4).contains(1))
    for member in 0...3 {
      #expect(try circle.vault(member).changing.secretsUnderWay(orUntold: true).isEmpty)
      #expect(try circle.known(member).ready(in: circle.known(member).newestComplete.digest).count == 5)
    }
  }

  @Test func `who can't be reached for one secret isn't called for the next ones at once`() async throws {
    let circle = try await ChangingCircle()
    var others: [SecretID] = []
    for _ in 0..<3 {
      let report = try await circle.world.share(randomBytes(100), threshold: 2, to: [1, 2])
      others.append(try #require(SecretID(named: report.id)))
    }
    let (network, ben) = (circle.world.network, circle.world[1].address)
    func calls(_ ids: [SecretID]) async throws -> Int {
      network.resetCounts()
      for id in ids { try await circle.vault(0).changing.pursue(id, asksAll: true) }
      return network.dialled.count { $0 == ben.description }
    }
    circle.world.set(.refuses, for: circle.world[1])
    #expect(try await calls([circle.id]) > 0)
    #expect(try await calls(others) == 0)
    circle.world.set(.none, for: circle.world[1])
    circle.world.clock.advance(by: .seconds(60))
    #expect(try await calls(others) >= others.count)
  }

  @Test func `who is put back to a backup from before its own change erases its older share again`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let ada = circle.world[0]
    let (home, copy) = (circle.world.scratch.path + "/" + ada.name, circle.world.scratch.path + "/copy")
    ada.vault.close()
    try FileManager.default.copyItem(atPath: home, toPath: copy)
    try ada.restart()
    try await circle.order(.refresh)
    try await circle.settle([1])
    try await circle.agree(1)
    try await circle.settle([0, 1, 2])
    #expect(try circle.epochs(0) == [1])
    ada.vault.close()
    try FileManager.default.removeItem(atPath: home)
    try FileManager.default.moveItem(atPath: copy, toPath: home)
    try ada.restart()
    #expect(try circle.epochs(0) == [0])
    try await circle.meet()
    #expect(try circle.epochs(0) == [1])
  }

  @Test func `a change that is given up at the last moment comes about, or doesn't`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let proposal = try circle.proposal(by: 0)
    let digest = try proposal.digest()
    let name = LifecycleRecord.Name(.decision, digest)
    try circle.decide(proposal, true, by: 0)
    let objects = try circle.change(proposal, dealers: [0, 1], asker: 0)
    try circle.take(Array(objects.dropLast()), by: 0)
    try circle.vault(0).changing.cancel("letter")
    // Another process had looked before.
    _ = try circle.vault(0).circles.take(objects.suffix(1), of: circle.id, ifThere: (name, [1]))
    #expect(try circle.count(.record, 0) == 0)
    _ = try circle.vault(0).circles.take(objects.suffix(1), of: circle.id, ifThere: (name, [0]))
    #expect(try circle.count(.record, 0) == 1)
    #expect(await refusal { try circle.vault(0).changing.cancel("letter") }?.code == .notFound)
  }

  @Test func `who can't rebuild a fragment as another process is at it leaves that its file`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let index = Int(try #require(circle.known(0).index(of: circle.card(2))))
    try await circle.order(.replace("cleo", by: "dan"))
    try await circle.agree(3)
    try await circle.settle([3, 0, 1])
    let database = circle.vault(3).core.database
    let plan = circle.header.dispersal
    let fragment = FragmentRecord(
      partialOf: circle.id, index: index, byteCount: Int64(plan.fragmentByteCount),
      trailerByteCount: Int64(try MerkleLayout(leafCount: plan.stripeCount).totalByteCount),
      expiresAt: circle.world.clock.now + 86_400_000, headerDigest: circle.header.digest, source: circle.card(0))
    let other = try database.openPartial(fragment, pieceByteCount: plan.pieceByteCount(0))
    try await circle.agree(1)
    try await circle.settle([0, 1, 3])
    #expect(try circle.epochs(3) == [])
    #expect(try database.fragment(of: circle.id, index: index)?.isComplete == false)
    _ = consume other
    circle.world.clock.advance(by: .seconds(60))
    try await circle.settle([3])
    #expect(try circle.epochs(3) == [1])
  }

  @Test func `a no behind a yes takes back what was said`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    try await circle.order(.replace("cleo", by: "dan"))
    let request = try #require(circle.waiting(3).first)
    _ = try await circle.vault(3).consent.approveRequest(request.id)
    #expect(try circle.vault(3).circles.hasAccepted(circle.id))
    _ = try circle.vault(3).consent.refuseRequest(request.id)
    #expect(try circle.rows(3).isEmpty)
  }

  @Test func `a holder that was left out may be added again`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    func remove() async throws {
      try await circle.order(.remove("cleo"))
      try await circle.settle([1, 0])
      try await circle.agree(1)
      try await circle.settle([0, 1, 2])
    }
    func add() async throws {
      try await circle.order(.add("cleo"))
      try await circle.settle([0])
      try await circle.agree(2)
      try await circle.settle([2, 0, 1])
      try await circle.agree(1)
      try await circle.settle([0, 1, 2])
    }
    try await remove()
    #expect(try circle.epochs(0) == [1] && circle.epochs(1) == [1] && circle.epochs(2) == [0])
    try await add()
    #expect(try circle.epochs(2).contains(2) && circle.epochs(0) == [2])
    #expect(try await circle.recovered(by: 2))
    // And once more: the key of the first time is wiped, and another one is told.
    try await circle.agree(2)
    try await circle.settle([2, 0, 1])
    #expect(try circle.epochs(2) == [2])
    try await remove()
    try await add()
    #expect(try circle.epochs(2).contains(4))
  }

  @Test func `a newcomer that was left out again may be added again`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    try await circle.change(.replace("cleo", by: "dan"), asks: [3, 1], among: [0, 1, 3])
    #expect(try circle.epochs(3) == [1])
    try await circle.change(.remove("dan"), asks: [1], among: [0, 1, 3])
    #expect(try circle.epochs(0) == [2] && circle.epochs(3) == [1])
    try await circle.change(.add("dan"), asks: [3, 1], among: [0, 1, 3])
    #expect(try circle.epochs(3).contains(3))
  }

  @Test func `a change that came about as it was given up erases older shares all the same`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let proposal = try circle.proposal(by: 0)
    let objects = try circle.change(proposal, dealers: [0, 1], asker: 0)
    try circle.take(objects, by: 0)
    // The program has ended before it could take its word back.
    try circle.decide(proposal, false, by: 0)
    let record = try #require(objects.last).digest()
    let rows = try circle.kept()
    for member in 1...2 {
      let index = try #require(rows.first { $0.joining.keys.digest == circle.card(member) }).index
      try circle.take([circle.ready(member, index, in: record)], by: 0)
    }
    try await circle.advance(0)
    #expect(try circle.epochs(0) == [1])
  }

  @Test func `older shares stay where the new one is damaged`() async throws {
    let circle = try await ChangingCircle()
    try await circle.order(.refresh)
    try await circle.settle([1])
    try await circle.agree(1)
    try await circle.settle([0, 1, 2])
    #expect(try circle.epochs(2) == [0, 1])
    try circle.world.damageShares(of: circle.world[2])
    try await circle.agree(2)
    #expect(try circle.epochs(2) == [0, 1])
  }

  @Test func `whoever has dealt for a proposal deals no other way for it when it comes again`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let proposal = try circle.proposal(by: 0)
    for _ in 0..<2 {
      try circle.take([.proposal(proposal)], by: 1)
      try circle.decide(proposal, true, by: 1)
      try await circle.advance(1)
      // Its time is over, by a clock that is put right behind it.
      circle.world.clock.turn(by: .seconds(2 * 86_400))
      try await circle.advance(1)
      circle.world.clock.turn(by: .seconds(-2 * 86_400))
    }
    #expect(try circle.count(.dealt, 1) == 1 && circle.count(.dealing, 1) == 0)
  }
}
