import Foundation
import GRDB
package import ShamirKit
package import Sodium

/// All secrets as a list shows them, newest first: packed, because there may be hundreds of thousands.
package struct SecretListing: Sendable {
  package struct Line: Sendable {
    package let id: SecretID
    /// Place of the dealer's card digest in ``SecretListing/dealers``.
    package let dealer: Int
    /// Where the description stands in ``SecretListing/texts``, as UTF-8; nil if there is none.
    package let description: Range<Int>?
    /// What is inside, by the number in the header.
    package let kind: UInt8
    package let origin: SecretRecord.Origin
    package var threshold: UInt8
    package var shareCount: UInt8
    /// This device's share; 0 if it holds none.
    package let ownIndex: UInt8
    /// By the dealer's clock.
    package let createdAt: Int64
    package fileprivate(set) var delivered: Int32
    /// Deliveries that wait or were refused.
    package fileprivate(set) var waiting: Int32

    package init(
      id: SecretID, dealer: Int, description: Range<Int>?, kind: UInt8, origin: SecretRecord.Origin,
      threshold: UInt8, shareCount: UInt8, ownIndex: UInt8, createdAt: Int64, delivered: Int32 = 0, waiting: Int32 = 0
    ) {
      self.id = id
      self.dealer = dealer
      self.description = description
      self.kind = kind
      self.origin = origin
      self.threshold = threshold
      self.shareCount = shareCount
      self.ownIndex = ownIndex
      self.createdAt = createdAt
      self.delivered = delivered
      self.waiting = waiting
    }
  }

  package var lines: [Line] = []
  /// All descriptions, one behind the other.
  package var texts: [UInt8] = []
  package var dealers: [Digest] = []

  package init() {}

  package func description(of line: Line) -> String? {
    line.description.map { String(decoding: texts[$0], as: UTF8.self) }
  }
}

extension VaultDatabase {
  /// All of this stands in the index `secrets_listed`, in this order.
  static let listingQuery = """
    SELECT id, header_digest, dealer, description, kind, threshold, share_count, own_index, created_at, received_at,
      origin, state, mac
    FROM secrets ORDER BY received_at DESC, id
    """

  /// All secrets as a list shows them. The MAC of every row is checked, on all processors, while the next rows are read;
  /// headers are not read at all. Throws ``StoreError/damaged(_:)`` naming a row that doesn't verify.
  ///
  /// Without `verifying`, for callers that then read what they have found by ``secret(_:)``: one damaged row must not
  /// hide all others from them.
  package func listing(verifying: Bool = true) throws(StoreError) -> SecretListing {
    let (listing, damaged) = try listing(verifying: verifying, skipping: !verifying)
    if let damaged = damaged.first { throw .damaged("secret \(damaged)") }
    return listing
  }

  /// The same without the rows that don't verify, and the ids of those.
  package func soundListing() throws(StoreError) -> (listing: SecretListing, damaged: [SecretID]) {
    var (listing, damaged) = try listing(verifying: true, skipping: true)
    guard !damaged.isEmpty else { return (listing, []) }
    let ids = Set(damaged)
    listing.lines.removeAll { ids.contains($0.id) }
    return (listing, damaged)
  }

  private func listing(verifying: Bool, skipping: Bool) throws(StoreError) -> (SecretListing, [SecretID]) {
    let checks = verifying ? RowChecks(keys: keys) : nil
    let (listing, senseless) = try read { db in
      var scan = SecretScan(checks, skipping: skipping)
      try scan.run(try db.cachedStatement(sql: Self.listingQuery).sqliteStatement)
      try Self.addDeliveries(to: &scan.listing, db)
      return (scan.listing, scan.senseless)
    }
    guard let checks else { return (listing, []) }
    return (listing, senseless + checks.finish())
  }

  private static func addDeliveries(to listing: inout SecretListing, _ db: Database) throws {
    guard listing.lines.contains(where: { $0.origin == .dealt }) else { return }
    var counts: [Data: (delivered: Int32, waiting: Int32)] = [:]
    let rows = try Row.fetchCursor(
      db,
      sql: """
        SELECT secret_id, state, count(*) FROM outbox WHERE secret_id IS NOT NULL AND \(isShare)
        GROUP BY secret_id, state
        """)
    while let row = try rows.next() {
      guard let id: Data = row[0], let state: String = row[1], let count: Int = row[2] else { continue }
      switch OutboxRecord.State(rawValue: state) {
      case .delivered: counts[id, default: (0, 0)].delivered += Int32(clamping: count)
      case .waiting, .refused: counts[id, default: (0, 0)].waiting += Int32(clamping: count)
      case .cancelled, nil: break
      }
    }
    for position in listing.lines.indices where listing.lines[position].origin == .dealt {
      guard let count = counts[listing.lines[position].id.blob] else { continue }
      listing.lines[position].delivered = count.delivered
      listing.lines[position].waiting = count.waiting
    }
  }
}
