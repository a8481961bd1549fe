import Sodium
import Testing

@testable import ShamirKit

@Suite struct RedistributionTests {
  private let id: SecretID

  init() throws { id = try randomSecretID() }

  /// What a redistribution of 2 of 3 to 3 of 4 says to these numbers of random points by dealers.
  private func refusal(_ counts: [UInt8: Int]) throws -> ShamirError? {
    let circle = try Circle(2, 3)
    let scheme = try ThresholdScheme(threshold: 3, shareCount: 4)
    let points = try counts.mapValues { count in
      try (0..<count).map { _ in try RistrettoPoint.generator.multiplied(by: RistrettoScalar.random()) }
    }
    return shamirError { () throws(ShamirError) in
      _ = try Redistribution(of: circle.commitments, to: scheme, points: points)
    }
  }

  /// What a takeover says to a subshare.
  private func refusal(
    of subshare: borrowing KeyShare, from dealer: UInt8, by takeover: inout ShareTakeover
  ) -> ShamirError? {
    do throws(ShamirError) {
      try takeover.add(subshare, from: dealer)
      return nil
    } catch { return error }
  }

  /// What ending a takeover says.
  private func refusal(ofEnding takeover: consuming ShareTakeover) -> ShamirError? {
    do throws(ShamirError) {
      _ = try takeover.share()
      return nil
    } catch { return error }
  }

  /// A sharing 2 of 3 that 1 and 2 hand on to 2 of 3: 1 deals its share, and 2 another secret.
  private func lied(
    _ body: (_ honest: borrowing Dealing, _ liar: borrowing Dealing, inout ShareTakeover) throws -> Void
  ) throws {
    let circle = try Circle(2, 3)
    let scheme = try ThresholdScheme(threshold: 2, shareCount: 3)
    let honest = try Dealing.again(circle.held(1), to: scheme)
    let liar = try Dealing.fresh(scheme)
    let redistribution = try Redistribution(
      of: circle.commitments, to: scheme,
      points: [1: Array(honest.commitments.points.dropFirst()), 2: Array(liar.commitments.points.dropFirst())])
    var takeover = try ShareTakeover(redistribution, index: 3)
    try body(honest, liar, &takeover)
  }

  @Test(arguments: 0..<20)
  func `any t' new shares rebuild the key, through as many hands as it went`(_ run: Int) throws {
    var circle = try Circle(.random(in: 2...4), .random(in: 4...6))
    let key = try circle.key(circle.shares.keys.shuffled().prefix(circle.scheme.threshold), id)
    for _ in 0..<3 {
      let threshold = Int.random(in: 2...5)
      let recipients = Array((UInt8(1)...12).shuffled().prefix(.random(in: threshold...8)))
      circle = try circle.handedOn(
        by: Array(circle.shares.keys.shuffled().prefix(circle.scheme.threshold)), to: threshold, recipients)
      for _ in 0..<3 { #expect(try circle.key(circle.shares.keys.shuffled().prefix(threshold), id) == key) }
    }
  }

  @Test func `a sharing that is handed on has as many commitments as its threshold, and the first is the old one`()
    throws
  {
    let before = try Circle(2, 3)
    let after = try before.handedOn(by: [1, 3], to: 4, [1, 2, 3, 4])
    #expect(after.commitments.points.count == 4)
    #expect(after.commitments.points[0] == before.commitments.points[0])
    #expect(after.commitments.points[1] != before.commitments.points[1])
  }

  @Test func `a share of before is none of after`() throws {
    let before = try Circle(2, 3)
    let after = try before.handedOn(by: [1, 3], to: 2, [1, 2, 3])
    let old = try before.held(2)
    #expect(throws: ShamirError.invalidShares(indices: [2])) { try old.verify(against: after.commitments) }
  }

  @Test func `who deals anything but its share is named, and what it dealt doesn't count`() throws {
    try lied { honest, liar, takeover in
      let good = try honest.share(3)
      let bad = try liar.share(3)
      #expect(refusal(of: bad, from: 2, by: &takeover) == .invalidShares(indices: [2]))
      #expect(refusal(of: good, from: 1, by: &takeover) == nil)
      let missing = takeover.missing
      #expect(missing == [2])
    }
  }

  @Test func `a subshare of another row names its dealer`() throws {
    try lied { honest, _, takeover in
      let other = try honest.share(2)
      #expect(refusal(of: other, from: 1, by: &takeover) == .invalidShares(indices: [1]))
    }
  }

  @Test func `a dealer's subshare counts once`() throws {
    try lied { honest, _, takeover in
      let good = try honest.share(3)
      #expect(refusal(of: good, from: 1, by: &takeover) == nil)
      #expect(refusal(of: good, from: 1, by: &takeover) == .duplicateShare(index: 1))
    }
  }

  @Test func `who doesn't deal has no subshare`() throws {
    try lied { honest, _, takeover in
      let good = try honest.share(3)
      #expect(refusal(of: good, from: 3, by: &takeover) == .foreignShare(index: 3))
    }
  }

  @Test func `there is no new share while a dealer's part is missing`() throws {
    let circle = try Circle(2, 3)
    let scheme = try ThresholdScheme(threshold: 2, shareCount: 3)
    let first = try Dealing.again(circle.held(1), to: scheme)
    let second = try Dealing.again(circle.held(2), to: scheme)
    let redistribution = try Redistribution(
      of: circle.commitments, to: scheme,
      points: [1: Array(first.commitments.points.dropFirst()), 2: Array(second.commitments.points.dropFirst())])
    var takeover = try ShareTakeover(redistribution, index: 3)
    try takeover.add(first.share(3), from: 1)
    #expect(refusal(ofEnding: takeover) == .tooFewShares(have: 1, need: 2))
  }

  @Test func `more or fewer dealers than the old threshold are refused`() throws {
    #expect(try refusal([1: 2, 2: 2]) == nil)
    #expect(try refusal([1: 2]) == .tooFewShares(have: 1, need: 2))
    #expect(try refusal([1: 2, 2: 2, 3: 2]) == .tooFewShares(have: 3, need: 2))
  }

  @Test(arguments: [0, 1, 3, 4]) func `more or fewer points than the new threshold needs are refused`(_ count: Int)
    throws
  {
    #expect(try refusal([1: 2, 2: count]) == .inconsistentCommitments)
  }

  @Test func `index 0 deals nothing`() throws { #expect(try refusal([0: 2, 1: 2]) == .foreignShare(index: 0)) }

  @Test func `points that cancel one another out are refused`() throws {
    let circle = try Circle(2, 3)
    let scheme = try ThresholdScheme(threshold: 2, shareCount: 3)
    // λ_1 = 2, λ_2 = −1.
    let point = try RistrettoPoint.generator.multiplied(by: RistrettoScalar.random())
    #expect(throws: ShamirError.inconsistentCommitments) {
      try Redistribution(of: circle.commitments, to: scheme, points: [1: [point], 2: [point.adding(point)]])
    }
  }
}
