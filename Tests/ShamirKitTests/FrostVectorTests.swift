import Sodium
import Testing

@testable import ShamirKit

/// Figures of FROST over ristretto255, from github.com/ZcashFoundation/frost: `frost-ristretto255/tests/helpers/vectors.json`,
/// which are those of RFC 9591, and what helpers send to repair a lost share, `frost-ristretto255/tests/repair-share.json` at
/// 84134cd, of which the first three numbers have the sum that stands there. All scalars are little-endian.
@Suite struct FrostVectorTests {
  private static let secret = "1b25a55e463cfd15cf14a5d3acc3d15053f08da49c8afcf3ab265f2ebc4f970b"
  private static let coefficient = "410f8b744b19325891d73736923525a4f596c805d060dfb9c98009d34e3fec02"
  private static let shares: [UInt8: String] = [
    1: "5c3430d391552f6e60ecdc093ff9f6f4488756aa6cebdbad75a768010b8f830e",
    2: "b06fc5eac20b4f6e1b271d9df2343d843e1e1fb03c4cbb673f2872d459ce6f01",
    3: "f17e505f0e2581c6acfe54d3846a622834b5e7b50cad9a2109a97ba7a80d5c04",
  ]

  private func bytes(_ hexadecimal: String) throws -> [UInt8] {
    let digits = Array(hexadecimal)
    return try stride(from: 0, to: digits.count, by: 2).map {
      try #require(UInt8(String(digits[$0...($0 + 1)]), radix: 16))
    }
  }

  private func scalar(_ hexadecimal: String) throws -> PublicScalar {
    let wide = try bytes(hexadecimal) + [UInt8](repeating: 0, count: 32)
    return try PublicScalar(reducing: SecretBytes(copying: wide.span.bytes))
  }

  private func sum(_ scalars: [PublicScalar]) -> PublicScalar {
    scalars.reduce(into: PublicScalar(0)) { $0.add($1) }
  }

  private func difference(_ one: UInt8, _ other: UInt8) -> PublicScalar {
    var subtrahend = PublicScalar(UInt64(other))
    subtrahend.negate()
    return sum([PublicScalar(UInt64(one)), subtrahend])
  }

  /// Lagrange's coefficients for the value at an index.
  private func weights(at index: UInt8, _ helpers: [UInt8]) throws -> [PublicScalar] {
    try helpers.map { own in
      var weight = PublicScalar(1)
      for other in helpers where other != own {
        weight.multiply(by: difference(index, other))
        weight.multiply(by: try difference(own, other).inverse())
      }
      return weight
    }
  }

  @Test(arguments: [UInt8(1), 2, 3]) func `the polynomial has their shares`(_ index: UInt8) throws {
    let coefficients = try bytes(Self.secret + Self.coefficient)
    var value = [UInt8](repeating: 0, count: 32)
    Polynomial.evaluate(coefficients, count: 2, at: index, into: &value)
    #expect(try value == bytes(#require(Self.shares[index])))
  }

  @Test(arguments: [[UInt8(1), 2], [1, 3], [2, 3]]) func `any two of their shares have the secret`(_ pair: [UInt8])
    throws
  {
    let weighted = try zip(pair, Polynomial.lagrangeAtZero(pair)).map { index, weight in
      try scalar(#require(Self.shares[index])).multiplied(by: weight)
    }
    #expect(try sum(weighted).bytes == bytes(Self.secret))
    #expect(try weights(at: 0, pair).map(\.bytes) == Polynomial.lagrangeAtZero(pair).map(\.bytes))
  }

  @Test(arguments: [UInt8(1), 2, 3]) func `two helpers repair the share of the third, and neither shows its own`(
    _ lost: UInt8
  ) throws {
    let helpers = [UInt8(1), 2, 3].filter { $0 != lost }
    let weights = try weights(at: lost, helpers)
    var received = [PublicScalar(0), PublicScalar(0)]
    for (helper, weight) in zip(helpers, weights) {
      // One part is drawn, the other is the rest.
      let mine = try scalar(#require(Self.shares[helper])).multiplied(by: weight)
      let drawn = try PublicScalar.randomWeight()
      var negative = drawn
      negative.negate()
      received[0].add(drawn)
      received[1].add(sum([mine, negative]))
    }
    #expect(try sum(received).bytes == bytes(#require(Self.shares[lost])))
  }

  @Test func `what their helpers send adds up to the share that is repaired`() throws {
    let sent = try [
      "44260f9f457d96bd0dcdcd9b83c45231bca28ecc5ab52dee9cf59f6b361c520c",
      "9babf5fa9a6ea4bf9486e796115dc767a1bdd27cd2834b6d5f29c988ffebe508",
      "3e62e7461db9ca1ed2f1549a8114bbc87fa9242ce0012ed3f9ac9dcf23f4c30a",
    ].map(scalar)
    #expect(try sum(sent).bytes == bytes("3060f683e341f3439ea8122a383cf64cdd0986750d3ba72ef6cb06c459fcfb0f"))
  }
}
