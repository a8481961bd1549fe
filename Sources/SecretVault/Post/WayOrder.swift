import VaultStore

/// Which way an own parcel goes next. Sessions always do. The other ways take turns, carriers last: each waits until the ways before it that
/// may bring the parcel have had their time. A receipt ends all of it.
struct WayOrder {
  let record: ParcelRecord
  /// Ways with servers by which the peer can be reached, as far as is known here.
  let reach: Set<Way>
  let now: Int64

  /// Whether it is still to be brought to its peer.
  static func isUnderWay(_ record: ParcelRecord, at now: Int64) -> Bool {
    record.direction != .received && (record.state == .waiting || record.state == .posted) && record.expiresAt > now
      && !record.ways.isEmpty
  }

  func isTurn(of way: Way) -> Bool {
    guard Self.isUnderWay(record, at: now), record.ways.contains(way) else { return false }
    return switch way {
    case .session: true
    case .account: reach.contains(.account) && isAccountDue
    case .group: !record.group.isEmpty || mayGo(by: way)
    case .carriers: mayGo(by: way)
    }
  }

  private func mayGo(by way: Way) -> Bool {
    isOverdue || !Way.allCases.prefix { $0 != way }.contains { record.ways.contains($0) && reach.contains($0) }
  }

  /// The clock may have been set back.
  private var isOverdue: Bool { !(0..<ParcelTimes.patience).contains(now - record.createdAt) }

  /// At once, then after half a minute, and each time twice as long as before; receipts once.
  private var isAccountDue: Bool {
    guard let last = record.handedOver[.account] else { return true }
    guard record.direction != .receipt else { return false }
    return !(0..<max(ParcelTimes.accountPatience, last - record.createdAt)).contains(now - last)
  }
}

extension ParcelRecord {
  /// Ways by which servers have it; else `carriers`, if these may get it.
  var triedRoutes: [String] {
    let servers = Way.allCases.filter { handedOver[$0] != nil }
    if servers.isEmpty, ways.contains(.carriers) { return [Way.carriers.name] }
    return servers.map(\.name)
  }
}
