import LocalNames
import NIOCore
import PeerAuth
import Synchronization

/// Which connections are open, from where, and how far each has come in proving who is behind it.
///
/// A flood of strangers must not keep peers out. So a full house is no reason to refuse a newcomer: somebody who has
/// proved nothing goes instead. It is a connection from the address that has most of them, the one that has proved
/// least, and among those the oldest; some connections from where a peer has proved itself lately are spared as long as
/// there are others. Proven peers are never sent away.
///
/// A peer that turns hostile must not keep others out either. So only a few addresses of each are remembered, and only
/// a few connections from there are spared.
final class ConnectionRegister: Sendable {
  /// Peers of which it is remembered where they came from, and how many addresses of each.
  static let familiarPeers = 256
  static let addressesPerPeer = 4
  /// Connections of somebody unproven that are spared at an address from which a peer came.
  static let sparedLimit = 16

  private struct Connection {
    let source: [UInt8]
    var rank = Rank.stranger
    let close: @Sendable () -> Void
  }

  /// Connections from one place, in order of arrival.
  private struct Source {
    var count = 0
    /// Those that have not proved who they are: strangers, then callers.
    var unproven: [[UInt64]] = [[], []]

    var unprovenCount: Int { unproven[0].count + unproven[1].count }

    /// Who goes first: a stranger rather than a caller, and the older one. But somebody who has come after `recent` is
    /// no less than a caller: its first words may be on their way.
    func leastProven(_ recent: UInt64) -> (rank: Rank, id: UInt64)? {
      let strangers = unproven[Rank.stranger.rawValue]
      let callers = unproven[Rank.caller.rawValue]
      if let stranger = strangers.first, stranger <= recent { return (.stranger, stranger) }
      return [strangers.first, callers.first].compactMap(\.self).min().map { (Rank.caller, $0) }
    }
  }

  /// How far a connection has come, in numbers.
  private enum Rank: Int, Comparable {
    case stranger, caller, peer

    init(_ standing: PeerStanding) {
      switch standing {
      case .stranger: self = .stranger
      case .caller: self = .caller
      case .peer: self = .peer
      }
    }

    static func < (left: Rank, right: Rank) -> Bool { left.rawValue < right.rawValue }
  }

  /// Where a peer has proved itself lately, the last place last.
  private struct Home {
    var sources: [[UInt8]] = []
    var last: UInt64 = 0
  }

  private struct State {
    var connections: [UInt64: Connection] = [:]
    var sources: [[UInt8]: Source] = [:]
    var lastID: UInt64 = 0
    var homes: [CardKeys: Home] = [:]
    /// How many peers have proved themselves lately from there.
    var familiar: [[UInt8]: Int] = [:]
    /// Connections whose handlers have not let go of them, closed ones included; in all, and by address.
    var held = 0
    var heldBySource: [[UInt8]: Int] = [:]
  }

  private let limits: TCPListener.Limits
  /// So many that come after somebody make it a stranger like others if it has said nothing by then.
  private let grace: UInt64
  private let state = Mutex(State())

  init(_ limits: TCPListener.Limits) {
    self.limits = limits
    grace = UInt64(max(0, min(limits.perAddress, limits.total) / 4))
  }

  /// Connections open now.
  var total: Int { state.withLock { $0.connections.count } }

  /// Takes a connection in, and sends another one away if there is no room; nil if nobody may be sent away, or if so
  /// many closed ones still wait to be cleared up, for want of processor time, that there is no use in taking more.
  func admit(_ source: [UInt8], close: @escaping @Sendable () -> Void) -> Admission? {
    var sentAway: Connection?
    let id: UInt64? = state.withLock { state in
      let isFamiliar = state.familiar[source] != nil
      guard state.held < (isFamiliar ? 3 : 2) * limits.total,
        state.heldBySource[source, default: 0] < 2 * limits.perAddress
      else { return nil }
      if state.sources[source]?.count ?? 0 >= limits.perAddress {
        guard let victim = state.sources[source]?.leastProven(recent(state))?.id else { return nil }
        sentAway = Self.remove(victim, &state)
      } else if state.connections.count >= limits.total {
        guard let victim = victim(state) else { return nil }
        sentAway = Self.remove(victim, &state)
      }
      state.lastID += 1
      state.held += 1
      state.heldBySource[source, default: 0] += 1
      state.connections[state.lastID] = Connection(source: source, close: close)
      state.sources[source, default: Source()].count += 1
      state.sources[source]?.unproven[0].append(state.lastID)
      return state.lastID
    }
    sentAway?.close()
    return id.map { Admission(self, $0, source) }
  }

  /// Whether a peer has proved itself lately from this address.
  func isFamiliar(_ source: [UInt8]) -> Bool { state.withLock { $0.familiar[source] != nil } }

  func reached(_ standing: PeerStanding, _ id: UInt64) {
    let rank = Rank(standing)
    state.withLock { state in
      guard let connection = state.connections[id], connection.rank < rank else { return }
      let source = connection.source
      state.connections[id]?.rank = rank
      state.sources[source]?.unproven[connection.rank.rawValue].removeAll { $0 == id }
      guard case .peer(let keys) = standing else {
        state.sources[source]?.unproven[rank.rawValue].append(id)
        return
      }
      if limits.remembersPlaces { Self.remember(source, of: keys, at: id, &state) }
    }
  }

  private static func remember(_ source: [UInt8], of keys: CardKeys, at id: UInt64, _ state: inout State) {
    var home = state.homes[keys] ?? Home()
    home.last = max(home.last, id)
    if home.sources.contains(source) {
      home.sources.removeAll { $0 == source }
    } else {
      state.familiar[source, default: 0] += 1
    }
    home.sources.append(source)
    if home.sources.count > addressesPerPeer { forget([home.sources.removeFirst()], &state) }
    state.homes[keys] = home
    if state.homes.count > familiarPeers, let oldest = state.homes.min(by: { $0.value.last < $1.value.last }) {
      forget(oldest.value.sources, &state)
      state.homes[oldest.key] = nil
    }
  }

  private static func forget(_ sources: [[UInt8]], _ state: inout State) {
    for source in sources {
      let left = state.familiar[source, default: 1] - 1
      state.familiar[source] = left > 0 ? left : nil
    }
  }

  func leave(_ id: UInt64) { state.withLock { state in _ = Self.remove(id, &state) } }

  /// Nobody holds a connection that was admitted any more.
  func released(_ source: [UInt8]) {
    state.withLock { state in
      state.held -= 1
      let count = state.heldBySource[source, default: 0] - 1
      state.heldBySource[source] = count > 0 ? count : nil
    }
  }

  /// The last who has had its time to say something.
  private func recent(_ state: State) -> UInt64 { state.lastID > grace ? state.lastID - grace : 0 }

  private func victim(_ state: State) -> UInt64? {
    let recent = recent(state)
    var best: (key: (Int, Int, Rank, UInt64), id: UInt64)?
    for (address, source) in state.sources {
      guard let (rank, id) = source.leastProven(recent) else { continue }
      let isSpared = state.familiar[address] != nil && source.unprovenCount <= Self.sparedLimit
      let key = (isSpared ? 1 : 0, -source.unprovenCount, rank, id)
      if let best, best.key < key { continue }
      best = (key, id)
    }
    return best?.id
  }

  private static func remove(_ id: UInt64, _ state: inout State) -> Connection? {
    guard let connection = state.connections.removeValue(forKey: id) else { return nil }
    let source = connection.source
    state.sources[source]?.count -= 1
    if connection.rank != .peer {
      state.sources[source]?.unproven[connection.rank.rawValue].removeAll { $0 == id }
    }
    if state.sources[source]?.count == 0 { state.sources[source] = nil }
    return connection
  }

  /// An IPv4 address, or the first half of an IPv6 address: whoever has one of those has them all.
  static func source(of address: SocketAddress?) -> [UInt8] {
    switch address {
    case .v4(let address): withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
    case .v6(let address):
      withUnsafeBytes(of: address.address.sin6_addr) { bytes in
        // ::ffff:a.b.c.d is an IPv4 address on a socket for both.
        let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xff && bytes[11] == 0xff
        if isMapped { return Array(bytes[12...]) }
        // Who is one of those on a link isn't all of them.
        return LocalAddress.isOfOneLink(bytes) ? Array(bytes) : Array(bytes[..<8])
      }
    default: []
    }
  }
}

/// One admitted connection in the register; ends with the last who holds it.
final class Admission: Sendable {
  private let register: ConnectionRegister
  private let id: UInt64
  private let source: [UInt8]

  init(_ register: ConnectionRegister, _ id: UInt64, _ source: [UInt8]) {
    self.register = register
    self.id = id
    self.source = source
  }

  deinit {
    register.leave(id)
    register.released(source)
  }

  var isFamiliar: Bool { register.isFamiliar(source) }

  func leave() { register.leave(id) }

  func reached(_ standing: PeerStanding) { register.reached(standing, id) }
}
