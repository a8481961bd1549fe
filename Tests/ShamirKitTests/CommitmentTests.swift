import Sodium
import Testing
import WireCodec

@testable import ShamirKit

/// What the dealer publishes, and what it says about shares.
@Suite struct CommitmentTests {
  @Test func commitmentsAcceptEveryDealtShare() throws {
    for _ in 0..<5 {
      let count = Int.random(in: 2...9)
      let dealing = try Dealing.fresh(ThresholdScheme(threshold: .random(in: 2...count), shareCount: count))
      for index in 1...UInt8(count) {
        let share = try dealing.share(index)
        try share.verify(against: dealing.commitments)
        #expect(try share.evaluation() == dealing.commitments.evaluation(at: index))
      }
    }
  }

  @Test func commitmentsRefuseAShareWithAnyByteChanged() throws {
    let dealing = try Dealing.fresh(ThresholdScheme(threshold: 3, shareCount: 5))
    let commitments = dealing.commitments
    for position in 0..<64 {
      var bytes = exposed(try dealing.share(4))
      // Neither change lifts a scalar over the group order, which would be refused before.
      bytes[position] ^= position % 32 == 31 ? 0x08 : 0x01
      let damaged = try share(4, bytes)
      #expect(
        shamirError { () throws(ShamirError) in try damaged.verify(against: commitments) }
          == .invalidShares(indices: [4]), "\(position)")
    }
  }

  @Test func commitmentsRefuseAShareUnderAnotherIndexOrOfAnotherDealing() throws {
    let scheme = try ThresholdScheme(threshold: 2, shareCount: 5)
    let dealing = try Dealing.fresh(scheme)
    let commitments = dealing.commitments
    let renamed = try share(5, exposed(try dealing.share(4)))
    #expect(
      shamirError { () throws(ShamirError) in try renamed.verify(against: commitments) }
        == .invalidShares(indices: [5]))
    let foreign = try Dealing.fresh(scheme).share(4)
    #expect(
      shamirError { () throws(ShamirError) in try foreign.verify(against: commitments) }
        == .invalidShares(indices: [4]))
  }

  @Test func aChangedCommitmentRefusesEveryShare() throws {
    let dealing = try Dealing.fresh(ThresholdScheme(threshold: 3, shareCount: 4))
    for position in 0..<3 {
      var points = dealing.commitments.points
      points[position] = try points[position].adding(.generator)
      let changed = try Commitments(points: points)
      for index in UInt8(1)...4 {
        let share = try dealing.share(index)
        #expect(
          shamirError { () throws(ShamirError) in try share.verify(against: changed) }
            == .invalidShares(indices: [index]))
      }
    }
  }

  @Test func swappingValueAndMaskIsCaught() throws {
    let dealing = try Dealing.fresh(ThresholdScheme(threshold: 2, shareCount: 3))
    let commitments = dealing.commitments
    let bytes = exposed(try dealing.share(2))
    let swapped = try share(2, Array(bytes[32...] + bytes[..<32]))
    #expect(
      shamirError { () throws(ShamirError) in try swapped.verify(against: commitments) }
        == .invalidShares(indices: [2]))
  }

  @Test func indexZeroHasNoEvaluation() throws {
    let commitments = try Dealing.fresh(ThresholdScheme(threshold: 2, shareCount: 2)).commitments
    #expect(throws: ShamirError.foreignShare(index: 0)) { try commitments.evaluation(at: 0) }
  }

  @Test func encodingIsACountAndThePoints() throws {
    let commitments = try Dealing.fresh(ThresholdScheme(threshold: 3, shareCount: 3)).commitments
    let encoded = try commitments.encoded()
    #expect(encoded == [3] + commitments.points.flatMap(\.bytes))
    #expect(try Commitments.decode(encoded, limit: encoded.count) == commitments)
  }

  @Test func malformedEncodingsAreRefused() throws {
    let commitments = try Dealing.fresh(ThresholdScheme(threshold: 2, shareCount: 2)).commitments
    let encoded = try commitments.encoded()
    let point = RistrettoPoint.generator.bytes
    let count = WireError.invalidValue(field: "commitment count")
    #expect(throws: count) { try Commitments.decode([0], limit: 9999) }
    #expect(throws: count) { try Commitments.decode([1] + point, limit: 9999) }
    #expect(throws: WireError.trailingBytes(count: 1)) { try Commitments.decode(encoded + [0], limit: 9999) }
    #expect(throws: WireError.truncated(field: "commitment")) {
      try Commitments.decode(Array(encoded.dropLast()), limit: 9999)
    }
    let identity = RistrettoPoint.identity.bytes
    #expect(throws: WireError.invalidValue(field: "commitment")) {
      try Commitments.decode([2] + point + identity, limit: 9999)
    }
    #expect(throws: WireError.invalidValue(field: "commitment")) {
      try Commitments.decode([2] + point + [UInt8](repeating: 0xff, count: 32), limit: 9999)
    }
    #expect(throws: ShamirError.inconsistentCommitments) { try Commitments(points: [.generator, .identity]) }
    #expect(throws: ShamirError.inconsistentCommitments) { try Commitments(points: [.generator]) }
  }
}
