import PeerAuth
import ShamirKit
import Sodium
import Testing
import WireCodec

@testable import VaultProtocol

/// Somebody with a share, or with none yet.
final class Person {
  let identity: Identity
  var share: [UInt8]?
  var index: UInt8 = 0
  var salt: [UInt8]?
  var receiving: AgreementKeyPair

  init() throws {
    identity = try Identity.generate()
    receiving = try AgreementKeyPair.generate()
  }

  var card: Digest { identity.keys.digest }

  func held() throws -> KeyShare {
    let bytes = try #require(share)
    return try KeyShare(index: index, bytes: SecretBytes(copying: bytes.span.bytes))
  }
}

/// A secret among people, and how its sharing changed.
struct Circle {
  let header: SecretHeader
  let key: [UInt8]
  var people: [Person]
  var sharing: Epoch

  init(_ threshold: Int, _ count: Int) throws {
    people = try (0..<count).map { _ in try Person() }
    let dealing = try Dealing.fresh(ThresholdScheme(threshold: threshold, shareCount: count))
    let dealer = people[0].identity
    let nonce = try Randomness.bytes(16)
    let id = try SecretHeader.id(dealerKey: dealer.keys.signing, nonce: nonce)
    var rows: [Digest] = []
    for (place, person) in people.enumerated() {
      let salt = try Randomness.bytes(32)
      (person.salt, person.index) = (salt, UInt8(place + 1))
      person.share = try dealing.share(person.index).bytes.withUnsafeBytes { Array($0) }
      rows.append(try HolderRow.digest(secret: id, index: person.index, card: person.card, salt: salt.span.bytes))
    }
    header = try SecretHeader.sign(
      .init(
        nonce: nonce, kind: 1, scheme: dealing.scheme, createdAt: 5, ciphertextByteCount: 100, description: "",
        labels: nil, commitments: dealing.commitments, roots: try people.map { _ in try Digest(Randomness.bytes(32)) },
        rows: rows),
      by: dealer)
    key = try dealing.fileKey(for: header.id).withUnsafeBytes { Array($0) }
    sharing = Epoch(header)
  }

  func joining(_ person: Person, isNew: Bool = false, of record: Digest? = nil) throws -> Joining {
    try Joining.sign(
      secret: header.id, record: record ?? sharing.digest, index: isNew ? 0 : person.index,
      salt: isNew ? nil : person.salt, receivingKey: person.receiving.publicKey, by: person.identity)
  }

  func proposal(
    _ rows: [Proposal.Row], threshold: Int, number: UInt32? = nil, parent: Digest? = nil, secret: SecretID? = nil
  ) throws -> Proposal {
    try Proposal(
      secret: secret ?? header.id, parent: parent ?? sharing.digest, number: number ?? sharing.number + 1,
      threshold: UInt8(threshold), rows: rows.sorted { $0.index < $1.index }, asker: people[0].identity.keys,
      nonce: Randomness.bytes(32), expiresAt: 100, signature: []
    ).signed(by: people[0].identity)
  }

  func dealt(_ proposal: Proposal, by dealers: [Person]) throws -> (SharingRecord, [UInt8: [[UInt8]]]) {
    var (dealings, boxes): ([HolderDealing], [UInt8: [[UInt8]]]) = ([], [:])
    for person in dealers {
      let made = try HolderDealing.deal(
        person.held(), salt: sharing.number == 0 ? person.salt : nil, proposal, sharing, by: person.identity)
      dealings.append(made.dealing)
      boxes[person.index] = made.boxes
    }
    return (SharingRecord(proposal, dealings), boxes)
  }

  /// Everybody in `rows` takes over: kept people, and new ones at indices.
  mutating func change(to threshold: Int, keeping kept: [Person], adding new: [UInt8: Person], by dealers: [Person])
    throws
  {
    var rows = try kept.map { Proposal.Row(index: $0.index, joining: try joining($0)) }
    for (index, person) in new { rows.append(.init(index: index, joining: try joining(person, isNew: true))) }
    let proposal = try proposal(rows, threshold: threshold)
    let (record, boxes) = try dealt(proposal, by: dealers)
    let again = try SharingRecord.decode(record.encoded(), limit: SharingRecord.byteLimit)
    #expect(again == record)
    let (next, redistribution) = try again.verified(after: sharing)
    for (place, row) in proposal.rows.enumerated() {
      let person = try #require((kept + new.values).first { $0.card == row.joining.keys.digest })
      let mine = try record.dealings.map { try #require(boxes[$0.index])[place] }
      person.share = try record.takeOver(row, boxes: mine, with: person.receiving, redistribution).bytes.withUnsafeBytes
      {
        Array($0)
      }
      (person.index, person.receiving) = (row.index, try AgreementKeyPair.generate())
    }
    people = kept + new.values
    sharing = next
  }

  func recovered(by people: [Person]) throws -> [UInt8] {
    var collector = try ShareCollector(scheme: sharing.scheme, commitments: sharing.commitments)
    for person in people { try collector.add(person.held()) }
    try collector.verify()
    return try collector.fileKey(for: header.id).withUnsafeBytes { Array($0) }
  }
}

extension Proposal {
  func signed(by asker: Identity) throws -> Proposal { signed(with: try asker.sign(digest())) }
}

func part(_ body: () throws -> Void) -> String? {
  do { try body() } catch ProtocolError.foreignProposal(let part) { return part } catch { return "\(error)" }
  return nil
}

@Suite struct LifecycleTests {
  @Test(arguments: 0..<10) func `holders come and go, thresholds change, and any t of the last recover`(_ run: Int)
    throws
  {
    let n = Int.random(in: 3...7)
    var circle = try Circle(2, n)
    for _ in 0..<4 {
      let dealers = Array(circle.people.shuffled().prefix(circle.sharing.scheme.threshold))
      let size = Int.random(in: 2...n)
      let kept = Array(circle.people.shuffled().prefix(Int.random(in: 0...min(size, circle.people.count))))
      let free = Set(1...UInt8(n)).subtracting(kept.map(\.index)).shuffled().prefix(size - kept.count)
      let new = try Dictionary(uniqueKeysWithValues: free.map { ($0, try Person()) })
      let threshold = Int.random(in: 2...size)
      try circle.change(to: threshold, keeping: kept, adding: new, by: dealers)
      #expect(circle.sharing.scheme.threshold == threshold && circle.people.count == size)
      for _ in 0..<2 {
        #expect(try circle.recovered(by: Array(circle.people.shuffled().prefix(threshold))) == circle.key)
      }
    }
  }

  @Test func `a proposal that contradicts the sharing before is refused`() throws {
    let circle = try Circle(2, 4)
    let rows = try circle.people.map { Proposal.Row(index: $0.index, joining: try circle.joining($0)) }
    func refused(_ proposal: Proposal) -> String? { part { _ = try proposal.check(circle.sharing) } }
    #expect(try refused(circle.proposal(rows, threshold: 2)) == nil)
    #expect(try refused(circle.proposal(rows, threshold: 2, parent: Digest(Randomness.bytes(32)))) == "parent")
    #expect(try refused(circle.proposal(rows, threshold: 2, secret: SecretID(high: 1, low: 1))) == "parent")
    for number in [0, 1001, UInt32.max] {
      #expect(try refused(circle.proposal(rows, threshold: 2, number: number)) == "number")
    }
    #expect(try refused(circle.proposal(rows, threshold: 2, number: 1000)) == nil)
    for threshold in [0, 1, 5] { #expect(try refused(circle.proposal(rows, threshold: threshold)) == "threshold") }
    let stranger = try Person()
    let asNew = try circle.joining(stranger, isNew: true)
    #expect(try refused(circle.proposal(rows + [.init(index: 5, joining: asNew)], threshold: 2)) == "threshold")
    #expect(
      try refused(circle.proposal(Array(rows.prefix(3)) + [.init(index: 5, joining: asNew)], threshold: 2)) == "index")
    #expect(
      try refused(circle.proposal(Array(rows.prefix(3)) + [.init(index: 3, joining: asNew)], threshold: 2)) == "index")
    #expect(
      try refused(circle.proposal(Array(rows.prefix(3)) + [.init(index: 4, joining: asNew)], threshold: 2)) == nil)
    // A stranger who says that it holds a share.
    (stranger.index, stranger.salt) = (4, circle.people[3].salt)
    let claim = try Proposal.Row(index: 4, joining: circle.joining(stranger))
    #expect(try refused(circle.proposal(Array(rows.prefix(3)) + [claim], threshold: 2)) == "row")
    // A holder under another's index.
    #expect(try refused(circle.proposal([rows[0], .init(index: 2, joining: rows[2].joining)], threshold: 2)) == "row")
    // One holder twice: kept, and as somebody new.
    let twice = try Proposal.Row(index: 2, joining: circle.joining(circle.people[0], isNew: true))
    #expect(try refused(circle.proposal([rows[0], twice], threshold: 2)) == "key")
  }

  @Test func `a record is what its dealings say, and nothing of another's counts in it`() throws {
    let circle = try Circle(2, 4)
    let rows = try circle.people.map { Proposal.Row(index: $0.index, joining: try circle.joining($0)) }
    let proposal = try circle.proposal(rows, threshold: 3)
    let (record, boxes) = try circle.dealt(proposal, by: [circle.people[1], circle.people[3]])
    let (other, _) = try circle.dealt(circle.proposal(rows, threshold: 3), by: [circle.people[1], circle.people[3]])
    func refused(_ record: SharingRecord) -> String? {
      part { _ = try record.verified(after: circle.sharing) }
    }
    #expect(refused(record) == nil)
    #expect(refused(SharingRecord(proposal, [record.dealings[0]])) == "dealings")
    #expect(refused(SharingRecord(proposal, [record.dealings[0], record.dealings[0]])) == "dealings")
    #expect(refused(SharingRecord(proposal, [record.dealings[0], other.dealings[1]])) == "dealing")
    // Whoever lies in its boxes is named; the others' count no less.
    let (_, redistribution) = try record.verified(after: circle.sharing)
    let mine = [boxes[2]?[0] ?? [], boxes[4]?[0] ?? []]
    #expect(throws: ProtocolError.rejected(.invalidShares(indices: [4]))) {
      _ = try record.takeOver(
        rows[0], boxes: [mine[0], boxes[4]?[1] ?? []], with: circle.people[0].receiving, redistribution)
    }
    #expect(throws: ProtocolError.rejected(.invalidShares(indices: [2, 4]))) {
      _ = try record.takeOver(rows[0], boxes: mine, with: AgreementKeyPair.generate(), redistribution)
    }
    #expect(throws: ProtocolError.foreignProposal("boxes")) {
      _ = try record.takeOver(rows[0], boxes: [mine[0]], with: circle.people[0].receiving, redistribution)
    }
  }

  @Test func `any bit of a record that changes makes it none`() throws {
    let circle = try Circle(2, 3)
    let rows = try circle.people.map { Proposal.Row(index: $0.index, joining: try circle.joining($0)) }
    let (record, _) = try circle.dealt(circle.proposal(rows, threshold: 2), by: [circle.people[0], circle.people[2]])
    let bytes = try record.encoded()
    let digest = try record.digest()
    for place in stride(from: 0, to: bytes.count, by: 3) {
      var changed = bytes
      changed[place] ^= UInt8(1 << (place % 8))
      let isSame =
        try? SharingRecord.decode(changed, limit: SharingRecord.byteLimit).verified(
          after: circle.sharing, circle.header
        ).epoch.digest == digest
      #expect(isSame == nil || isSame == false, "byte \(place)")
      if isSame == false { #expect(Bool(false), "byte \(place) is malleable") }
    }
  }

  @Test func `only a holder deals, and only its own share`() throws {
    let circle = try Circle(2, 3)
    let rows = try circle.people.map { Proposal.Row(index: $0.index, joining: try circle.joining($0)) }
    let proposal = try circle.proposal(rows, threshold: 2)
    let stranger = try Person()
    (stranger.index, stranger.share, stranger.salt) = (2, circle.people[1].share, circle.people[1].salt)
    #expect(
      part {
        _ = try HolderDealing.deal(
          stranger.held(), salt: stranger.salt, proposal, circle.sharing, by: stranger.identity)
      } == "dealer")
    circle.people[1].share = circle.people[0].share
    #expect(throws: ProtocolError.rejected(.invalidShares(indices: [2]))) {
      _ = try HolderDealing.deal(
        circle.people[1].held(), salt: circle.people[1].salt, proposal, circle.sharing,
        by: circle.people[1].identity)
    }
  }
}
