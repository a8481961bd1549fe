import Sodium

/// Whom the daemon meets when. Pure; times are in milliseconds on a clock that never jumps.
///
/// - A peer for which own parcels wait is dialled at once for a new one, then after a minute, doubled after each failure, up to an hour. One that
///   has called meanwhile, or is heard in the room again, is dialled at once, and before those that couldn't be reached.
/// - Others are dialled each quarter of an hour while there is something to carry, sooner when there are new own parcels or receipts.
/// - Whoever appears in the room is dialled at once, at most each two minutes.
/// - A few are met at a time; half of the places are kept for peers that get own parcels.
struct MeetingSchedule: Sendable {
  static let firstPause = 60_000.0
  static let longestPause = 3_600_000.0
  static let round = 900_000.0
  static let nearbyPause = 120_000.0
  /// After a meeting, when there is something new for carriers: what comes up together goes together.
  static let freshPause = 10_000.0
  /// Least time between two meetings with a peer for whatever reason.
  static let leastPause = 2_000.0
  /// Meetings that are under way at a time.
  static let atOnce = 4
  /// How many of them are kept for peers that get own parcels: slow carriers keep nothing else waiting.
  static let keptForOwn = 2
  private static let limit = 4096

  struct Situation: Hashable, Sendable {
    let peer: Digest
    /// Parcels that wait for it.
    var waiting: Set<[UInt8]> = []
    /// Whether some of them are this device's own.
    var hasOwn = false
    /// Own parcels that may be given to it as a carrier.
    var spreading: Set<[UInt8]> = []
    /// Whether there is something that it could carry, or have carried.
    var mayCarry = false
    /// Whether there are receipts for it.
    var hasNews = false
    /// Whether it was heard in the room just now.
    var isHeard = false
    /// Whether it can be dialled without being heard.
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
    /// Fraction by which pauses differ, so that not all peers are dialled at once.
    var jitter = 0.0
  }

  private var states: [Digest: State] = [:]
  /// Who is being met, and whether for own parcels.
  private var running: [Digest: Bool] = [:]

  /// Who is to be met now, those first who get something. They count as being met until ``finished(_:isDone:)``.
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
    // Those that couldn't be reached come last: each takes a place until its dial has failed.
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

  /// The machine's network has changed: who couldn't be reached may be reached now.
  mutating func networkChanged() {
    for peer in states.keys {
      states[peer]?.failures = 0
      states[peer]?.tried = []
      states[peer]?.spread = []
    }
  }

  /// `isDone` says whether the peer was met and got what waited for it.
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
    // A failed attempt doesn't count: who is heard now wasn't there then.
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
