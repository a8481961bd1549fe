/// How many shares there are and how many rebuild the secret.
public struct ThresholdScheme: Hashable, Sendable {
  /// Accepted numbers of shares, and accepted thresholds. With a threshold of 1 everybody would have the key.
  public static let acceptedCounts = 2...255

  /// Shares that are needed.
  public let threshold: Int
  /// Shares that are dealt, with the indices 1 to this.
  public let shareCount: Int

  /// Throws ``ShamirError/invalidScheme`` unless 2 ≤ threshold ≤ shareCount ≤ 255.
  public init(threshold: Int, shareCount: Int) throws(ShamirError) {
    guard Self.acceptedCounts.contains(threshold), Self.acceptedCounts.contains(shareCount), threshold <= shareCount
    else { throw .invalidScheme }
    self.threshold = threshold
    self.shareCount = shareCount
  }

  /// Throws ``ShamirError/foreignShare(index:)`` unless a share of this scheme has this index.
  func check(index: UInt8) throws(ShamirError) {
    guard index >= 1, Int(index) <= shareCount else { throw .foreignShare(index: index) }
  }
}
