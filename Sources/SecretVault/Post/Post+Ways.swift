import Sodium
import VaultProtocol
import VaultStore

/// By which ways this device's own parcels may go.
extension Post {
  static let ownDirections: [ParcelRecord.Direction] = [.receipt, .answer, .message, .request]

  /// The ways by which something new may go.
  func usualWays(pigeonsOnly: Bool = false) -> ParcelRecord.Ways {
    pigeonsOnly || accounts.leavesServersOut() ? .init(Way.allCases.filter { !$0.usesServers }) : .all
  }

  /// Own parcels that are on their way.
  func ownParcels() throws -> [ParcelRecord] {
    var all: [ParcelRecord] = []
    for direction in Self.ownDirections where try database.hasParcels([.waiting, .posted], direction: direction) {
      all += try database.parcels(direction, [.waiting, .posted])
    }
    return all
  }

  /// The address under which this device takes parcels now, for those whom it writes to.
  func ownAddress() throws -> String? {
    try accounts.currentAccountAddress().flatMap { $0.utf8.count <= MessageContent.addressByteLimit ? $0 : nil }
  }
}

/// Looks up, once for each peer, by which servers it can be reached.
final class WayDirectory {
  private let room: Post
  private var known: [Digest: Set<Way>] = [:]
  private var isLoggedIn: Bool?

  init(_ room: Post) { self.room = room }

  /// Ways with servers by which a peer can be reached, as far as is known here.
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

  /// This device is logged in somewhere, and the peer has an address.
  private func hasAccount(_ peer: Digest) throws -> Bool {
    let isOn: Bool
    if let isLoggedIn { isOn = isLoggedIn } else { isOn = try room.accounts.currentAccountAddress() != nil }
    isLoggedIn = isOn
    guard isOn else { return false }
    let address = try room.database.peerAddress(peer)
    return address.map(Accounts.isAddress) ?? false
  }
}
