public import Sodium

/// How the holders of one sharing hand its secret on to the holders of another, while nobody ever has it: verifiable
/// secret redistribution (Desmedt, Jajodia, "Redistributing secret shares to new access structures and its
/// applications", 1997; Wong, Wang, Wing, "Verifiable secret redistribution for archive systems", 2002), with
/// Pedersen's commitments.
///
/// Exactly t old holders deal their shares anew: holder j draws F_j and G_j of degree t'−1 with the constants f(j) and
/// g(j), gives each new holder i the *subshare* (F_j(i), G_j(i)), and shows D_{j,1} … D_{j,t'−1}. D_{j,0} is Y_j of the
/// old sharing, so that nobody can deal anything but its share. New shares are f'(i) = Σ λ_j·F_j(i) and g'(i) = Σ
/// λ_j·G_j(i), and the new commitments C'_0 = C_0 and C'_m = Σ λ_j·D_{j,m}.
///
/// The points are exactly as many as the new scheme needs: with more of them a dealer would raise the threshold unseen.
public struct Redistribution: Sendable {
  public let scheme: ThresholdScheme
  /// Of the new sharing.
  public let commitments: Commitments
  /// Who dealt, ascending.
  public let dealers: [UInt8]
  let weights: [PublicScalar]
  private let dealings: [Commitments]

  /// `points` are D_1 … D_{t'−1} of each dealer, by its index in the old sharing.
  ///
  /// Throws ``ShamirError/tooFewShares(have:need:)`` unless there are exactly as many dealers as the old threshold,
  /// ``ShamirError/foreignShare(index:)`` for one with index 0, and ``ShamirError/inconsistentCommitments`` if somebody
  /// has another number of points than t'−1, or a point, or a sum of them, is the identity.
  public init(
    of parent: Commitments, to scheme: ThresholdScheme, points: [UInt8: [RistrettoPoint]]
  ) throws(ShamirError) {
    guard points.count == parent.points.count else {
      throw .tooFewShares(have: points.count, need: parent.points.count)
    }
    let sorted = points.sorted { $0.key < $1.key }
    var dealings: [Commitments] = []
    for (dealer, points) in sorted {
      guard points.count == scheme.threshold - 1 else { throw .inconsistentCommitments }
      dealings.append(try Commitments(points: [parent.evaluation(at: dealer)] + points))
    }
    dealers = sorted.map(\.key)
    weights = try sodium(Polynomial.lagrangeAtZero(sorted.map(\.key)))
    var sums = [parent.points[0]]
    for degree in 1..<scheme.threshold {
      var sum = RistrettoPoint.identity
      for (weight, dealing) in zip(weights, dealings) {
        sum = try sodium(sum.adding(weight.times(dealing.points[degree])))
      }
      sums.append(sum)
    }
    commitments = try Commitments(points: sums)
    self.scheme = scheme
    self.dealings = dealings
  }

  /// What a dealer has committed itself to: its share, and its points.
  func dealing(of dealer: UInt8) throws(ShamirError) -> (place: Int, commitments: Commitments) {
    guard let place = dealers.firstIndex(of: dealer) else { throw .foreignShare(index: dealer) }
    return (place, dealings[place])
  }
}

/// A new holder's subshares, added up as they come: its new share once all are here.
public struct ShareTakeover: ~Copyable, Sendable {
  public let redistribution: Redistribution
  /// Of the new share.
  public let index: UInt8
  /// Dealers whose subshares are still to come, ascending.
  public private(set) var missing: [UInt8]
  private var sum: SecretBytes

  public init(_ redistribution: Redistribution, index: UInt8) throws(ShamirError) {
    try redistribution.scheme.check(index: index)
    sum = try sodium(SecretBytes(zeros: KeyShare.byteCount))
    missing = redistribution.dealers
    self.redistribution = redistribution
    self.index = index
  }

  /// Takes what a dealer has dealt to this index. Throws ``ShamirError/invalidShares(indices:)`` naming the *dealer* if
  /// it isn't what its points and its share in the old sharing say, and ``ShamirError/duplicateShare(index:)`` if it is
  /// here already; nothing is changed then.
  public mutating func add(_ subshare: borrowing KeyShare, from dealer: UInt8) throws(ShamirError) {
    let (place, commitments) = try redistribution.dealing(of: dealer)
    guard missing.contains(dealer) else { throw .duplicateShare(index: dealer) }
    guard subshare.index == index, try subshare.evaluation() == commitments.evaluation(at: index) else {
      throw .invalidShares(indices: [dealer])
    }
    let weight = redistribution.weights[place].bytes
    sum.withUnsafeMutableBytes { sum in
      subshare.bytes.withUnsafeBytes { subshare in
        for half in [0, RistrettoScalar.byteCount] {
          RistrettoScalar.multiplyAdd(subshare.octets + half, weight, addingTo: sum.octets + half)
        }
      }
    }
    missing.removeAll { $0 == dealer }
  }

  /// The new share. Throws ``ShamirError/tooFewShares(have:need:)`` while subshares are missing.
  public consuming func share() throws(ShamirError) -> KeyShare {
    let need = redistribution.dealers.count
    guard missing.isEmpty else { throw .tooFewShares(have: need - missing.count, need: need) }
    let share = try KeyShare(index: index, bytes: sum)
    try share.verify(against: redistribution.commitments)
    return share
  }
}

extension Dealing {
  /// A holder's dealing of its own share to the holders of a new sharing; its ``commitments`` without the first are the
  /// points that it shows, and ``share(_:)`` the subshares. Never its ``fileKey(for:)``.
  public static func again(_ share: borrowing KeyShare, to scheme: ThresholdScheme) throws(ShamirError) -> Dealing {
    let wide = try sodium(SecretBytes(random: wideByteCount(of: scheme)))
    return try Dealing(scheme, dealing: share, wideCoefficients: wide)
  }
}
