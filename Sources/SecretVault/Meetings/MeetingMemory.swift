import Courier
import Sodium
import Synchronization

/// What one process remembers of meetings: who is met just now, how much is being collected, and what was worth nothing.
final class MeetingMemory: Sendable {
  /// Most bytes of parcels that are in memory at a time, coming or going, of all meetings together.
  static let collectingLimit = 64 << 20
  /// Milliseconds for which a parcel that was worth nothing isn't asked for again.
  static let worthlessTime = 86_400_000.0
  /// The same for one for which there was no room.
  static let fullTime = 600_000.0
  private static let limit = 2048

  private struct Side: Hashable {
    let peer: Digest
    let isDialling: Bool
  }

  /// A parcel as it comes from somebody: another one's copy may be better.
  private struct Copy: Hashable {
    let id: ParcelKey
    let giver: Digest
  }

  private struct State {
    var sides: Set<Side> = []
    var collecting = 0
    var worthless: [Copy: Double] = [:]
    var seen: [Digest: Double] = [:]
    var met: [Digest: Double] = [:]
    var changes = 0
  }

  private let state = Mutex(State())

  /// Begins a meeting with a peer; nil if there is one already that the same side began. Both may dial in the same moment, so each may have one.
  func begin(with peer: Digest, isDialling: Bool) -> MeetingPlace? {
    let side = Side(peer: peer, isDialling: isDialling)
    guard state.withLock({ $0.sides.insert(side).inserted }) else { return nil }
    return MeetingPlace { [self] in state.withLock { _ = $0.sides.remove(side) } }
  }

  /// Room for a parcel of so many bytes, until the place is given up; nil if so much is being collected already.
  func room(for byteCount: Int) -> MeetingPlace? {
    let hasRoom = state.withLock { state in
      guard byteCount <= Self.collectingLimit - state.collecting else { return false }
      state.collecting += byteCount
      return true
    }
    guard hasRoom else { return nil }
    return MeetingPlace { [self] in state.withLock { $0.collecting -= byteCount } }
  }

  // MARK: - Parcels that are worth nothing

  /// Remembers for so many milliseconds that a peer's copy of a parcel isn't wanted.
  func refuse(_ id: ParcelKey, from giver: Digest, at now: Double, for time: Double) {
    state.withLock { state in
      if state.worthless.count >= Self.limit { state.worthless = state.worthless.filter { $0.value > now } }
      if state.worthless.count >= Self.limit { state.worthless.removeAll() }
      state.worthless[Copy(id: id, giver: giver)] = now + time
    }
  }

  /// Whether a peer's copy of a parcel isn't wanted at present.
  func isRefused(_ id: ParcelKey, from giver: Digest, at now: Double) -> Bool {
    state.withLock { $0.worthless[Copy(id: id, giver: giver)].map { $0 > now } ?? false }
  }

  // MARK: - Who is there

  /// Notes that a peer has called: it can be reached, perhaps.
  func noteSeen(_ peer: Digest, at now: Double) { note(\.seen, peer, now) }

  /// Notes that a meeting with a peer came to its end, and whether it has changed anything here.
  func noteMet(_ peer: Digest, at now: Double, hasChanged: Bool) {
    note(\.met, peer, now)
    if hasChanged { state.withLock { $0.changes &+= 1 } }
  }

  /// How many meetings have changed something.
  var changes: Int { state.withLock { $0.changes } }

  /// When a peer called last, on the clock that never jumps.
  func seen(_ peer: Digest) -> Double? { state.withLock { $0.seen[peer] } }

  /// When a peer was met last.
  func met(_ peer: Digest) -> Double? { state.withLock { $0.met[peer] } }

  private func note(_ table: WritableKeyPath<State, [Digest: Double]>, _ peer: Digest, _ now: Double) {
    state.withLock { state in
      if state[keyPath: table].count >= Self.limit, state[keyPath: table][peer] == nil {
        state[keyPath: table].removeAll()
      }
      state[keyPath: table][peer] = now
    }
  }
}

/// Something that is taken until nobody refers to it any more: whatever ends a session gives it up.
final class MeetingPlace: Sendable {
  private let leave: @Sendable () -> Void

  init(_ leave: @escaping @Sendable () -> Void) { self.leave = leave }

  deinit { leave() }
}
