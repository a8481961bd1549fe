import Glibc
import PeerAuth
import ShamirKit
import Sodium
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultStore

extension ChangingCircle {
  func check(_ member: Int) async throws -> CheckReport {
    try #require(try await vault(member).checking.check(id.description, pieces: 64) { _ in }.first)
  }

  func repaired(_ member: Int) async throws -> CheckReport {
    let report = try await check(member)
    return try await vault(member).checking.repair(report, pieces: 64) { _ in }
  }

  func circle(_ member: Int) throws -> SecretVault.Circle { try #require(try vault(member).circles.circle(of: id)) }

  /// The file of a member's own fragment.
  func fragment(_ member: Int) throws -> String {
    try #require(files(below: world[member].folders.fragmentsPath).first { !$0.hasSuffix(".part") })
  }

  /// From now on whoever dials this member gets pieces that aren't those of its fragment.
  func sendsWrongPieces(_ member: Int) {
    let liar = world[member]
    world.network.serve(liar.address) { transport in
      try? await Self.sendWrongPieces(transport, of: liar)
      await transport.close()
    }
  }

  private static func sendWrongPieces(_ transport: any PeerTransport, of liar: Member) async throws {
    let vault = liar.vault
    let session = try await PeerSession.answer(
      transport, identity: vault.core.identity, ownCard: try vault.core.ownCard()
    ) { key in
      (try? vault.core.database.peer(noiseKey: key)).flatMap { $0 }.flatMap { try? vault.directory.storedCard($0).keys }
    }
    _ = try await session.expect(Hello.self)
    try await session.send(Hello(services: PeerServiceKind.allCases))
    let asked = try await session.expect(LifecycleRequest.self)
    try await session.send(LifecycleEnd(request: asked.request))
    _ = try await session.expect(LifecycleEnd.self)
    try await session.send(LifecycleResult(request: asked.request, refusal: nil))
    let tag = try #require(asked.tag)
    let record = try #require(try vault.core.database.secret(askTag: tag))
    let index = try #require(record.ownIndex)
    let pieces = LocalPieces(
      reader: try vault.core.database.openFragment(of: record.id, index: index),
      header: try vault.directory.header(of: record), index: UInt8(index))
    while true {
      let wanted = try await session.expect(PieceRequest.self)
      for number in wanted.first..<wanted.first + UInt64(wanted.count) {
        let (bytes, _, path) = try pieces.provenPiece(number)
        try await session.send(
          ProvenPiece(request: asked.request, number: number, path: path, bytes: [bytes[0] ^ 1] + bytes.dropFirst()))
      }
      try await session.send(PiecesEnd(request: asked.request, refusal: nil))
    }
  }
}

@Suite struct RepairTests {
  @Test func `a check collects joinings, and asks nobody for one that it has`() async throws {
    let circle = try await ChangingCircle(3)
    circle.world.network.resetCounts()
    _ = try await circle.check(0)
    let known = try circle.circle(0)
    #expect(known.holders(of: Epoch(known.header)) == [1: circle.card(0), 2: circle.card(1), 3: circle.card(2)])
    // The others have heard where it stands.
    #expect(try circle.circle(1).holders(of: Epoch(known.header))[1] == circle.card(0))
    // All of it in the sessions in which they were drilled.
    #expect(circle.world.network.dialled.count == 2)
    let first = circle.world.network.sent(to: circle.world[1].address)
    circle.world.network.resetCounts()
    _ = try await circle.check(0)
    #expect(circle.world.network.sent(to: circle.world[1].address) < first)
    // Nobody is absent, though nobody answers.
    for member in [1, 2] { circle.world.set(.refuses, for: circle.world[member]) }
    let statuses = try await circle.vault(0).changing.order(.refresh, of: ["letter"], leavingOutAbsent: false)
    guard case .proposed(agreed: 1, needed: 2, until: _)? = statuses.first?.phase else {
      Issue.record("\(statuses)")
      return
    }
  }

  @Test(arguments: [true, false])
  func `a fragment that is damaged or missing is rebuilt from others`(isMissing: Bool) async throws {
    let circle = try await ChangingCircle(3)
    let path = try circle.fragment(0)
    let whole = try #require(contents(path))
    if isMissing { unlink(path) } else { try damage(path, at: 1000) }
    let found = try await circle.check(0)
    #expect(found.repairable == .fragment && found.own?.state == .damaged && !found.haveAllAnswered)
    let report = try await circle.vault(0).checking.repair(found, pieces: 64) { _ in }
    guard case .done? = report.repair?.state else {
      Issue.record("\(report)")
      return
    }
    #expect(report.repairable == nil && report.haveAllAnswered && report.repair?.failures == [])
    #expect(contents(path) == whole)
    #expect(files(below: circle.world[0].folders.fragmentsPath) == [path])
    // It serves others as before.
    circle.world.set(.refuses, for: circle.world[2])
    #expect(try await circle.recovered(by: 1))
  }

  @Test func `a holder that sends wrong pieces is named, and another one takes its place`() async throws {
    let circle = try await ChangingCircle(4, holders: [1, 2, 3])
    let path = try circle.fragment(0)
    let whole = try #require(contents(path))
    _ = try await circle.check(0)
    try damage(path, at: 1000)
    let found = try await circle.check(0)
    circle.sendsWrongPieces(1)
    let report = try await circle.vault(0).checking.repair(found, pieces: 64) { _ in }
    #expect(report.repair?.failures.map(\.peer) == ["ben"])
    #expect(report.repair?.failures.first?.reason.contains("damaged piece") == true)
    #expect(report.own?.state == .answered && contents(path) == whole)
  }

  @Test func `with wrong pieces and nobody else nothing takes the damaged fragment's place`() async throws {
    let circle = try await ChangingCircle(3)
    let path = try circle.fragment(0)
    _ = try await circle.check(0)
    try damage(path, at: 1000)
    let damaged = contents(path)
    let found = try await circle.check(0)
    circle.sendsWrongPieces(1)
    let report = try await circle.vault(0).checking.repair(found, pieces: 64) { _ in }
    guard case .failed(let error)? = report.repair?.state else {
      Issue.record("\(report)")
      return
    }
    #expect(error.code == .damaged && error.reason.hasPrefix("ben "))
    #expect(contents(path) == damaged && files(below: circle.world[0].folders.fragmentsPath) == [path])
  }

  @Test func `too few others, or a full disk, are no reason to touch what is there`() async throws {
    let circle = try await ChangingCircle(3)
    let path = try circle.fragment(0)
    _ = try await circle.check(0)
    try damage(path, at: 1000)
    let damaged = contents(path)
    let found = try await circle.check(0)
    func failure() async throws -> VaultError? {
      let report = try await circle.vault(0).checking.repair(found, pieces: 64) { _ in }
      guard case .failed(let error)? = report.repair?.state else { return nil }
      return error
    }
    circle.world.set(.refuses, for: circle.world[2])
    let few = try await failure()
    #expect(few?.code == .unreachable && few?.reason.contains("1 other holder") == true)
    circle.world.set(.none, for: circle.world[2])
    _ = try circle.vault(0).core.set("keep-free", to: "100000T")
    #expect(try await failure()?.reason.contains("no room") == true)
    #expect(contents(path) == damaged && files(below: circle.world[0].folders.fragmentsPath) == [path])
  }

  /// Whether anybody has heard where the device stands, and which: the dealer, or a holder.
  @Test(arguments: [0, 1], [true, false])
  func `a damaged share is dealt anew once its friends say yes`(member: Int, isHeardOf: Bool) async throws {
    let circle = try await ChangingCircle(3)
    if isHeardOf { _ = try await circle.check(member) }
    let index = try #require(try circle.vault(member).core.database.secret(circle.id)?.ownIndex)
    try circle.world.damageShares(of: circle.world[member])
    let found = try await circle.check(member)
    #expect(found.repairable == .share && found.own?.state == .damaged)
    let report = try await circle.vault(member).checking.repair(found, pieces: 64) { _ in }
    guard case .waits(let status)? = report.repair?.state, case .proposed(agreed: 0, needed: 2, until: _) = status.phase
    else {
      Issue.record("\(report)")
      return
    }
    #expect(status.change?.comes.map(\.isThisDevice) == (isHeardOf ? [] : [true]))
    #expect(status.change?.leaves == [] && status.change?.othersLeave == 0)
    // Asked again meanwhile, it proposes nothing else.
    _ = try await circle.repaired(member)
    #expect(try circle.circle(member).proposals.count == 1)
    let friends = [0, 1, 2].filter { $0 != member }
    for friend in friends { try await circle.vault(friend).changing.pursue(circle.id) }
    for friend in friends { try await circle.agree(friend) }
    try await circle.settle([member] + friends)
    #expect(try circle.epochs(member) == [1])
    let mended = try await circle.check(member)
    #expect(mended.own?.state == .answered && mended.own?.index == index && mended.haveAllAnswered)
    for holder in [0, 1, 2] { #expect(try await circle.recovered(by: holder)) }
  }

  @Test func `a share whose row is gone is missed, and dealt anew`() async throws {
    let circle = try await ChangingCircle(3)
    _ = try await circle.check(1)
    try circle.world.damageShares(of: circle.world[1])
    try circle.world[1].execute("DELETE FROM shares")
    #expect(try await circle.repaired(1).repair?.part == .share)
    for friend in [0, 2] { try await circle.vault(friend).changing.pursue(circle.id) }
    for friend in [0, 2] { try await circle.agree(friend) }
    try await circle.settle([1, 0, 2])
    #expect(try await circle.check(1).own?.state == .answered)
  }

  @Test func `a stranger to a secret neither hears of it nor has itself dealt a share as a holder`() async throws {
    let circle = try await ChangingCircle(4)
    _ = try await circle.check(0)
    // Dan knows the header, as anybody may who holds a share, and says that he would take one.
    let header = try circle.circle(0).header
    let dan = circle.vault(3)
    let row = try dan.circles.row(.header(header, dealer: circle.card(0), former: nil), of: header.id)
    try dan.core.database.changeLifecycle(ofSecret: header.id, adding: [row])
    try dan.circles.sayWilling(header)
    #expect(await !dan.changing.gather(header.id, asksAll: true))
    #expect(try circle.circle(3).holders(of: Epoch(header)).isEmpty)
    #expect(try !circle.circle(0).joinings.values.contains { $0.index == 0 })
  }
}
