import PeerAuth
import ShamirKit
import Sodium
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultStore

/// Changes of holders when nobody reaches anybody in a session: all is said by parcel.
@Suite struct ChangingParcelTests {
  /// Everybody does what there is to do, and the office carries what they have to say.
  private func settle(_ circle: ChangingCircle, _ office: ParcelOffice, _ members: [Int], rounds: Int = 4) async throws
  {
    for _ in 0..<rounds {
      // Past the pause after a session that couldn't be opened.
      circle.world.clock.advance(milliseconds: 3_700_000)
      for member in members { try await circle.vault(member).changing.pursueAll() }
      try await office.round()
    }
    for member in members { try await circle.vault(member).changing.pursueAll() }
  }

  private func recovered(_ circle: ChangingCircle, _ office: ParcelOffice, by member: Int) async throws -> Bool {
    try await office.recover(by: member, circle.id.description) == circle.content
  }

  @Test func `a secret is refreshed by parcel, and nobody meets anybody`() async throws {
    let circle = try await ChangingCircle(3)
    let office = try ParcelOffice(circle.world)
    circle.world.cutOff()
    _ = try await circle.vault(0).changing.order(.refresh, of: ["letter"], leavingOutAbsent: false)
    try await settle(circle, office, [0, 1, 2])
    for member in [1, 2] { try await circle.agree(member) }
    try await settle(circle, office, [0, 1, 2])
    for member in 0...2 { #expect(try circle.epochs(member) == [1]) }
    #expect(try await recovered(circle, office, by: 2))
    // All has been said: nothing is on its way any more.
    try await settle(circle, office, [0, 1, 2], rounds: 2)
    for member in 0...2 {
      let rows = try circle.vault(member).parcelRecords(.change)
      #expect(rows.allSatisfy { $0.state == .answered }, "\(rows.map(\.state))")
      #expect(try circle.vault(member).changing.statuses().allSatisfy { !$0.isOpen })
      #expect(try circle.vault(member).changing.secretsUnderWay(orUntold: true).isEmpty)
    }
  }

  @Test func `somebody new is invited, gets a share and rebuilds a fragment by parcel`() async throws {
    let circle = try await ChangingCircle(4)
    let office = try ParcelOffice(circle.world)
    circle.world.cutOff()
    _ = try await circle.vault(1).changing.order(.replace("cleo", by: "dan"), of: ["letter"], leavingOutAbsent: false)
    try await settle(circle, office, [0, 1, 3])
    #expect(try circle.epochs(3).isEmpty)
    try await circle.agree(3)
    try await settle(circle, office, [0, 1, 3])
    try await circle.agree(0)
    try await settle(circle, office, [0, 1, 3], rounds: 6)
    #expect(try circle.epochs(3) == [1] && circle.epochs(1) == [1] && circle.epochs(0) == [1])
    #expect(try circle.vault(3).core.database.fragment(of: circle.id, index: 3)?.isComplete == true)
    #expect(try await recovered(circle, office, by: 3))
    // What was needed for the fragment alone isn't kept.
    for record in try circle.vault(3).parcelRecords(.change) {
      #expect(try circle.vault(3).core.database.parcelContent(record.id) == nil || record.state != .answered)
    }
  }

  @Test func `a new device takes a lost one's place by parcel`() async throws {
    let circle = try await ChangingCircle(4)
    let office = try ParcelOffice(circle.world)
    let card = try PeerCard.parse(text: circle.vault(3).core.ownIdentity().qrText)
    for friend in [1, 2] {
      _ = try circle.vault(friend).trust.removePeer("dan")
      _ = try circle.vault(friend).changing.replacePeer("ada", with: card)
    }
    for friend in [1, 2] { _ = try await circle.vault(3).links.pingPeer(circle.world[friend].name) }
    circle.world.cutOff()
    for _ in 0..<3 {
      _ = try await circle.vault(3).changing.regain()
      try await settle(circle, office, [1, 2, 3], rounds: 1)
    }
    try await circle.agree(1)
    try await circle.agree(2)
    try await settle(circle, office, [1, 2, 3], rounds: 6)
    #expect(try circle.epochs(3) == [1])
    #expect(try await recovered(circle, office, by: 3))
  }

  @Test func `the same isn't written twice, and what has changed takes the place of what lies there`() async throws {
    let circle = try await ChangingCircle(3)
    let office = try ParcelOffice(circle.world)
    circle.world.cutOff()
    let ada = circle.vault(0)
    _ = try await ada.changing.order(.refresh, of: ["letter"], leavingOutAbsent: false)
    let first = try ada.parcelRecords(.change)
    #expect(first.count == 2)
    for _ in 0..<3 {
      circle.world.clock.advance(milliseconds: 3_700_000)
      try await ada.changing.pursueAll()
    }
    #expect(try ada.parcelRecords(.change) == first)
    // Another wish changes nothing of what others may know; what ben says does.
    try ada.changing.cancel("letter")
    _ = try await ada.changing.order(.threshold(3), of: ["letter"], leavingOutAbsent: false)
    #expect(try ada.parcelRecords(.change) == first)
    try office.post(by: 0)
    try office.take(by: 1)
    _ = try await circle.vault(1).answering.answerParcels()
    try office.post(by: 1)
    try office.take(by: 0)
    circle.world.clock.advance(milliseconds: 3_700_000)
    try await ada.changing.pursueAll()
    let cleo = circle.vault(2).core.identity.keys.digest
    let second = try ada.parcelRecords(.change).filter { $0.peer == cleo && $0.state != .withdrawn }
    #expect(second.count == 1 && !first.contains { $0.id == second.first?.id })
    try office.post(by: 0)
    #expect(office.posts.filter { circle.vault(2).post.isOwnParcel($0.tag, $0.id) }.map(\.id) == second.map(\.id))
  }

  @Test func `nobody hears anything by parcel who has no place in the secret`() async throws {
    let circle = try await ChangingCircle(4)
    let office = try ParcelOffice(circle.world)
    circle.world.cutOff()
    _ = try await circle.vault(0).changing.order(.refresh, of: ["letter"], leavingOutAbsent: false)
    // Dan might hold a share of which nothing is known, so he is asked; but he is told nothing.
    let keys = circle.vault(0).core.identity.keys
    let posts = try office.post(by: 0).filter { circle.vault(3).post.isOwnParcel($0.tag, $0.id) }
    let parcel = try Parcel.decode(#require(posts.first).bytes, limit: Parcel.byteLimit)
    let letter = try ParcelLetter.open(parcel, with: circle.vault(3).core.identity) { _ in keys }
    #expect(
      letter.frames.map(\.type)
        == [Hello.type.rawValue, LifecycleRequest.type.rawValue, LifecycleEnd.type.rawValue])
    // Who knows the secret's tag alone is told nothing.
    let forged = try ForgedParcel(circle.world[3], to: circle.world[1])
    let tag = try AskTag.of(circle.id)
    let frames = [
      try ParcelFrame(Hello(services: PeerServiceKind.allCases)),
      try ParcelFrame(LifecycleRequest(request: forged.request, tag: tag, proof: nil, known: [])),
      try ParcelFrame(LifecycleEnd(request: forged.request)),
    ]
    let answer = try #require(try await forged.answer(frames, by: office, 1))
    #expect(!answer.contains { $0.type == LifecycleItem.type.rawValue })
    let result = try #require(answer.last { $0.type == LifecycleResult.type.rawValue })
    #expect(try LifecycleResult.decode(result.bytes, limit: 512).refusal == .unavailable)
  }

  @Test func `who isn't wanted any more isn't invited by a parcel that waits`() async throws {
    let circle = try await ChangingCircle(4)
    _ = try ParcelOffice(circle.world)
    circle.world.cutOff()
    let dan = circle.vault(3).core.identity.keys.digest
    let ada = circle.vault(0)
    _ = try await ada.changing.order(.replace("cleo", by: "dan"), of: ["letter"], leavingOutAbsent: false)
    #expect(try ada.parcelRecords(.change).contains { $0.peer == dan })
    try ada.changing.cancel("letter")
    #expect(try !ada.parcelRecords(.change).contains { $0.peer == dan })
  }

  @Test func `a proposal and its record are taken even when its time is over`() async throws {
    let circle = try await ChangingCircle(3)
    let office = try ParcelOffice(circle.world)
    _ = try await circle.vault(0).changing.order(.refresh, of: ["letter"], leavingOutAbsent: false)
    circle.world.set(.refuses, for: circle.world[2])
    try await circle.settle([1])
    try await circle.agree(1)
    try await circle.settle([0, 1])
    // Cleo's device is off for five weeks, and is told by parcel then.
    circle.world.clock.advance(milliseconds: 36 * 86_400_000)
    circle.world.cutOff()
    try await settle(circle, office, [0, 1, 2])
    #expect(try circle.epochs(2) == [0, 1])
  }

  @Test func `what a device withholds isn't told by parcel either`() async throws {
    let circle = try await ChangingCircle(3)
    let office = try ParcelOffice(circle.world)
    _ = try circle.vault(0).core.set("tell-holders", to: "off")
    circle.world.cutOff()
    try await circle.vault(0).changing.pursue(circle.id, asksAll: true)
    try await settle(circle, office, [0, 1, 2])
    _ = try await circle.vault(1).changing.order(.refresh, of: ["letter"], leavingOutAbsent: false)
    try await settle(circle, office, [0, 1, 2])
    let cards = try Set(circle.known(1).joinings.values.map(\.keys.digest))
    #expect(cards == [circle.card(1), circle.card(2)])
  }

  @Test func `pieces are given by parcel to nobody who has neither proved a share nor a row`() async throws {
    let circle = try await ChangingCircle(4)
    let office = try ParcelOffice(circle.world)
    let forged = try ForgedParcel(circle.world[3], to: circle.world[1])
    let frames = [
      try ParcelFrame(Hello(services: PeerServiceKind.allCases)),
      try ParcelFrame(
        LifecycleRequest(request: forged.request, tag: AskTag.of(circle.id), proof: nil, known: [])),
      try ParcelFrame(LifecycleEnd(request: forged.request)),
      try ParcelFrame(PieceRequest(request: forged.request, first: 0, count: 1)),
    ]
    let answer = try #require(try await forged.answer(frames, by: office, 1))
    #expect(!answer.contains { $0.type == ProvenPiece.type.rawValue })
    // Who has a place hears all, and that there are no pieces.
    try circle.vault(1).changing.wish(circle.id) { $0.added.insert(circle.card(3)) }
    let again = try ForgedParcel(circle.world[3], to: circle.world[1])
    let told = try #require(try await again.answer(frames, by: office, 1))
    let end = try #require(told.last)
    #expect(try end.type == PiecesEnd.type.rawValue && PiecesEnd.decode(end.bytes, limit: 512).refusal == .unavailable)
    #expect(told.contains { $0.type == LifecycleItem.type.rawValue })
  }

  @Test func `what a peer is told it knows for a day, by the answer to that very parcel`() throws {
    let knowledge = PeerKnowledge()
    let listener = PeerKnowledge.Listener(
      peer: try Digest([UInt8](repeating: 1, count: 32)), secret: try SecretID([UInt8](repeating: 1, count: 16)))
    let day: Int64 = 86_400_000
    knowledge.wrote(listener, 7, named: [1, 2, 3], told: [2])
    knowledge.answered(listener, 6, lacked: [], said: [], saidAll: true, at: day)
    #expect(knowledge.known(listener, at: day, within: day) == nil)
    knowledge.answered(listener, 7, lacked: [2, 3], said: [4], saidAll: false, at: day)
    #expect(knowledge.known(listener, at: day, within: day) == [1, 2, 4])
    #expect(!knowledge.isUpToDate(listener, [1, 2], at: day, within: day))
    knowledge.wrote(listener, 8, named: [1, 2, 3, 4], told: [3])
    knowledge.answered(listener, 8, lacked: [3], said: [], saidAll: true, at: day)
    #expect(knowledge.isUpToDate(listener, [1, 2, 3, 4], at: day, within: day))
    #expect(!knowledge.isUpToDate(listener, [5], at: day, within: day))
    #expect(knowledge.known(listener, at: 2 * day, within: day) == nil)
  }

  @Test func `frames that don't belong together are dropped`() throws {
    let hello = try ParcelFrame(Hello(services: [.lifecycle]))
    let question = try ParcelFrame(LifecycleRequest(request: 1, tag: nil, proof: nil, known: []))
    let end = try ParcelFrame(LifecycleEnd(request: 1))
    let pieces = try ParcelFrame(PieceRequest(request: 1, first: 0, count: 1))
    #expect(try ParcelRequest([hello, question, end]) == .lifecycle(tag: nil, wantsPieces: false))
    #expect(try ParcelRequest([hello, question, end, pieces]) == .lifecycle(tag: nil, wantsPieces: true))
    for frames in [
      [hello, question], [hello, question, pieces], [hello, question, end, end], [hello, question, pieces, end],
    ] {
      #expect(throws: ProtocolError.self) { try ParcelRequest(frames) }
    }
    #expect(throws: ProtocolError.self) {
      try ParcelRequest([hello, question, end] + Array(repeating: pieces, count: 5))
    }
  }
}
