import Sodium

/// Whom the daemon meets when. Pure: times come in, on a clock in milliseconds that never jumps.
///
/// - Who has parcels of this device's own to get is dialled at once when there is a new one, then after a minute, and twice as long each time it comes to
///   nothing, up to an hour. A peer that has called meanwhile, or is heard in the room again, is dialled at once, too, and before those that couldn't be
///   reached.
/// - Everybody else is dialled each quarter of an hour while there is something to be carried, and sooner when there is something new of this device's own,
///   or word of what has arrived.
/// - Whoever appears in the room is dialled at once, at most each two minutes.
/// - A few are met at a time; half of these places are for peers that have parcels of this device's own to get.
struct MeetingSchedule: Sendable {
  static let firstPause = 60_000.0
  static let longestPause = 3_600_000.0
  static let round = 900_000.0
  static let nearbyPause = 120_000.0
  /// Behind a meeting, when there is something new for carriers: what comes up together goes together.
  static let freshPause = 10_000.0
  /// Least milliseconds between two meetings with a peer for whatever reason.
  static let leastPause = 2_000.0
  /// Meetings that are under way at a time.
  static let atOnce = 4
  /// How many of them are only for peers that have something of this device's own to get: whoever is slow at carrying keeps nothing else waiting.
  static let keptForOwn = 2
  private static let limit = 4096

  /// What is known of one peer at some time.
  struct Situation: Hashable, Sendable {
    let peer: Digest
    /// Parcels that wait for it.
    var waiting: Set<[UInt8]> = []
    /// Whether some of them are this device's own.
    var hasOwn = false
    /// Own parcels that may be given to it as a carrier.
    var spreading: Set<[UInt8]> = []
    /// Whether it may be a carrier: there is something that could be given, or taken.
    var mayCarry = false
    /// Whether there are receipts that it hasn't been told.
    var hasNews = false
    /// Whether it was heard in the room just now.
    var isHeard = false
    /// Whether there is a way to dial it without hearing it.
    var hasAddress = false
    /// When it called last, and when it was met last; nil for never.
    var seenAt: Double?
    var metAt: Double?
  }

  private struct State: Sendable {
    var attemptedAt = -Double.infinity
    var failures = 0
    var tried: Set<[UInt8]> = []
    var spread: Set<[UInt8]> = []
    var wasHeard = false
    /// A part of the usual time by which it differs, so that not all come at once.
    var jitter = 0.0
  }

  private var states: [Digest: State] = [:]
  /// Who is being met, and whether for something of this device's own.
  private var running: [Digest: Bool] = [:]

  /// Who is to be met now, those first who have something to get; they count as being met until ``finished(_:_:waiting:at:)``.
  mutating func begin(_ situations: [Situation], at now: Double) -> [Digest] {
    if states.count > Self.limit { states = states.filter { running[$0.key] != nil } }
    var due: [(rank: Int, isDoubtful: Bool, last: Double, peer: Digest)] = []
    for situation in situations {
      let isNew = states[situation.peer] == nil
      var state = states[situation.peer] ?? State()
      if isNew { state.jitter = Double.random(in: -0.1...0.1) }
      if running[situation.peer] == nil, isDue(situation, state, at: now) {
        let hasCome = situation.isHeard || (situation.seenAt ?? -.infinity) > state.attemptedAt
        due.append(
          (
            situation.hasOwn ? 0 : situation.waiting.isEmpty ? 2 : 1, state.failures > 0 && !hasCome, state.attemptedAt,
            situation.peer
          ))
      }
      // Whoever went and comes again has appeared.
      if !situation.isHeard { state.wasHeard = false }
      states[situation.peer] = state
    }
    var chosen: [Digest] = []
    // Those that couldn't be reached come behind those that may be: each takes a place until its dial has failed.
    let order = due.sorted { one, other in
      (one.rank, one.isDoubtful ? 1 : 0, one.last) < (other.rank, other.isDoubtful ? 1 : 0, other.last)
    }
    for one in order {
      let isOwn = one.rank == 0
      guard running.count < Self.atOnce else { break }
      guard isOwn || running.values.count(where: { !$0 }) < Self.atOnce - Self.keptForOwn else { continue }
      chosen.append(one.peer)
      running[one.peer] = isOwn
      let situation = situations.first { $0.peer == one.peer }
      states[one.peer]?.attemptedAt = now
      states[one.peer]?.tried = situation?.waiting ?? []
      states[one.peer]?.spread = situation?.spreading ?? []
      states[one.peer]?.wasHeard = situation?.isHeard ?? false
      states[one.peer]?.jitter = Double.random(in: -0.1...0.1)
    }
    return chosen
  }

  /// The machine has other ways into the network than before: whoever has a parcel to get, or could carry one, may be reached by now.
  mutating func networkChanged() {
    for peer in states.keys {
      states[peer]?.failures = 0
      states[peer]?.tried = []
      states[peer]?.spread = []
    }
  }

  /// A meeting has ended; `isDone` says whether the peer was met and has got what waited for it.
  mutating func finished(_ peer: Digest, isDone: Bool) {
    running[peer] = nil
    let failures = states[peer]?.failures ?? 0
    states[peer]?.failures = isDone ? 0 : min(failures + 1, 16)
  }

  private func isDue(_ situation: Situation, _ state: State, at now: Double) -> Bool {
    let last = max(state.attemptedAt, situation.metAt ?? -Double.infinity)
    guard now - last >= Self.leastPause else { return false }
    guard situation.hasAddress || situation.isHeard else { return false }
    let hasReason = situation.mayCarry || situation.hasNews || !situation.waiting.isEmpty
    let pause = min(Self.firstPause * Double(1 << min(max(state.failures - 1, 0), 10)), Self.longestPause)
    // Who couldn't be reached and calls now can be.
    let hasCalled =
      state.failures > 0 && (situation.seenAt ?? -.infinity) > state.attemptedAt
      && now - state.attemptedAt >= Self.freshPause
    // An attempt that came to nothing doesn't count: who is heard now wasn't there then.
    let lastMet = state.failures > 0 ? situation.metAt ?? -.infinity : last
    if situation.isHeard, !state.wasHeard, hasReason, now - lastMet >= Self.nearbyPause,
      now - state.attemptedAt >= Self.freshPause
    {
      return true
    }
    if !situation.waiting.isEmpty {
      // What came up since may be delivered by a meeting that the peer began.
      if !situation.waiting.isSubset(of: state.tried) { return true }
      if hasCalled { return true }
      return now - state.attemptedAt >= pause * (1 + state.jitter)
    }
    guard hasReason else { return false }
    if hasCalled { return true }
    let isFresh = !situation.spreading.isSubset(of: state.spread)
    let usual =
      if isFresh, state.failures == 0 {
        Self.freshPause
      } else if isFresh || situation.hasNews || state.failures > 0 {
        min(pause, Self.round)
      } else { Self.round }
    return now - last >= usual * (1 + state.jitter)
  }
}
