import PeerAuth
import ShamirKit
import Sodium
import Testing
import WireCodec

@testable import VaultProtocol

/// The part that a change of a sharing is refused for, or another error in words; nil if it isn't refused.
private func refusedPart(_ body: () throws -> Void) -> String? {
  do {
    try body()
    return nil
  } catch ProtocolError.foreignProposal(let part) {
    return part
  } catch { return "\(error)" }
}

@Suite("The lifecycle of a sharing")
struct LifecycleTests {
  @Test("Holders come and go, thresholds change, and any t of the last recover", arguments: 0..<10)
  func changes(_ run: Int) throws {
    let count = Int.random(in: 3...7)
    var circle = try Circle(2, count)
    for _ in 0..<4 {
      let dealers = Array(circle.people.shuffled().prefix(circle.epoch.scheme.threshold))
      let size = Int.random(in: 2...count)
      let kept = Array(circle.people.shuffled().prefix(.random(in: 0...min(size, circle.people.count))))
      let free = Set(1...UInt8(count)).subtracting(kept.map(\.index)).shuffled().prefix(size - kept.count)
      let new = try Dictionary(uniqueKeysWithValues: free.map { ($0, try CirclePerson()) })
      let threshold = Int.random(in: 2...size)
      try circle.change(to: threshold, keeping: kept, adding: new, by: dealers)
      for _ in 0..<2 {
        #expect(try circle.recovered(by: Array(circle.people.shuffled().prefix(threshold))) == circle.key)
      }
    }
  }

  @Test("A change names its number, threshold and holders, and its digest is the next parent")
  func epochs() throws {
    var circle = try Circle(2, 4)
    let first = circle.epoch
    let new = try CirclePerson()
    try circle.change(
      to: 3, keeping: [circle.people[0], circle.people[2]], adding: [4: new],
      by: [
        circle.people[1], circle.people[3],
      ])
    #expect(circle.epoch.number == 1)
    #expect(circle.epoch.scheme.threshold == 3)
    #expect(circle.epoch.digest != first.digest)
    #expect(
      circle.epoch.holders == [
        1: circle.people[0].identity.keys.digest, 3: circle.people[1].identity.keys.digest,
        4: new.identity.keys.digest,
      ])
  }

  @Test("Who doesn't take part any more deals nothing under the next record")
  func leftOut() throws {
    var circle = try Circle(2, 3)
    let left = circle.people[2]
    try circle.change(
      to: 2, keeping: Array(circle.people.prefix(2)), adding: [:], by: Array(circle.people.prefix(2)))
    let proposal = try circle.proposal(
      circle.people.map { person in
        .init(index: person.index, joining: try circle.joining(person))
      }, threshold: 2)
    #expect(throws: ProtocolError.rejected(.invalidShares(indices: [3]))) {
      try HolderDealing.deal(left.held(), salt: nil, proposal, circle.epoch, by: left.identity)
    }
  }

  @Suite("A joining")
  struct Joinings {
    private func refusal(of bytes: [UInt8]) -> WireError? {
      wireError { () throws(WireError) in _ = try Joining.decode(bytes, limit: Joining.byteCount) }
    }

    @Test("is what it was after a trip")
    func coding() throws {
      let circle = try Circle(2, 3)
      let joining = try circle.joining(circle.people[1])
      let bytes = try joining.encoded()
      #expect(bytes.count == Joining.byteCount)
      #expect(try Joining.decode(bytes, limit: Joining.byteCount) == joining)
    }

    @Test("with any byte changed is refused")
    func changed() throws {
      let circle = try Circle(2, 3)
      let bytes = try circle.joining(circle.people[1]).encoded()
      for place in bytes.indices {
        var changed = bytes
        changed[place] ^= UInt8(1 << (place % 8))
        #expect(refusal(of: changed) != nil, "byte \(place)")
      }
    }

    @Test("that receives under a key of its card, or under one of small order, is none")
    func receivingKey() throws {
      let circle = try Circle(2, 3)
      let identity = circle.people[1].identity
      for key in [identity.keys.noise, identity.keys.box, [UInt8](repeating: 0, count: 32)] {
        #expect(throws: ProtocolError.malformed(.invalidValue(field: "receiving key"))) {
          try Joining.sign(
            secret: circle.header.id, record: circle.epoch.digest, index: 2, salt: nil, receivingKey: key, by: identity)
        }
      }
    }

    @Test("of somebody new opens no row")
    func newSalt() throws {
      let circle = try Circle(2, 3)
      let person = circle.people[1]
      #expect(throws: ProtocolError.malformed(.invalidValue(field: "joining salt"))) {
        try Joining.sign(
          secret: circle.header.id, record: circle.epoch.digest, index: 0, salt: person.salt,
          receivingKey: person.receiving.publicKey, by: person.identity)
      }
    }
  }

  @Suite("A proposal")
  struct Proposals {
    let circle: Circle
    let rows: [Proposal.Row]
    /// The first three rows, and a stranger's wish to come in.
    let three: [Proposal.Row]
    let stranger: CirclePerson
    let wish: Joining

    init() throws {
      circle = try Circle(2, 4)
      rows = try circle.rows()
      three = Array(rows.prefix(3))
      stranger = try CirclePerson()
      wish = try circle.joining(stranger, isNew: true)
    }

    private func refused(_ proposal: Proposal) -> String? { refusedPart { _ = try proposal.check(circle.epoch) } }

    private func refusal(of bytes: [UInt8]) -> WireError? {
      wireError { () throws(WireError) in _ = try Proposal.decode(bytes, limit: Proposal.byteLimit) }
    }

    @Test("keeps holders, and lets somebody new in")
    func accepted() throws {
      #expect(try refused(circle.proposal(rows, threshold: 2)) == nil)
      #expect(try refused(circle.proposal(three + [.init(index: 4, joining: wish)], threshold: 4)) == nil)
    }

    @Test("is what it was after a trip")
    func coding() throws {
      let proposal = try circle.proposal(rows, threshold: 2)
      #expect(try Proposal.decode(proposal.encoded(), limit: Proposal.byteLimit) == proposal)
    }

    @Test("of 255 rows is as long as the limit")
    func limit() throws {
      let many = [Proposal.Row](repeating: rows[0], count: 255)
      #expect(try circle.proposal(many, threshold: 2).encoded().count == Proposal.byteLimit)
      #expect(throws: (any Error).self) { try circle.proposal(many + [rows[0]], threshold: 2) }
    }

    @Test("that its asker hasn't signed is refused")
    func signature() throws {
      let proposal = try circle.proposal(rows, threshold: 2)
      let other = proposal.signed(with: try circle.people[1].identity.sign(proposal.digest()))
      #expect(refusal(of: try other.encoded()) == .invalidValue(field: "proposal signature"))
    }

    @Test("of another sharing or secret is refused")
    func parent() throws {
      #expect(try refused(circle.proposal(rows, threshold: 2, parent: randomDigest())) == "parent")
      #expect(try refused(circle.proposal(rows, threshold: 2, secret: SecretID(high: 1, low: 1))) == "parent")
    }

    @Test("has a number above its parent's, by a thousand at most")
    func number() throws {
      #expect(try refused(circle.proposal(rows, threshold: 2, number: 1000)) == nil)
      for number in [0, 1001, UInt32.max] {
        #expect(try refused(circle.proposal(rows, threshold: 2, number: number)) == "number")
      }
    }

    @Test("has a threshold of the header's k at least, and of its rows at most")
    func threshold() throws {
      for threshold in [0, 1, 5] {
        #expect(try refused(circle.proposal(rows, threshold: threshold)) == "threshold")
      }
    }

    @Test("has no more rows than there are fragments")
    func count() throws {
      #expect(try refused(circle.proposal(rows + [.init(index: 5, joining: wish)], threshold: 2)) == "threshold")
    }

    @Test("has indices that ascend and are those of fragments", arguments: [0, 3, 2, 5])
    func indices(_ index: UInt8) throws {
      #expect(try refused(circle.proposal(three + [.init(index: index, joining: wish)], threshold: 2)) == "index")
    }

    @Test("doesn't keep a stranger who says that it holds a share")
    func claim() throws {
      (stranger.index, stranger.salt) = (4, circle.people[3].salt)
      let row = Proposal.Row(index: 4, joining: try circle.joining(stranger))
      #expect(try refused(circle.proposal(three + [row], threshold: 2)) == "row")
    }

    @Test("doesn't keep a holder under another's index")
    func moved() throws {
      let moved = Proposal.Row(index: 2, joining: rows[2].joining)
      #expect(try refused(circle.proposal([rows[0], moved], threshold: 2)) == "row")
    }

    @Test("has nobody twice, kept and as somebody new")
    func twice() throws {
      let again = Proposal.Row(index: 2, joining: try circle.joining(circle.people[0], isNew: true))
      #expect(try refused(circle.proposal([rows[0], again], threshold: 2)) == "key")
    }

    @Test("takes no joining of another secret")
    func otherSecret() throws {
      let other = try Circle(2, 3)
      let foreign = Proposal.Row(index: 4, joining: try other.joining(stranger, isNew: true))
      #expect(try refused(circle.proposal(three + [foreign], threshold: 2)) == "joining")
    }
  }

  @Suite("A dealing")
  struct Dealings {
    let circle: Circle
    let proposal: Proposal

    init() throws {
      circle = try Circle(2, 3)
      proposal = try circle.proposal(circle.rows(), threshold: 2)
    }

    private func deal(_ person: CirclePerson) throws {
      _ = try HolderDealing.deal(person.held(), salt: person.salt, proposal, circle.epoch, by: person.identity)
    }

    @Test("is a holder's: who has its share and salt, but not its card, deals nothing")
    func stranger() throws {
      let stranger = try CirclePerson()
      (stranger.index, stranger.share, stranger.salt) = (2, circle.people[1].share, circle.people[1].salt)
      #expect(refusedPart { try deal(stranger) } == "dealer")
    }

    @Test("is of its holder's own share")
    func otherShare() throws {
      circle.people[1].share = circle.people[0].share
      #expect(throws: ProtocolError.rejected(.invalidShares(indices: [2]))) { try deal(circle.people[1]) }
    }

    @Test("for 255 rows, all of them needed, is as long as the limit")
    func limit() throws {
      let circle = try Circle(2, 255)
      let proposal = try circle.proposal(circle.rows(), threshold: 255)
      let (record, _) = try circle.dealt(proposal, by: [circle.people[0]])
      #expect(try record.dealings[0].encoded().count == HolderDealing.byteLimit)
    }
  }

  @Suite("A record")
  struct Records {
    let circle: Circle
    let rows: [Proposal.Row]
    let proposal: Proposal
    let record: SharingRecord
    let boxes: [UInt8: [[UInt8]]]

    init() throws {
      circle = try Circle(2, 4)
      rows = try circle.rows()
      proposal = try circle.proposal(rows, threshold: 3)
      (record, boxes) = try circle.dealt(proposal, by: [circle.people[1], circle.people[3]])
    }

    private func refused(_ record: SharingRecord) -> String? {
      refusedPart { _ = try record.verified(after: circle.epoch) }
    }

    /// The boxes of row 1, by 2 and 4.
    private func mine() throws -> [[UInt8]] { try [2, 4].map { try #require(boxes[$0])[0] } }

    @Test("is what it was after a trip")
    func coding() throws {
      let again = try SharingRecord.decode(record.encoded(), limit: SharingRecord.byteLimit)
      #expect(again == record)
      #expect(refused(again) == nil)
    }

    @Test("has as many dealings as the threshold before, each of another dealer")
    func dealings() throws {
      let (first, second) = (record.dealings[0], record.dealings[1])
      let third = try circle.dealt(proposal, by: [circle.people[0]]).0.dealings[0]
      #expect(refused(SharingRecord(proposal, [first])) == "dealings")
      #expect(refused(SharingRecord(proposal, [first, first])) == "dealings")
      #expect(refused(SharingRecord(proposal, [first, second, third])) == "dealings")
    }

    @Test("has no dealing for another proposal, even of the same rows")
    func otherProposal() throws {
      let (other, _) = try circle.dealt(circle.proposal(rows, threshold: 3), by: [circle.people[3]])
      #expect(refused(SharingRecord(proposal, [record.dealings[0], other.dealings[0]])) == "dealing")
    }

    @Test("doesn't follow from another sharing of the same people")
    func otherParent() throws {
      let (next, _) = try record.verified(after: circle.epoch)
      #expect(refusedPart { _ = try record.verified(after: next) } == "parent")
    }

    @Test("with any bit changed is none")
    func changed() throws {
      let bytes = try record.encoded()
      for place in stride(from: 0, to: bytes.count, by: 3) {
        var changed = bytes
        changed[place] ^= UInt8(1 << (place % 8))
        let digest = try? SharingRecord.decode(changed, limit: SharingRecord.byteLimit).verified(after: circle.epoch)
          .epoch.digest
        #expect(digest == nil, "byte \(place)")
      }
    }

    @Test("names the dealer of a box that is another row's")
    func badBox() throws {
      let (_, redistribution) = try record.verified(after: circle.epoch)
      let boxes = try [mine()[0], #require(boxes[4])[1]]
      #expect(throws: ProtocolError.rejected(.invalidShares(indices: [4]))) {
        _ = try record.takeOver(rows[0], boxes: boxes, with: circle.people[0].receiving, redistribution)
      }
    }

    @Test("names all dealers to whom has another receiving key")
    func otherKey() throws {
      let (_, redistribution) = try record.verified(after: circle.epoch)
      let boxes = try mine()
      #expect(throws: ProtocolError.rejected(.invalidShares(indices: [2, 4]))) {
        _ = try record.takeOver(rows[0], boxes: boxes, with: AgreementKeyPair.generate(), redistribution)
      }
    }

    @Test("gives no share for fewer boxes than dealings")
    func fewerBoxes() throws {
      let (_, redistribution) = try record.verified(after: circle.epoch)
      let boxes = try [mine()[0]]
      #expect(throws: ProtocolError.foreignProposal("boxes")) {
        _ = try record.takeOver(rows[0], boxes: boxes, with: circle.people[0].receiving, redistribution)
      }
    }
  }
}
