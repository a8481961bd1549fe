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

  /// How sharing stands now.
  func report(_ id: [UInt8], leftOut: [String]) throws -> ShareReport {
    guard let record = try database.secret(id) else {
      throw VaultError(.notFound, "secret \(hexadecimal(id)) is gone")
    }
    let deaf = try holdersThatListenNowhere(record)
    let hasAddress = try !core.ownCard().addresses.isEmpty
    let isOwnAddressUnknown = record.ownIndex != nil && !hasAddress
    return ShareReport(
      id: hexadecimal(record.id), description: record.description, threshold: record.threshold,
      shareCount: record.shareCount, keepsOwnShare: record.ownIndex != nil,
      deliveries: try deliveries(of: record, names: directory.peerNames()), leftOut: leftOut, sourceRemoved: false,
      sourceRemovalFailure: nil, listensNowhere: deaf, isOwnAddressUnknown: isOwnAddressUnknown,
      areHoldersIntroduced: try areIntroduced(record))
  }

  /// Whether the cards of all holders go with the shares of a secret that was dealt here, everybody who has a share has taken them, and by
  /// them all but one at most can be called on: addresses that only this device knows, and its radio, are of no use to the others.
  private func areIntroduced(_ record: SecretRecord) throws -> Bool {
    guard record.origin == .dealt, introductions.usesIntroductions, try directory.header(of: record).labels != nil
    else { return false }
    // One that takes none gives nothing to the others.
    guard try database.areHoldersTold(ofSecret: record.id) else {
      return false
    }
    let holders = try introductions.knownHolders(of: record)
    return holders.count == record.shareCount && holders.allSatisfy { $0.handedOn != nil }
      && holders.count { $0.card?.addresses.isEmpty != false } <= 1
  }

  /// Names of peers that got, or are to get, a share of a secret that was dealt here, and for whom this device knows no place to call.
  func holdersThatListenNowhere(_ record: SecretRecord) throws -> [String] {
    guard record.origin == .dealt else { return [] }
    let entries = try database.deliveries(ofSecret: record.id)
    var names: [String] = []
    for entry in entries where entry.state != .cancelled {
      guard let peer = try database.peer(entry.entry.recipient) else {
        continue
      }
      if try directory.listensNowhere(peer) { names.append(peer.name) }
    }
    return names
  }
}
