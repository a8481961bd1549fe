import PeerAuth
import ShamirKit
import Sodium
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

/// What dishonest holders, askers and strangers can't bring about.
@Suite struct ChangingHostileTests {
  // MARK: - Forks

  /// Four holders, and two records of the same number, of different askers and dealers.
  private struct Fork {
    let circle: ChangingCircle
    let proposals: [Proposal]
    let changes: [[LifecycleObject]]
    let digests: [Digest]

    init() async throws {
      circle = try await ChangingCircle(4, holders: [1, 2, 3])
      try await circle.meet([0, 1, 2, 3])
      let rows = try circle.kept([0, 1, 2, 3])
      proposals = try [circle.proposal(by: 0, rows: rows), circle.proposal(by: 1, rows: rows)]
      changes = [
        try circle.change(proposals[0], dealers: [0, 1], asker: 0),
        try circle.change(proposals[1], dealers: [1, 3], asker: 1),
      ]
      digests = try changes.map { try #require($0.last).digest() }
    }

    func isComplete(_ place: Int) throws -> Bool {
      let known = try circle.known(2)
      return known.isComplete(try #require(known.epochs[digests[place]]))
    }

    /// That others than cleo hold their shares of a record.
    func ready(_ place: Int) throws -> [LifecycleObject] {
      try [0, 1, 3].map { member in
        let row = proposals[place].rows.first { $0.joining.keys.digest == circle.card(member) }
        return try circle.ready(member, #require(row).index, in: digests[place])
      }
    }
  }

  @Test func `of two records with one number a device holds the one whose share it has taken over`() async throws {
    let fork = try await Fork()
    let circle = fork.circle
    try circle.take(fork.changes[0], by: 2)
    try await circle.advance(2)
    try circle.take(fork.changes[1], by: 2)
    try await circle.advance(2)
    #expect(try circle.known(2).epochs.count == 3 && circle.epochs(2) == [0, 1])
    #expect(try circle.vault(2).circles.held(circle.known(2)).map(\.digest) == [circle.header.digest, fork.digests[0]])
    let record = try circle.vault(2).directory.resolve(circle.id.description)
    let found = try fork.digests.map { try circle.vault(2).circles.epoch($0, 1, of: record) != nil }
    #expect(found == [true, false])
    #expect(try circle.known(2).ready(in: fork.digests[1]).isEmpty)
  }

  @Test func `whose device was put back and has said of two records with one number that it has its share has one`()
    async throws
  {
    let fork = try await Fork()
    let circle = fork.circle
    try circle.take(fork.changes[0], by: 2)
    try await circle.advance(2)
    try circle.take(fork.changes[1], by: 2)
    let row = try #require(fork.proposals[1].rows.first { $0.joining.keys.digest == circle.card(2) })
    try circle.take([circle.ready(2, row.index, in: fork.digests[1])], by: 2)
    let known = try circle.known(2)
    #expect(known.held([1]).count == 2)
    let circles = circle.vault(2).circles
    #expect(try circles.held(known).map(\.digest) == [circle.header.digest, fork.digests[0]])
    #expect(try circles.share(of: #require(known.epochs[fork.digests[1]])) == nil)
    try await circle.vault(2).changing.pursue(circle.id)
  }

  @Test func `what follows from the other one of two records with one number is nothing to ask or to deal for`()
    async throws
  {
    let fork = try await Fork()
    let circle = fork.circle
    for change in fork.changes { try circle.take(change, by: 2) }
    try await circle.advance(2)
    let known = try circle.known(2)
    let held = try #require(circle.vault(2).circles.held(known).last)
    let other = try #require(known.epochs.values.first { $0.number == held.number && $0.digest != held.digest })
    for (parent, number) in [(other, UInt32(5)), (held, 6)] {
      let rows = fork.proposals[0].rows
      let proposal = try Proposal.sign(
        parent: parent, number: number, threshold: 2, rows: rows,
        expiresAt: circle.world.clock.now + 86_400_000, by: circle.identity(0))
      try circle.take([.proposal(proposal)], by: 2)
      try circle.decide(proposal, true, by: 2)
    }
    try await circle.advance(2)
    let dealt = try circle.known(2).dealings.values.filter { $0.dealing.keys.digest == circle.card(2) }
    let parents = try dealt.compactMap { try circle.known(2).proposals[$0.dealing.proposal]?.parent }
    #expect(parents.contains(held.digest) && !parents.contains(other.digest))
  }

  @Test func `older shares stay until the record is complete of which the device has its share, and its user agrees`()
    async throws
  {
    let fork = try await Fork()
    let circle = fork.circle
    try circle.take(fork.changes[0], by: 2)
    try await circle.advance(2)
    try circle.take(fork.changes[1] + fork.ready(1), by: 2)
    try circle.decide(fork.proposals[1], true, by: 2)
    try #require(try fork.isComplete(1))
    try await circle.advance(2)
    #expect(try circle.epochs(2) == [0, 1])
    try circle.take(fork.ready(0), by: 2)
    try #require(try fork.isComplete(0))
    try await circle.advance(2)
    #expect(try circle.epochs(2) == [0, 1])
    try circle.decide(fork.proposals[0], true, by: 2)
    try await circle.advance(2)
    #expect(try circle.epochs(2) == [1])
  }

  // MARK: - Dealings and records

  @Test(arguments: [0, 1, 2]) func `a dealing that hasn't a box for each row is refused`(_ count: Int) async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let proposal = try circle.proposal(by: 1)
    let made = try circle.dealing(proposal, by: 1)
    try circle.take([.proposal(proposal)], by: 0)
    let short = try circle.dealing(made.dealing, boxes: Array(made.boxes.prefix(count)), proposal, by: 1)
    #expect(throws: ProtocolError.foreignProposal("boxes")) { try circle.take([short], by: 0) }
    #expect(try circle.count(.dealing, 0) == 0)
    #expect(try circle.take([circle.dealing(made.dealing, boxes: made.boxes, proposal, by: 1)], by: 0))
  }

  @Test func `a record is made by its proposal's asker alone, and there is one of a proposal`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let proposal = try circle.proposal(by: 1)
    let made = try [0, 1, 2].map { try circle.dealing(proposal, by: $0) }
    try circle.take([.proposal(proposal)] + made.map { .dealing($0.dealing, boxes: $0.boxes) }, by: 0)
    let (first, second) = (Array(made.prefix(2)).map(\.dealing), Array(made.suffix(2)).map(\.dealing))
    #expect(throws: ProtocolError.foreignProposal("record")) {
      try circle.take([circle.record(proposal, first, by: 2)], by: 0)
    }
    #expect(try circle.count(.record, 0) == 0)
    #expect(try circle.take([circle.record(proposal, first, by: 1)], by: 0))
    #expect(try !circle.take([circle.record(proposal, second, by: 1)], by: 0))
    #expect(try circle.known(0).changes.count == 1 && circle.count(.record, 0) == 1)
  }

  @Test func `a record that others have completed isn't barred by another one of its proposal`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let proposal = try circle.proposal(by: 1)
    let made = try [0, 1, 2].map { try circle.dealing(proposal, by: $0) }
    try circle.take([.proposal(proposal)] + made.map { .dealing($0.dealing, boxes: $0.boxes) }, by: 0)
    let first = try circle.record(proposal, Array(made.prefix(2)).map(\.dealing), by: 1)
    let second = try circle.record(proposal, Array(made.suffix(2)).map(\.dealing), by: 1)
    #expect(try circle.take([first], by: 0))
    let ready = try proposal.rows.map { row in
      let member = try #require((0...2).first { circle.card($0) == row.joining.keys.digest })
      return try circle.ready(member, row.index, in: second.digest())
    }
    #expect(try !circle.take([second] + ready.dropLast(), by: 0))
    // Nothing else comes in with it.
    let junk = try circle.proposal(by: 1, number: 9, lasting: 400 * 86_400_000)
    let stranger = LifecycleObject.joining(try circle.willing(Identity.generate()))
    #expect(try circle.take([.proposal(junk), stranger, second] + ready, by: 0))
    #expect(try circle.count(.proposal, 0) == 1 && !circle.known(0).joinings.values.contains { $0.index == 0 })
    for _ in 0..<2 {
      #expect(try circle.known(0).changes.count == 2)
      #expect(try circle.known(0).newestComplete.digest == second.digest())
      try circle.world[0].restart()
    }
  }

  @Test func `who finds a bad box names its dealer and takes nothing over, and the others go on`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let proposal = try circle.proposal(by: 0)
    let (own, other) = (try circle.dealing(proposal, by: 0), try circle.dealing(proposal, by: 1))
    var boxes = other.boxes
    let place = try #require(proposal.rows.firstIndex { $0.joining.keys.digest == circle.card(2) })
    boxes[place] = randomBytes(SubshareBox.byteCount)
    let forged = try circle.dealing(other.dealing, boxes: boxes, proposal, by: 1)
    guard case .dealing(let dealing, _) = forged else { return }
    let objects: [LifecycleObject] = [
      .proposal(proposal), .dealing(own.dealing, boxes: own.boxes), forged,
      try circle.record(proposal, [own.dealing, dealing], by: 0),
    ]
    for member in 0...2 { try circle.take(objects, by: member) }
    let (cleo, lines) = try circle.world[2].logged()
    try await cleo.changing.advance(circle.id)
    #expect(try circle.epochs(2) == [0])
    #expect(lines.all.contains { $0.hasSuffix("what ben dealt is not what was promised") })
    for member in 0...1 {
      try await circle.advance(member)
      #expect(try circle.epochs(member) == [0, 1])
    }
  }

  @Test func `who stands elsewhere already takes no other index over, and says so`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let (cleo, lines) = try circle.world[2].logged()
    try cleo.circles.sayWilling(circle.header)
    let willing = try #require(circle.known(2).joinings.values.first { $0.index == 0 })
    let place = try #require(circle.kept([0]).first).index
    let rows = try [Proposal.Row(index: place, joining: willing)] + circle.kept([0, 1]).filter { $0.index != place }
    let proposal = try circle.proposal(by: 1, rows: rows)
    try circle.take(circle.change(proposal, dealers: [0, 1], asker: 1), by: 2)
    try await cleo.changing.advance(circle.id)
    #expect(try circle.epochs(2) == [0])
    #expect(lines.all.contains { $0.contains("share \(place) of secret") && $0.hasSuffix("delete that first") })
  }

  // MARK: - Who hears, and who is heard

  @Test func `objects go to holders, not to a peer without a place, whatever it wants`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    circle.world.network.resetCounts()
    let (holder, stranger) = (circle.listen(as: 2), circle.listen(as: 3))
    try await circle.order(.refresh)
    #expect(circle.world.network.dialled.contains(circle.world[3].address.description))
    #expect(stranger.all.isEmpty)
    #expect(holder.all.contains(.proposal) && holder.all.contains(.joining))
  }

  @Test func `who asks without a share or a place hears nothing`() async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    // Dan shows the proof of a share that he hasn't: it is made with ben's, but not by ben's card.
    let heard = try await circle.say([], by: 3, proving: 1, to: 0)
    #expect(heard.objects.isEmpty)
    #expect(try await !circle.say([], by: 1, to: 0).objects.isEmpty)
  }

  @Test(arguments: [false, true]) func `a device that was removed or replaced is heard no more`(
    _ isReplaced: Bool
  ) async throws {
    let circle = try await ChangingCircle()
    try await circle.meet()
    let proposals = try (1...2).map { LifecycleObject.proposal(try circle.proposal(by: 1, number: $0)) }
    #expect(try await circle.say([proposals[0]], by: 1, to: 0).refusal == nil)
    try #require(circle.count(.proposal, 0) == 1)
    let ada = circle.vault(0)
    if isReplaced {
      _ = try ada.trust.removePeer("dan")
      _ = try ada.changing.replacePeer(
        "ben", with: PeerCard.parse(text: circle.vault(3).core.ownIdentity().qrText))
    } else {
      _ = try ada.trust.removePeer("ben")
    }
    await #expect(throws: (any Error).self) { try await circle.say([proposals[1]], by: 1, to: 0) }
    #expect(try circle.count(.proposal, 0) == 1)
  }
}
