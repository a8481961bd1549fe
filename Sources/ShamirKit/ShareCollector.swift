import Sodium

/// Gathers shares until the threshold is met, tells good from bad, and rebuilds the key.
///
/// All shares lie in one piece of secret memory that is wiped at the end. Add shares as they arrive, then ``verify()``,
/// then ``fileKey(for:)``.
public struct ShareCollector: ~Copyable, Sendable {
  public let scheme: ThresholdScheme
  public let commitments: Commitments
  /// Indices of shares that are not checked yet, in order of arrival.
  var pending: [UInt8] = []
  /// Indices of shares that fit the commitments.
  var verified: [UInt8] = []
  /// Share i at 64·(i−1); zeros where there is none.
  var memory: SecretBytes

  mutating func keep(_ share: consuming KeyShare) {
    let offset = Self.offset(share.index)
    memory.withUnsafeMutableBytes { memory in
      share.bytes.withUnsafeBytes {
        UnsafeMutableRawBufferPointer(rebasing: memory[offset..<(offset + KeyShare.byteCount)]).copyMemory(from: $0)
      }
    }
  }

  /// Bad ones among the shares that are not checked yet.
  borrowing func culprits() throws(ShamirError) -> Set<UInt8> {
    return try sodium(weightedSumHolds(for: pending) ? [] : Set(badShares(among: pending)))
  }

  mutating func forget(_ indices: Set<UInt8>) {
    memory.withUnsafeMutableBytes { memory in
      for index in indices {
        let offset = Self.offset(index)
        UnsafeMutableRawBufferPointer(rebasing: memory[offset..<(offset + KeyShare.byteCount)])
          .initializeMemory(as: UInt8.self, repeating: 0)
      }
    }
  }

  borrowing func rebuiltKey(_ id: SecretID, from indices: [UInt8]) throws(ShamirError) -> SecretBytes {
    let constants = try constants(from: indices)
    let commitment = try sodium(Self.commitment(constants))
    guard commitment == commitments.points.first else { throw .inconsistentCommitments }
    return try sodium(
      constants.withUnsafeBytes { (constants) throws(SodiumError) in
        try FileKey.derive(from: constants.octets, id: id)
      })
  }

  /// f(0), then g(0), of the polynomials of least degree through these shares.
  borrowing func constants(from indices: [UInt8]) throws(ShamirError) -> SecretBytes {
    return try sodium(weightedSum(of: indices, weights: Polynomial.lagrangeAtZero(indices)))
  }

  /// Whether Σ w_i·(f(i)·G + g(i)·H) = Σ w_i·Y_i, with weights of 128 bits drawn now.
  ///
  /// A set with a bad share passes with probability 2^−128. Costs t multiplications of a point whatever the number of
  /// shares: the right side is Σ_j (Σ_i w_i·i^j)·C_j.
  private borrowing func weightedSumHolds(for indices: [UInt8]) throws(SodiumError) -> Bool {
    var weights: [PublicScalar] = []
    var exponents = [PublicScalar](repeating: PublicScalar(0), count: scheme.threshold)
    for index in indices {
      var power = try PublicScalar.randomWeight()
      weights.append(power)
      let factor = PublicScalar(UInt64(index))
      for degree in exponents.indices {
        exponents[degree].add(power)
        power.multiply(by: factor)
      }
    }
    let left = try Self.commitment(weightedSum(of: indices, weights: weights))
    var right = RistrettoPoint.identity
    for (exponent, point) in zip(exponents, commitments.points) { right = try right.adding(exponent.times(point)) }
    return left == right
  }

  /// The bad shares of a set that is known to hold one: halves that hold are not looked at again.
  private borrowing func badShares(among indices: [UInt8]) throws(SodiumError) -> [UInt8] {
    guard indices.count > 1 else { return indices }
    let left = Array(indices.prefix(indices.count / 2))
    let right = Array(indices.dropFirst(left.count))
    if try weightedSumHolds(for: left) { return try badShares(among: right) }
    let bad = try badShares(among: left)
    return try weightedSumHolds(for: right) ? bad : bad + badShares(among: right)
  }

  /// Σ w_i·f(i), then Σ w_i·g(i).
  private borrowing func weightedSum(
    of indices: [UInt8], weights: [PublicScalar]
  ) throws(SodiumError) -> SecretBytes {
    var sum = try SecretBytes(zeros: KeyShare.byteCount)
    sum.withUnsafeMutableBytes { sum in
      memory.withUnsafeBytes { memory in
        for (index, weight) in zip(indices, weights) {
          let share = memory.octets + Self.offset(index)
          RistrettoScalar.multiplyAdd(share, weight.bytes, addingTo: sum.octets)
          RistrettoScalar.multiplyAdd(
            share + RistrettoScalar.byteCount, weight.bytes, addingTo: sum.octets + RistrettoScalar.byteCount)
        }
      }
    }
    return sum
  }

  /// The commitment to two scalars that lie one after the other.
  private static func commitment(_ pair: borrowing SecretBytes) throws(SodiumError) -> RistrettoPoint {
    try pair.withUnsafeBytes { (pair) throws(SodiumError) in
      try RistrettoPoint.commitment(to: pair.octets, blinding: pair.octets + RistrettoScalar.byteCount)
    }
  }

  private static func offset(_ index: UInt8) -> Int { (Int(index) - 1) * KeyShare.byteCount }
}
