import Sodium
import Testing

@testable import ShamirKit

/// Dealing, collecting and rebuilding a key.
@Suite struct KeySharingTests {
  @Test func schemesAreTwoToTwoHundredFiftyFiveSharesWithAThresholdInBetween() throws {
    for (threshold, count) in [(2, 2), (2, 255), (255, 255), (128, 255)] {
      let scheme = try ThresholdScheme(threshold: threshold, shareCount: count)
      #expect(scheme.threshold == threshold && scheme.shareCount == count)
    }
    for (threshold, count) in [(1, 2), (0, 0), (1, 1), (3, 2), (2, 256), (256, 256), (-1, 5), (2, Int.max), (2, -3)] {
      #expect(throws: ShamirError.invalidScheme) { try ThresholdScheme(threshold: threshold, shareCount: count) }
    }
  }

  @Test func anyThresholdManySharesRebuildTheKey() throws {
    for _ in 0..<25 {
      let count = Int.random(in: 2...24)
      let scheme = try ThresholdScheme(threshold: .random(in: 2...count), shareCount: count)
      let dealing = try Dealing.fresh(scheme)
      let id = try randomSecretID()
      let key = try dealing.fileKey(for: id)
      for _ in 0..<3 {
        let chosen = (1...UInt8(count)).shuffled().prefix(scheme.threshold)
        var collector = try collector(dealing, chosen)
        try collector.verify()
        #expect(exposed(try collector.fileKey(for: id)) == exposed(key), "\(scheme) \(chosen)")
      }
    }
  }

  @Test func everyPairOfFiveSharesRebuildsTheKey() throws {
    let dealing = try Dealing.fresh(ThresholdScheme(threshold: 2, shareCount: 5))
    let id = try randomSecretID()
    let key = try dealing.fileKey(for: id)
    for first in UInt8(1)...5 {
      for second in UInt8(1)...5 where second != first {
        var collector = try collector(dealing, [first, second])
        try collector.verify()
        #expect(exposed(try collector.fileKey(for: id)) == exposed(key))
      }
    }
  }

  @Test func the128Of255SchemeRebuildsTheKeyAndNamesABadShare() throws {
    let dealing = try Dealing.fresh(ThresholdScheme(threshold: 128, shareCount: 255))
    let id = try randomSecretID()
    let chosen = (UInt8(1)...255).shuffled()
    var collector = try collector(dealing, chosen.prefix(127))
    var bad = exposed(try dealing.share(chosen[127]))
    bad[40] ^= 1
    try collector.add(share(chosen[127], bad))
    #expect(shamirError { () throws(ShamirError) in try collector.verify() } == .invalidShares(indices: [chosen[127]]))
    #expect(
      shamirError { () throws(ShamirError) in _ = try collector.fileKey(for: id) }
        == .tooFewShares(have: 127, need: 128))
    try collector.add(dealing.share(chosen[128]))
    try collector.verify()
    #expect(exposed(try collector.fileKey(for: id)) == exposed(try dealing.fileKey(for: id)))
  }

  @Test func oneShareTooFewIsAnErrorThatSaysSo() throws {
    for _ in 0..<10 {
      let count = Int.random(in: 2...12)
      let scheme = try ThresholdScheme(threshold: .random(in: 2...count), shareCount: count)
      let dealing = try Dealing.fresh(scheme)
      var collector = try collector(dealing, (1...UInt8(count)).shuffled().prefix(scheme.threshold - 1))
      try collector.verify()
      let id = try randomSecretID()
      #expect(
        shamirError { () throws(ShamirError) in _ = try collector.fileKey(for: id) }
          == .tooFewShares(have: scheme.threshold - 1, need: scheme.threshold))
    }
  }

  @Test func interpolatingOneShareTooFewMissesTheSecret() throws {
    let scheme = try ThresholdScheme(threshold: 3, shareCount: 5)
    let dealing = try Dealing(scheme, wideCoefficients: wideCoefficients([9, 8, 7], [6, 5, 4]))
    let collector = try collector(dealing, 1...5)
    var secret = [UInt8](repeating: 0, count: 64)
    secret[0] = 9
    secret[32] = 6
    for indices in [[1, 2, 3], [5, 1, 4], [2, 4, 5], [1, 2, 3, 4, 5]] as [[UInt8]] {
      #expect(exposed(try collector.constants(from: indices)) == secret)
    }
    for indices in [[1, 2], [4, 5], [3, 1]] as [[UInt8]] {
      #expect(exposed(try collector.constants(from: indices)) != secret)
    }
  }

  @Test func sharesThatWereNotVerifiedDoNotCount() throws {
    let dealing = try Dealing.fresh(ThresholdScheme(threshold: 2, shareCount: 3))
    let id = try randomSecretID()
    var collector = try collector(dealing, [1, 3])
    #expect(
      shamirError { () throws(ShamirError) in _ = try collector.fileKey(for: id) } == .tooFewShares(have: 0, need: 2))
    #expect(collector.indices == [1, 3])
    #expect(collector.verifiedIndices == [])
    try collector.verify()
    #expect(collector.verifiedIndices == [1, 3])
  }

  @Test func moreSharesThanTheThresholdRebuildTheSameKey() throws {
    let dealing = try Dealing.fresh(ThresholdScheme(threshold: 3, shareCount: 7))
    let id = try randomSecretID()
    var collector = try collector(dealing, 1...7)
    try collector.verify()
    #expect(exposed(try collector.fileKey(for: id)) == exposed(try dealing.fileKey(for: id)))
  }

  @Test func theKeyBelongsToOneSecretAndOneDealing() throws {
    let scheme = try ThresholdScheme(threshold: 2, shareCount: 2)
    let dealing = try Dealing.fresh(scheme)
    let other = try Dealing.fresh(scheme)
    let id = try randomSecretID()
    let key = try dealing.fileKey(for: id)
    #expect(exposed(key) != exposed(try dealing.fileKey(for: randomSecretID())))
    #expect(exposed(key) != exposed(try other.fileKey(for: id)))
  }

  @Test func duplicateAndForeignSharesAreRefusedByName() throws {
    let scheme = try ThresholdScheme(threshold: 2, shareCount: 5)
    let dealing = try Dealing.fresh(scheme)
    let larger = try Dealing.fresh(ThresholdScheme(threshold: 2, shareCount: 9))
    var collector = try collector(dealing, [2, 4])
    for index in [2, 4] as [UInt8] {
      #expect(refusal(of: try dealing.share(index), by: &collector) == .duplicateShare(index: index))
    }
    #expect(refusal(of: try larger.share(6), by: &collector) == .foreignShare(index: 6))
    #expect(collector.indices == [2, 4])
    try collector.verify()
    #expect(refusal(of: try dealing.share(2), by: &collector) == .duplicateShare(index: 2))
    for index in [0, 6, 255] as [UInt8] {
      #expect(shamirError { () throws(ShamirError) in _ = try dealing.share(index) } == .foreignShare(index: index))
    }
  }

  @Test func everyBadShareOfABatchIsNamedAndTheGoodOnesStay() throws {
    for _ in 0..<8 {
      let dealing = try Dealing.fresh(ThresholdScheme(threshold: 3, shareCount: 12))
      let bad = Set((UInt8(1)...12).shuffled().prefix(.random(in: 1...12)))
      var collector = try ShareCollector(scheme: dealing.scheme, commitments: dealing.commitments)
      for index in (UInt8(1)...12).shuffled() {
        var bytes = exposed(try dealing.share(index))
        if bad.contains(index) { bytes[[0, 32].randomElement() ?? 0] ^= 1 << UInt8.random(in: 0...7) }
        try collector.add(share(index, bytes))
      }
      #expect(
        shamirError { () throws(ShamirError) in try collector.verify() } == .invalidShares(indices: bad.sorted()))
      #expect(Set(collector.indices) == Set(UInt8(1)...12).subtracting(bad))
      // The true shares take the place of the bad ones.
      for index in bad { try collector.add(dealing.share(index)) }
      try collector.verify()
      let id = try randomSecretID()
      #expect(exposed(try collector.fileKey(for: id)) == exposed(try dealing.fileKey(for: id)))
    }
  }

  @Test func errorsThatCancelOutInAPlainSumAreCaught() throws {
    let dealing = try Dealing(
      ThresholdScheme(threshold: 2, shareCount: 2), wideCoefficients: wideCoefficients([50, 50], [50, 50]))
    // f(1) = 100 and f(2) = 150; one too many and one too few.
    var first = exposed(try dealing.share(1))
    var second = exposed(try dealing.share(2))
    first[0] += 1
    second[0] -= 1
    var collector = try ShareCollector(scheme: dealing.scheme, commitments: dealing.commitments)
    try collector.add(share(1, first))
    try collector.add(share(2, second))
    #expect(shamirError { () throws(ShamirError) in try collector.verify() } == .invalidShares(indices: [1, 2]))
  }

  @Test func sharesOfAnotherDealingAreNamed() throws {
    let scheme = try ThresholdScheme(threshold: 2, shareCount: 4)
    let dealing = try Dealing.fresh(scheme)
    let other = try Dealing.fresh(scheme)
    var collector = try collector(dealing, [1])
    try collector.add(other.share(3))
    #expect(shamirError { () throws(ShamirError) in try collector.verify() } == .invalidShares(indices: [3]))
  }

  @Test func commitmentsOfAnotherThresholdAreRefused() throws {
    let dealing = try Dealing.fresh(ThresholdScheme(threshold: 3, shareCount: 4))
    let scheme = try ThresholdScheme(threshold: 2, shareCount: 4)
    let commitments = dealing.commitments
    #expect(
      shamirError { () throws(ShamirError) in _ = try ShareCollector(scheme: scheme, commitments: commitments) }
        == .inconsistentCommitments)
  }

  @Test func shareBytesMustBeTwoScalarsBelowTheOrder() throws {
    let order = try #require(bytes(hexadecimal: "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010"))
    let zero = [UInt8](repeating: 0, count: 32)
    for malformed in [order + zero, zero + order, zero, zero + zero + [0], []] {
      #expect(throws: ShamirError.malformedShare(index: 7)) { _ = try share(7, malformed) }
    }
    #expect(throws: ShamirError.foreignShare(index: 0)) { _ = try share(0, zero + zero) }
    #expect(exposed(try share(7, zero + zero)) == zero + zero)
  }
}
