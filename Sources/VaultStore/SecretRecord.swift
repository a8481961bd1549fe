public import Sodium

/// A secret that this device dealt or holds a share of: the signed header and what was read out of it.
public struct SecretRecord: Hashable, Sendable {
  /// Bytes of a secret's id.
  public static let idByteCount = 16
  /// Most bytes of a header.
  public static let headerByteLimit = 65_536

  /// Where the secret came from.
  public enum Origin: String, Hashable, Sendable { case dealt, held }

  /// What the caller may do with it.
  public enum State: String, Hashable, Sendable {
    /// Everything is as it should be.
    case active
    /// Something contradicts it (another header for the same id, inconsistent fragments).
    case disputed
  }

  /// 16 bytes.
  public let id: [UInt8]
  /// What requests name it by.
  public let askTag: Digest
  /// Digest of the header.
  public let headerDigest: Digest
  /// The signed header, at most 64 KiB.
  public let header: [UInt8]
  /// Where it came from.
  public let origin: Origin
  /// The dealer's card digest.
  public let dealer: Digest
  /// The dealer's public description.
  public let description: String?
  /// What is inside, by the number in the header.
  public let kind: UInt8
  /// Shares needed.
  public let threshold: Int
  /// Shares dealt.
  public let shareCount: Int
  /// This device's share, if it holds one.
  public var ownIndex: Int?
  /// By the dealer's clock.
  public let createdAt: Int64
  /// By this device's clock.
  public let receivedAt: Int64
  /// What the caller may do with it.
  public var state: State

  /// A record from its parts.
  public init(
    id: [UInt8], askTag: Digest, headerDigest: Digest, header: [UInt8], origin: Origin, dealer: Digest,
    description: String?, kind: UInt8, threshold: Int, shareCount: Int, ownIndex: Int?, createdAt: Int64,
    receivedAt: Int64, state: State = .active
  ) {
    self.id = id
    self.askTag = askTag
    self.headerDigest = headerDigest
    self.header = header
    self.origin = origin
    self.dealer = dealer
    self.description = description
    self.kind = kind
    self.threshold = threshold
    self.shareCount = shareCount
    self.ownIndex = ownIndex
    self.createdAt = createdAt
    self.receivedAt = receivedAt
    self.state = state
  }
}

/// A fragment file and how much of it is there.
public struct FragmentRecord: Hashable, Sendable {
  /// The secret's id.
  public let secretID: [UInt8]
  /// The fragment's number, from 1.
  public let index: Int
  /// Bytes of the whole fragment.
  public let byteCount: Int64
  /// Bytes behind it in the file once it is complete.
  public let trailerByteCount: Int64
  /// Pieces known to be durable.
  public var pieces: Int
  /// Whether the file is whole and counts.
  public var isComplete: Bool
  /// When a partial fragment is thrown away; nil for a complete one.
  public var expiresAt: Int64?
  /// Digest of the header that it belongs to.
  public let headerDigest: Digest
  /// The card digest of the peer it came or comes from; nil for own work.
  public let source: Digest?

  /// A complete fragment.
  public init(
    completeOf secretID: [UInt8], index: Int, byteCount: Int64, trailerByteCount: Int64, pieces: Int,
    headerDigest: Digest, source: Digest?
  ) {
    self.init(
      secretID: secretID, index: index, byteCount: byteCount, trailerByteCount: trailerByteCount, pieces: pieces,
      isComplete: true, expiresAt: nil, headerDigest: headerDigest, source: source)
  }

  /// A fragment that is about to arrive.
  public init(
    partialOf secretID: [UInt8], index: Int, byteCount: Int64, trailerByteCount: Int64, expiresAt: Int64,
    headerDigest: Digest, source: Digest?
  ) {
    self.init(
      secretID: secretID, index: index, byteCount: byteCount, trailerByteCount: trailerByteCount, pieces: 0,
      isComplete: false, expiresAt: expiresAt, headerDigest: headerDigest, source: source)
  }

  init(
    secretID: [UInt8], index: Int, byteCount: Int64, trailerByteCount: Int64, pieces: Int, isComplete: Bool,
    expiresAt: Int64?, headerDigest: Digest, source: Digest?
  ) {
    self.secretID = secretID
    self.index = index
    self.byteCount = byteCount
    self.trailerByteCount = trailerByteCount
    self.pieces = pieces
    self.isComplete = isComplete
    self.expiresAt = expiresAt
    self.headerDigest = headerDigest
    self.source = source
  }
}
