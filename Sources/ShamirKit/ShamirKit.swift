public import Sodium
public import WireCodec

// The module's face: what other programs call, in the order in which they do. What the types stand for, and what their
// values are checked for, is said where they are declared, each in the file of its name.

// MARK: - Dealing a key

extension Dealing {
  /// Draws a secret and polynomials. Takes t commitments of two multiplications (0.13 ms) each.
  public static func fresh(_ scheme: ThresholdScheme) throws(ShamirError) -> Dealing {
    let wide = try sodium(SecretBytes(random: wideByteCount(of: scheme)))
    return try Dealing(scheme, wideCoefficients: wide)
  }

  /// The share with an index from 1 to the number of shares, else ``ShamirError/foreignShare(index:)``. Time and memory
  /// accesses depend on index and threshold alone.
  public func share(_ index: UInt8) throws(ShamirError) -> KeyShare {
    try scheme.check(index: index)
    return try KeyShare(index: index, bytes: evaluated(at: index))
  }

  /// The 32-byte key for the payload of the secret with this id: the one that ``ShareCollector/fileKey(for:)`` rebuilds.
  public func fileKey(for id: SecretID) throws(ShamirError) -> SecretBytes {
    try sodium(
      coefficients.withUnsafeBytes { (scalars) throws(SodiumError) in
        try FileKey.derive(from: scalars.octets, id: id)
      })
  }
}

extension KeyShare {
  /// Throws ``ShamirError/invalidShares(indices:)`` naming this index unless the commitments are to this very share: how
  /// a holder checks what it was dealt. Takes t multiplications of a point (0.1 ms each).
  public func verify(against commitments: Commitments) throws(ShamirError) {
    guard try evaluation() == commitments.evaluation(at: index) else { throw .invalidShares(indices: [index]) }
  }
}

extension Commitments {
  /// One byte t, then t points of 32 bytes.
  public func encoding() throws(WireError) -> [UInt8] { try encoded() }

  /// Reads what ``encoding()`` gave, to the last byte; refuses fewer than 2 points, points that aren't canonical, and the
  /// identity.
  public init(encoding: [UInt8]) throws(WireError) {
    self = try Self.decode(encoding, limit: 1 + ThresholdScheme.acceptedCounts.upperBound * RistrettoPoint.byteCount)
  }

  /// Y_i = Σ i^j·C_j, the commitment to share `index`; the identity is possible. Throws
  /// ``ShamirError/foreignShare(index:)`` for 0. Takes t multiplications of a point (0.1 ms each): keep the result.
  public func evaluation(at index: UInt8) throws(ShamirError) -> RistrettoPoint {
    guard index > 0 else { throw .foreignShare(index: index) }
    let scalar = PublicScalar(UInt64(index))
    do throws(SodiumError) {
      var sum = RistrettoPoint.identity
      for point in points.reversed() { sum = try scalar.times(sum).adding(point) }
      return sum
    } catch { throw .sodium(error) }
  }
}

// MARK: - Rebuilding it

extension ShareCollector {
  /// Throws ``ShamirError/inconsistentCommitments`` unless there are as many commitments as the threshold.
  public init(scheme: ThresholdScheme, commitments: Commitments) throws(ShamirError) {
    guard commitments.points.count == scheme.threshold else { throw .inconsistentCommitments }
    memory = try sodium(SecretBytes(zeros: scheme.shareCount * KeyShare.byteCount))
    self.scheme = scheme
    self.commitments = commitments
  }

  /// Indices of all shares that are here and were not found bad, in ascending order.
  public var indices: [UInt8] { (pending + verified).sorted() }

  /// Indices of the shares that fit the commitments, in ascending order.
  public var verifiedIndices: [UInt8] { verified.sorted() }

  /// Takes a share. Throws ``ShamirError/foreignShare(index:)`` for an index outside the scheme and
  /// ``ShamirError/duplicateShare(index:)`` for one that is here already; the share here stays.
  public mutating func add(_ share: consuming KeyShare) throws(ShamirError) {
    try scheme.check(index: share.index)
    guard !pending.contains(share.index), !verified.contains(share.index) else {
      throw .duplicateShare(index: share.index)
    }
    pending.append(share.index)
    keep(share)
  }

  /// Checks all shares that came since the last call, together, with fresh random weights: a set with a bad share passes
  /// with probability 2^−128.
  ///
  /// If something is wrong, halves are checked until every bad share is found: the bad ones are wiped and forgotten
  /// (another share with the same index may be added), the good ones stay, and
  /// ``ShamirError/invalidShares(indices:)`` names the bad.
  public mutating func verify() throws(ShamirError) {
    guard !pending.isEmpty else { return }
    let culprits = try culprits()
    verified += pending.filter { !culprits.contains($0) }
    pending = []
    guard !culprits.isEmpty else { return }
    forget(culprits)
    throw .invalidShares(indices: culprits.sorted())
  }

  /// Rebuilds the key for the payload of the secret with this id from exactly t verified shares.
  ///
  /// Throws ``ShamirError/tooFewShares(have:need:)`` counting verified shares only, and
  /// ``ShamirError/inconsistentCommitments`` if s·G + g(0)·H is not C_0.
  public borrowing func fileKey(for id: SecretID) throws(ShamirError) -> SecretBytes {
    guard verified.count >= scheme.threshold else {
      throw .tooFewShares(have: verified.count, need: scheme.threshold)
    }
    return try rebuiltKey(id, from: Array(verified.prefix(scheme.threshold)))
  }
}

// MARK: - Proving that one holds a share

extension PossessionProof {
  /// Proves possession of `share`. Throws ``ShamirError/foreignShare(index:)`` if the statement is about another index.
  /// A share that isn't the one Y_i commits to makes a proof that doesn't verify.
  public static func prove(
    _ share: borrowing KeyShare, _ statement: PossessionStatement
  ) throws(ShamirError) -> PossessionProof {
    let freshness = try sodium(SecretBytes(random: freshByteCount))
    return try prove(share, statement, freshness: freshness)
  }

  /// Throws ``ShamirError/proofRejected`` unless z1·G + z2·H = A + c·Y_i for exactly this statement.
  public func verify(_ statement: PossessionStatement) throws(ShamirError) {
    guard try holds(for: statement) else { throw .proofRejected }
  }

  /// A, z1, z2: 96 bytes.
  public func encoding() throws(WireError) -> [UInt8] { try encoded() }

  /// Reads 96 bytes; refuses a point that isn't canonical or is the identity, and scalars that aren't below ℓ.
  public init(encoding: [UInt8]) throws(WireError) { self = try Self.decode(encoding, limit: Self.byteCount) }
}

// MARK: - Dispersing a ciphertext

extension StripeEncoder {
  /// Writes the pieces of fragments 1 to n, one after the other, into `pieces`.
  ///
  /// `data` is the stripe's ciphertext of ``DispersalPlan/stripeDataByteCount(_:)`` bytes, `pieces` is n times
  /// ``DispersalPlan/pieceByteCount(_:)`` bytes; anything else is ``ShamirError/invalidStripe(_:)``.
  public func encode(stripe: UInt64, data: RawSpan, into pieces: inout MutableRawSpan) throws(ShamirError) {
    try pieces.withUnsafeMutableBytes { (pieces) throws(ShamirError) in
      try data.withUnsafeBytes { (data) throws(ShamirError) in try encode(stripe: stripe, data: data, into: pieces) }
    }
  }
}

extension StripeDecoder {
  /// Writes the pieces of fragments 1 to k, one after the other, into `data`: the stripe's ciphertext and, in the
  /// last stripe, the zeros behind it (take the first ``DispersalPlan/stripeDataByteCount(_:)`` bytes).
  ///
  /// `pieces` are k pieces one after the other, in the order of ``available``, each of
  /// ``DispersalPlan/pieceByteCount(_:)`` bytes, and `data` is as long; anything else is
  /// ``ShamirError/invalidStripe(_:)``.
  public func decode(stripe: UInt64, pieces: RawSpan, into data: inout MutableRawSpan) throws(ShamirError) {
    let count = plan.pieceByteCount(stripe)
    guard count > 0, pieces.byteCount == count * available.count else { throw .invalidStripe(stripe) }
    try data.withUnsafeMutableBytes { (data) throws(ShamirError) in
      try pieces.withUnsafeBytes { (pieces) throws(ShamirError) in
        let parts = available.indices.map {
          UnsafeRawBufferPointer(rebasing: pieces[($0 * count)..<(($0 + 1) * count)])
        }
        try decode(stripe: stripe, pieces: parts, into: data)
      }
    }
  }
}
