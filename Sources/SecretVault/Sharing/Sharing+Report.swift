import ShamirKit
import Sodium
import VaultStore

extension Sharing {
  package func sharing(_ id: String, leftOut: [String]) throws -> ShareReport {
    guard let secret = SecretID(named: id) else { throw VaultError(.notFound, "secret \(id) is gone") }
    return try report(secret, leftOut: leftOut)
  }

  /// With the deliveries as they are now.
  package func refreshed(_ report: ShareReport) throws -> ShareReport {
    var now = try sharing(report.id, leftOut: report.leftOut)
    now.sourceRemoved = report.sourceRemoved
    now.sourceRemovalFailure = report.sourceRemovalFailure
    return now
  }

  /// The deliveries of a dealt secret, in order of index.
  func deliveries(of record: SecretRecord, names: [Digest: String]) throws -> [Delivery] {
    guard record.origin == .dealt else { return [] }
    let ways = try post.parcelWays()
    return try database.deliveries(ofSecret: record.id).map { entry in
      let state: Delivery.State =
        switch entry.state {
        // The first attempt may be under way, or have ended with its program.
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

  func report(_ id: SecretID, leftOut: [String]) throws -> ShareReport {
    guard let record = try database.secret(id) else {
      throw VaultError(.notFound, "secret \(id) is gone")
    }
    let deaf = try holdersThatListenNowhere(record)
    let hasAddress = try !core.ownCard().addresses.isEmpty
    let isOwnAddressUnknown = record.ownIndex != nil && !hasAddress && !core.usesLocalNetwork
    let changed = try circles.changed(record)
    var report = ShareReport(
      id: record.id.description, description: record.description,
      threshold: changed?.epoch.scheme.threshold ?? record.threshold,
      shareCount: changed?.holders.count ?? record.shareCount, keepsOwnShare: record.ownIndex != nil,
      deliveries: try deliveries(of: record, names: directory.peerNames()), leftOut: leftOut, sourceRemoved: false,
      listensNowhere: deaf, isOwnAddressUnknown: isOwnAddressUnknown, areHoldersIntroduced: try areIntroduced(record))
    if let changed { report.ready = try circles.circle(of: record).ready(in: changed.epoch.digest).count }
    return report
  }

  /// Whether all holders have taken one another's cards, and by these all but one at most can be called on: addresses that only this device
  /// knows, and its radio, are of no use to the others.
  private func areIntroduced(_ record: SecretRecord) throws -> Bool {
    guard record.origin == .dealt, introductions.usesIntroductions, try directory.header(of: record).labels != nil
    else { return false }
    // One that takes none gives nothing to the others.
    guard try database.areHoldersTold(ofSecret: record.id) else { return false }
    let now = try circles.changed(record)?.holders.values.map(\.self)
    let holders = try introductions.knownHolders(of: record).filter { now?.contains($0.digest) != false }
    return holders.count == now?.count ?? record.shareCount && holders.allSatisfy { $0.handedOn != nil }
      && holders.count { $0.card?.addresses.isEmpty != false } <= 1
  }

  /// Names of the holders of a dealt secret for whom this device knows no address.
  func holdersThatListenNowhere(_ record: SecretRecord) throws -> [String] {
    guard record.origin == .dealt else { return [] }
    let holders =
      try circles.changed(record)?.holders.sorted { $0.key < $1.key }.map(\.value)
      ?? database.deliveries(ofSecret: record.id).filter { $0.state != .cancelled }.map(\.entry.recipient)
    var names: [String] = []
    for holder in holders {
      guard let peer = try database.peer(holder) else { continue }
      if try directory.listensNowhere(peer) { names.append(peer.name) }
    }
    return names
  }
}
