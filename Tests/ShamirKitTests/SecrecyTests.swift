import Sodium
import Testing

@testable import ShamirKit

/// What fewer shares than the threshold look like, and that no coefficient is left out.
@Suite struct SecrecyTests {
  /// ℓ as 64 little-endian bytes: a string that isn't zero and reduces to zero.
  private func orderAsWide() throws -> [UInt8] {
    try #require(bytes(hexadecimal: "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010"))
      + [UInt8](repeating: 0, count: 32)
  }

  /// Shares 1 and 2 of a 3-of-3 sharing of a known secret; all other coefficients are drawn as always.
  private func sharePair(_ secret: UInt8) throws -> [UInt8] {
    let scheme = try ThresholdScheme(threshold: 3, shareCount: 3)
    var wide = try SecretBytes(random: Dealing.wideByteCount(of: scheme))
    wide.withUnsafeMutableBytes { wide in
      for position in 0..<64 { wide[position] = position == 0 ? secret : 0 }
    }
    let dealing = try Dealing(scheme, wideCoefficients: wide)
    return exposed(try dealing.share(1)) + exposed(try dealing.share(2))
  }

  /// Chi-squared of two samples of share bytes, one of the secret 0 and one of the secret 1: the greatest over all
  /// bytes. 16 buckets by the low bits, so that the top bytes, which are below 0x10, are spread as evenly as the
  /// others.
  private func greatestStatistic(samples: Int, shares: (UInt8) throws -> [UInt8]) throws -> Double {
    var counts: [[Int]] = []
    for secret in UInt8(0)...1 {
      var tally: [Int] = []
      for _ in 0..<samples {
        let bytes = try shares(secret)
        if tally.isEmpty { tally = [Int](repeating: 0, count: bytes.count * 16) }
        for (position, byte) in bytes.enumerated() { tally[position * 16 + Int(byte & 15)] += 1 }
      }
      counts.append(tally)
    }
    let terms = zip(counts[0], counts[1]).map { left, right in
      left + right > 0 ? Double((left - right) * (left - right)) / Double(left + right) : 0
    }
    return stride(from: 0, to: terms.count, by: 16).map { terms[$0..<($0 + 16)].reduce(0, +) }.max() ?? 0
  }

  /// With 15 degrees of freedom a byte exceeds 70 by chance about once in two hundred million times.
  @Test func sharesBelowTheThresholdOfTwoKnownSecretsLookAlike() throws {
    #expect(try greatestStatistic(samples: 1000, shares: sharePair) < 70)
  }

  /// The same statistic, when one coefficient more is known: the shares give the secret away.
  @Test func theStatisticNoticesSharesThatDependOnTheSecret() throws {
    let leaking = try greatestStatistic(samples: 200) { secret in
      let scheme = try ThresholdScheme(threshold: 2, shareCount: 2)
      let slope = UInt8.random(in: 0...7)
      let dealing = try Dealing(scheme, wideCoefficients: wideCoefficients([secret, slope], [1, 1]))
      return exposed(try dealing.share(2))
    }
    #expect(leaking > 70)
  }

  @Test func theSamplerMapsAMultipleOfTheOrderToZeroAndDealingAcceptsIt() throws {
    let order = try orderAsWide()
    let scheme = try ThresholdScheme(threshold: 2, shareCount: 3)
    // f = 3 + ℓ·x, g = 4 + 1·x: the leading coefficient of f is zero.
    let one = [UInt8(1)] + [UInt8](repeating: 0, count: 63)
    let three = [UInt8(3)] + [UInt8](repeating: 0, count: 63)
    let four = [UInt8(4)] + [UInt8](repeating: 0, count: 63)
    let wide = try SecretBytes(copying: (three + order + four + one).span.bytes)
    let dealing = try Dealing(scheme, wideCoefficients: wide)
    #expect(dealing.commitments.points[1] == .pedersenH)
    for index in UInt8(1)...3 {
      let share = try dealing.share(index)
      #expect(
        exposed(share) == [3] + [UInt8](repeating: 0, count: 31) + [4 + index] + [UInt8](repeating: 0, count: 31))
      try share.verify(against: dealing.commitments)
    }
    let id = try randomSecretID()
    var collector = try collector(dealing, [1, 3])
    try collector.verify()
    #expect(exposed(try collector.fileKey(for: id)) == exposed(try dealing.fileKey(for: id)))
  }

  @Test func aSecretAndAShareOfZeroAreLegal() throws {
    let scheme = try ThresholdScheme(threshold: 2, shareCount: 2)
    // f = 0 + 0·x and g = ℓ − 2 + 2·x, so that share 1 is (0, 0) and Y_1 the identity.
    var negative = try orderAsWide()
    negative[0] -= 2
    let zero = [UInt8](repeating: 0, count: 64)
    let two = [UInt8(2)] + [UInt8](repeating: 0, count: 63)
    let dealing = try Dealing(scheme, wideCoefficients: SecretBytes(copying: (zero + zero + negative + two).span.bytes))
    let first = try dealing.share(1)
    #expect(exposed(first) == zero)
    #expect(try dealing.commitments.evaluation(at: 1).isIdentity)
    try first.verify(against: dealing.commitments)
    var collector = try collector(dealing, [1, 2])
    try collector.verify()
    let id = try randomSecretID()
    #expect(exposed(try collector.fileKey(for: id)) == exposed(try dealing.fileKey(for: id)))
  }

  @Test func dealingsDoNotRepeat() throws {
    let scheme = try ThresholdScheme(threshold: 2, shareCount: 2)
    var seen: Set<RistrettoPoint> = []
    for _ in 0..<20 { seen.formUnion(try Dealing.fresh(scheme).commitments.points) }
    #expect(seen.count == 40)
  }

  /// Horner's scheme in wide words against plain scalar arithmetic, over more steps than fit between two reductions.
  @Test(arguments: [2, 31, 32, 33, 34, 65, 100, 255]) func wideEvaluationEqualsPlainArithmetic(count: Int) throws {
    var coefficients: [UInt8] = []
    for position in 0..<count {
      // Mostly the largest scalar, ℓ − 1, so that the accumulator grows as far as it can.
      var scalar = Array(try orderAsWide().prefix(32))
      scalar[0] -= 1
      if position % 5 == 4 { scalar = exposed(try RistrettoScalar.random()) }
      coefficients += scalar
    }
    for index in [1, 2, 127, 254, 255] as [UInt8] {
      var value = [UInt8](repeating: 0, count: 32)
      Polynomial.evaluate(coefficients, count: count, at: index, into: &value)
      var expected = [UInt8](repeating: 0, count: 32)
      let factor = [index] + [UInt8](repeating: 0, count: 31)
      for position in (0..<count).reversed() {
        var product = [UInt8](repeating: 0, count: 32)
        RistrettoScalar.multiply(expected, factor, into: &product)
        RistrettoScalar.add(product, Array(coefficients[(32 * position)..<(32 * position + 32)]), into: &expected)
      }
      #expect(value == expected, "\(index)")
    }
  }
}
