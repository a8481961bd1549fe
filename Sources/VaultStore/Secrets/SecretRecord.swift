package import ShamirKit
package import Sodium

/// A secret that this device dealt or holds a share of: the signed header and what was read out of it.
package struct SecretRecord: Hashable, Sendable {
  package static let headerByteLimit = 65_536

  package enum Origin: String, Hashable, Sendable, NumberedWord { case dealt, held }

  package enum State: String, Hashable, Sendable, NumberedWord {
    /// Everything is as it should be.
    case active
    /// Something contradicts it (another header for the same id, inconsistent fragments).
    case disputed
  }

  /// 16 bytes.
  package let id: SecretID
  /// What requests name it by.
  package let askTag: Digest
  package let headerDigest: Digest
  /// The signed header, at most 64 KiB.
  package let header: [UInt8]
  package let origin: Origin
  /// The dealer's card digest.
  package let dealer: Digest
  /// The dealer's public description.
  package let description: String?
  /// What is inside, by the number in the header.
  package let kind: UInt8
  package let threshold: Int
  package let shareCount: Int
  package var ownIndex: Int?
  /// By the dealer's clock.
  package let createdAt: Int64
  /// By this device's clock.
  package let receivedAt: Int64
  package var state: State

  package init(
    id: SecretID, askTag: Digest, headerDigest: Digest, header: [UInt8], origin: Origin, dealer: Digest,
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
package struct FragmentRecord: Hashable, Sendable {
  package let secretID: SecretID
  /// The fragment's number, from 1.
  package let index: Int
  package let byteCount: Int64
  /// Bytes behind it in the file once it is complete.
  package let trailerByteCount: Int64
  /// Pieces known to be durable.
  package var pieces: Int
  /// Whether the file is whole and counts.
  package var isComplete: Bool
  /// When a partial fragment is thrown away; nil for a complete one.
  package var expiresAt: Int64?
  package let headerDigest: Digest
  /// The card digest of the peer it came or comes from; nil for own work.
  package let source: Digest?

  package init(
    completeOf secretID: SecretID, index: Int, byteCount: Int64, trailerByteCount: Int64, pieces: Int,
    headerDigest: Digest, source: Digest?
  ) {
    self.init(
      secretID: secretID, index: index, byteCount: byteCount, trailerByteCount: trailerByteCount, pieces: pieces,
      isComplete: true, expiresAt: nil, headerDigest: headerDigest, source: source)
  }

  package init(
    partialOf secretID: SecretID, index: Int, byteCount: Int64, trailerByteCount: Int64, expiresAt: Int64,
    headerDigest: Digest, source: Digest?
  ) {
    self.init(
      secretID: secretID, index: index, byteCount: byteCount, trailerByteCount: trailerByteCount, pieces: 0,
      isComplete: false, expiresAt: expiresAt, headerDigest: headerDigest, source: source)
  }

  init(
    secretID: SecretID, index: Int, byteCount: Int64, trailerByteCount: Int64, pieces: Int, isComplete: Bool,
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

  /// Whether these can be the lengths of a file's two parts.
  static func areLengths(_ byteCount: Int64, _ trailerByteCount: Int64) -> Bool {
    byteCount >= 0 && trailerByteCount >= 0 && !byteCount.addingReportingOverflow(trailerByteCount).overflow
  }
}
