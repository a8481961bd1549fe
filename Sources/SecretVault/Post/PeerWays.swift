import VaultStore

/// By which servers a peer can be reached, as far as is known here.
struct PeerWays: Hashable, Sendable {
  /// This device is logged in somewhere, and the peer has an address.
  let hasAccount: Bool
  /// The peer takes parcels in a group.
  let hasMailbox: Bool
}

/// The order of ways for a parcel of this device's own: a session whenever there is one; an account and then a group's servers; carriers at once
/// only where there is no server, and else, like the group, once the ways before have had their time. A receipt ends all of it.
struct WayOrder {
  let record: ParcelRecord
  let peer: PeerWays
  let now: Int64

  /// Whether it is still to be brought to its peer.
  static func isUnderWay(_ record: ParcelRecord, at now: Int64) -> Bool {
    record.direction != .received && (record.state == .waiting || record.state == .posted) && record.expiresAt > now
      && !record.ways.isEmpty
  }

  /// Whether it is this way's turn.
  func isTurn(of way: ParcelRecord.Ways) -> Bool {
    guard Self.isUnderWay(record, at: now), record.ways.contains(way) else { return false }
    return switch way {
    case .session: true
    case .account: peer.hasAccount && isAccountDue
    case .group: !record.group.isEmpty || !usesAccount || isOverdue
    case .carriers: (!usesAccount && !usesGroup) || isOverdue
    default: false
    }
  }

  private var usesAccount: Bool { record.ways.contains(.account) && peer.hasAccount }
  private var usesGroup: Bool { record.ways.contains(.group) && peer.hasMailbox }

  /// By a clock that may have been set back.
  private var isOverdue: Bool { !(0..<ParcelTimes.patience).contains(now - record.createdAt) }

  /// At once, then after half a minute, and each time twice as long as before; receipts once.
  private var isAccountDue: Bool {
    guard record.accountAt > 0 else { return true }
    guard record.direction != .receipt else { return false }
    let pause = max(ParcelTimes.accountPatience, record.accountAt - record.createdAt)
    return !(0..<pause).contains(now - record.accountAt)
  }
}
