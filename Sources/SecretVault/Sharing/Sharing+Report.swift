import Sodium
import VaultStore

extension Sharing {
  /// How sharing a secret stands now.
  package func sharing(_ id: String, leftOut: [String]) throws -> ShareReport {
    try report(bytes(hexadecimal: id) ?? [], leftOut: leftOut)
  }

  /// A report with its deliveries as they are now.
  package func refreshed(_ report: ShareReport) throws -> ShareReport {
    let now = try sharing(report.id, leftOut: report.leftOut)
    return ShareReport(
      id: now.id, description: now.description, threshold: now.threshold, shareCount: now.shareCount,
      keepsOwnShare: now.keepsOwnShare, deliveries: now.deliveries, leftOut: report.leftOut,
      sourceRemoved: report.sourceRemoved, sourceRemovalFailure: report.sourceRemovalFailure,
      listensNowhere: now.listensNowhere, isOwnAddressUnknown: now.isOwnAddressUnknown,
      areHoldersIntroduced: now.areHoldersIntroduced)
  }

  /// The deliveries of a dealt secret, in order of index.
  func deliveries(of record: SecretRecord, names: [Digest: String]) throws -> [Delivery] {
    guard record.origin == .dealt else { return [] }
    let ways = try post.parcelWays()
    return try database.deliveries(ofSecret: record.id).map {
      entry in
      let state: Delivery.State =
        switch entry.state {
        // The first attempt may just be under way, or may have ended with its program.
        case .waiting: entry.attempts > 0 && entry.lastError != nil ? .unreachable : .waiting
        case .delivered: .delivered
        case .refused: .refused
        case .cancelled: .cancelled
        }
      let isTooLarge = state == .unreachable ? try post.isTooLargeForParcels(entry) : false
      let reason = isTooLarge ? entry.lastError.map { $0 + Post.tooLargeForParcels } : entry.lastError
      let isOpen = entry.state == .waiting
      return Delivery(
        peer: names[entry.entry.recipient] ?? "a former peer", index: entry.entry.index ?? 0, state: state,
        reason: entry.state == .delivered ? nil : reason, onItsWay: isOpen ? ways.deliveries[entry.id]?.way : nil,
        probe: isOpen ? ways.probes[entry.entry.recipient] : nil)
    }
  }
}
