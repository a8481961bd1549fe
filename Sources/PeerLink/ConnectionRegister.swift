import NIOCore
import PeerAuth
import Synchronization

/// Which connections are open, from where, and how far each has come in proving who is behind it.
///
/// A flood of strangers must not keep peers out. So a full house is no reason to refuse a newcomer: somebody who has proved
/// nothing goes instead. It is a connection from the address that has most of them, the one that has proved least, and among
/// those the oldest; an address from which a peer has proved itself lately is spared as long as there are others.
/// Proven peers are never sent away.
final class ConnectionRegister: Sendable {
  /// Addresses that are remembered because a peer came from there.
  static let familiarLimit = 1024

  private struct Connection {
    let source: [UInt8]
    var standing = PeerStanding.stranger
    let close: @Sendable () -> Void
  }

  /// Connections from one place, in order of arrival.
  private struct Source {
    var count = 0
    /// Those that have not proved who they are: strangers, then callers.
    var unproven: [[UInt64]] = [[], []]

    var unprovenCount: Int { unproven[0].count + unproven[1].count }
    /// Who goes first.
    var leastProven: (standing: Int, id: UInt64)? {
      for standing in unproven.indices { if let id = unproven[standing].first { return (standing, id) } }
      return nil
    }
  }

  private struct State {
    var connections: [UInt64: Connection] = [:]
    var sources: [[UInt8]: Source] = [:]
    var lastID: UInt64 = 0
    /// When a peer last proved itself from there, as a connection's number.
    var familiar: [[UInt8]: UInt64] = [:]
    /// Connections whose handlers have not let go of them, closed ones included; in all, and by address.
    var held = 0
    var heldBySource: [[UInt8]: Int] = [:]
  }

  private let limits: TCPListener.Limits
  private let state = Mutex(State())

  init(_ limits: TCPListener.Limits) { self.limits = limits }

  /// Connections open now.
  var total: Int { state.withLock { $0.connections.count } }

  /// Takes a connection in, and sends another one away if there is no room; nil if nobody may be sent away, or if so many
  /// closed ones still wait to be cleared up, for want of processor time, that there is no use in taking more.
  func admit(_ source: [UInt8], close: @escaping @Sendable () -> Void) -> Admission? {
    var sentAway: Connection?
    let id: UInt64? = state.withLock { state in
      let isFamiliar = state.familiar[source] != nil
      guard state.held < (isFamiliar ? 3 : 2) * limits.total,
        state.heldBySource[source, default: 0] < 2 * limits.perAddress
      else { return nil }
      if state.sources[source]?.count ?? 0 >= limits.perAddress {
        guard let victim = state.sources[source]?.leastProven?.id else { return nil }
        sentAway = Self.remove(victim, &state)
      } else if state.connections.count >= limits.total {
        guard let victim = Self.victim(state) else { return nil }
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

  /// A connection has come further.
  func reached(_ standing: PeerStanding, _ id: UInt64) {
    state.withLock { state in
      guard let connection = state.connections[id], connection.standing < standing else { return }
      let source = connection.source
      state.connections[id]?.standing = standing
      state.sources[source]?.unproven[connection.standing.rawValue].removeAll { $0 == id }
      guard standing == .peer else {
        state.sources[source]?.unproven[standing.rawValue].append(id)
        return
      }
      state.familiar[source] = id
      if state.familiar.count > Self.familiarLimit, let oldest = state.familiar.min(by: { $0.value < $1.value }) {
        state.familiar[oldest.key] = nil
      }
    }
  }

  /// A connection has ended.
  func leave(_ id: UInt64) { state.withLock { state in _ = Self.remove(id, &state) } }

  /// Nobody holds a connection that was admitted any more.
  func released(_ source: [UInt8]) {
    state.withLock { state in
      state.held -= 1
      let count = state.heldBySource[source, default: 0] - 1
      state.heldBySource[source] = count > 0 ? count : nil
    }
  }

  private static func victim(_ state: State) -> UInt64? {
    var best: (key: (Int, Int, Int, UInt64), id: UInt64)?
    for (address, source) in state.sources {
      guard let (standing, id) = source.leastProven else { continue }
      let key = (state.familiar[address] == nil ? 0 : 1, -source.unprovenCount, standing, id)
      if let best, best.key < key { continue }
      best = (key, id)
    }
    return best?.id
  }

  private static func remove(_ id: UInt64, _ state: inout State) -> Connection? {
    guard let connection = state.connections.removeValue(forKey: id) else { return nil }
    let source = connection.source
    state.sources[source]?.count -= 1
    if connection.standing != .peer {
      state.sources[source]?.unproven[connection.standing.rawValue].removeAll { $0 == id }
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
        return isMapped ? Array(bytes[12...]) : Array(bytes[..<8])
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

  /// Whether a peer has proved itself lately from the same address.
  var isFamiliar: Bool { register.isFamiliar(source) }

  /// The connection has ended.
  func leave() { register.leave(id) }

  func reached(_ standing: PeerStanding) { register.reached(standing, id) }
}
