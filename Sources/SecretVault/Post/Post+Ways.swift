import Sodium
import VaultProtocol
import VaultStore

/// Own parcels, and the ways by which they may go.
extension Post {
  static let ownDirections: [ParcelRecord.Direction] = [.receipt, .answer, .message, .change, .request]

  /// Ways for something new.
  func usualWays(pigeonsOnly: Bool = false) -> ParcelRecord.Ways {
    pigeonsOnly || accounts.leavesServersOut() ? .init(Way.allCases.filter { !$0.usesServers }) : .all
  }

  /// Own parcels that are on their way.
  func ownParcels() throws -> [ParcelRecord] {
    try Self.ownDirections.flatMap { try parcels($0, [.waiting, .posted]) }
  }

  /// Reads no row if there are none: that is cheaper.
  func parcels(
    _ direction: ParcelRecord.Direction, _ states: Set<ParcelRecord.State>
  ) throws(StoreError) -> [ParcelRecord] {
    try database.hasParcels(states, direction: direction) ? try database.parcels(direction, states) : []
  }

  /// The address of the account in use, for messages to carry.
  func ownAddress() throws -> String? {
    try accounts.currentAccountAddress().flatMap { $0.utf8.count <= MessageContent.addressByteLimit ? $0 : nil }
  }
}

/// Looks up, once for each peer, by which ways with servers it can be reached.
final class WayDirectory {
  private let room: Post
  private var known: [Digest: Set<Way>] = [:]
  private var isLoggedIn: Bool?

  init(_ room: Post) { self.room = room }

  func reach(_ peer: Digest) throws -> Set<Way> {
    if let known = known[peer] { return known }
    let reach = Set(try Way.allCases.filter { try leads($0, to: peer) })
    known[peer] = reach
    return reach
  }

  private func leads(_ way: Way, to peer: Digest) throws -> Bool {
    switch way {
    case .session, .carriers: false
    case .account: try hasAccount(peer)
    case .group: try room.mayHaveMailbox(peer)
    }
  }

  private func hasAccount(_ peer: Digest) throws -> Bool {
    let isOn = try isLoggedIn ?? (room.accounts.currentAccountAddress() != nil)
    isLoggedIn = isOn
    guard isOn, let address = try room.database.peerAddress(peer) else { return false }
    return Accounts.isAddress(address)
  }
}
