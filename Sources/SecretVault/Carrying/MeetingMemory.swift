import Courier
import Sodium
import Synchronization

/// What one process remembers of meetings: which are under way, how much is being collected, and what was worthless.
final class MeetingMemory: Sendable {
  /// Most bytes of parcels in memory, coming or going, of all meetings together.
  static let collectingLimit = 64 << 20
  /// Milliseconds for which a worthless parcel isn't asked for again.
  static let worthlessTime = 86_400_000.0
  /// The same, at first, for one that can't be taken now or whose sender is no peer; doubled each time it comes.
  static let fullTime = 600_000.0
  /// The longest such time where the cause lies with this device; also after how long bytes in vain are forgotten.
  static let vainTime = 3_600_000.0
  /// Bytes of worthless parcels from a peer after which no more of the kind are asked of it for a day.
  static let wasteLimit = 16 << 20
  /// The same for parcels that broke off or couldn't be taken, perhaps by nobody's fault. The peer isn't asked for more for ten minutes
  /// then, doubled each time, up to an hour.
  static let vainLimit = 16 << 20
  /// Useless meetings that a peer may begin before it has to wait.
  static let idleLimit = 16
  private static let day = 86_400_000.0
  private static let limit = 2048
  /// Of one peer.
  private static let limitOfPeer = 256

  private struct Side: Hashable {
    let peer: Digest
    let isDialling: Bool
  }

  /// A copy that comes from a peer, or goes to it.
  private struct Passing: Hashable {
    let copy: CopyKey
    let giver: Digest
  }

  /// A carrier can't look into what it carries, so that counts apart from its own.
  private struct WasteSource: Hashable {
    let giver: Digest
    let isCarried: Bool
  }

  /// A parcel that isn't taken for a while, whoever brings it.
  private struct Postponed {
    var until: Double
    var pause: Double
  }

  private struct Waste {
    var since: Double
    var byteCount = 0
  }

  /// Bytes that came in vain, and until when no more are asked for.
  private struct Vain {
    var byteCount = 0.0
    var pause = MeetingMemory.fullTime
    var until = 0.0
    /// When the last of them came.
    var at: Double

    func isRecent(at now: Double) -> Bool { now - max(at, until) < MeetingMemory.vainTime }

    /// The limit is forgotten within an hour: a bad line isn't held against anybody.
    mutating func fade(to now: Double) {
      byteCount = max(0, byteCount - Double(MeetingMemory.vainLimit) * max(0, now - at) / MeetingMemory.vainTime)
      at = now
    }
  }

  /// Useless meetings; `beganAt` is when the last one began.
  private struct Idleness {
    var count = 0.0
    var beganAt: Double

    /// One a minute is forgotten.
    mutating func fade(to now: Double) { count = max(0, count - max(0, (now - beganAt) / 60_000)) }
  }

  private struct State {
    var sides: Set<Side> = []
    var collecting = 0
    var worthless: [Passing: Double] = [:]
    var unopened: [CopyKey: Double] = [:]
    var declined: [Passing: Double] = [:]
    var postponed: [CopyKey: Postponed] = [:]
    var peers: Set<Digest> = []
    var wasted: [WasteSource: Waste] = [:]
    var vain: [WasteSource: Vain] = [:]
    var idle: [Digest: Idleness] = [:]
    var seen: [Digest: Double] = [:]
    var returned: Set<Digest> = []
    var met: [Digest: Double] = [:]
    var changes = 0
  }

  private let state = Mutex(State())

  /// Nil if the same side has begun a meeting already. Both may dial in the same moment, so each side may have one.
  func begin(with peer: Digest, isDialling: Bool) -> MeetingPlace? {
    let side = Side(peer: peer, isDialling: isDialling)
    guard state.withLock({ $0.sides.insert(side).inserted }) else { return nil }
    return MeetingPlace { [self] in state.withLock { _ = $0.sides.remove(side) } }
  }

  /// Memory for a parcel until the place is given up; nil if there is too little.
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

  /// Remembers for a day that a copy is worthless, whoever brings it.
  func refuse(_ copy: CopyKey, at now: Double) {
    state.withLock { state in
      if state.unopened.count >= Self.limit {
        let ending = state.unopened.sorted { $0.value < $1.value }
        for one in ending.prefix(Self.limit / 8) { state.unopened[one.key] = nil }
      }
      state.unopened[copy] = now + Self.worthlessTime
    }
  }

  /// Remembers for so many milliseconds not to take a copy from this peer, which offered it and gave something else.
  func refuse(_ copy: CopyKey, from giver: Digest, at now: Double, for time: Double) {
    state.withLock { Self.put(Passing(copy: copy, giver: giver), until: now + time, in: &$0.worthless, at: now) }
  }

  /// A peer that has too many entries loses its own that end soonest, not those of others.
  private static func put(_ passing: Passing, until: Double, in table: inout [Passing: Double], at now: Double) {
    // Counting takes time, so it waits until there may be too many.
    if table[passing] == nil, table.count >= limitOfPeer {
      if table.count >= limit { table = table.filter { $0.value > now } }
      let own = table.filter { $0.key.giver == passing.giver }
      let ending = own.count >= limitOfPeer ? own : table.count >= limit ? table : [:]
      for one in ending.sorted(by: { $0.value < $1.value }).prefix(ending.count / 8) { table[one.key] = nil }
    }
    table[passing] = until
  }

  /// Whether a copy isn't taken from a peer at present.
  func isRefused(_ copy: CopyKey, from giver: Digest, at now: Double) -> Bool {
    state.withLock { state in
      if let postponed = state.postponed[copy], postponed.until > now { return true }
      if let until = state.unopened[copy], until > now { return true }
      return state.worthless[Passing(copy: copy, giver: giver)].map { $0 > now } ?? false
    }
  }

  /// Postpones a copy whose sender is no peer, up to a day. Returns whether that is new.
  func noteUnknownSender(_ copy: CopyKey, at now: Double) -> Bool {
    postpone(copy, at: now, longest: Self.worthlessTime)
  }

  /// Postpones a copy for which there is no room, or whose times don't fit this clock, up to an hour. Returns whether that is new.
  func noteFull(_ copy: CopyKey, at now: Double) -> Bool { postpone(copy, at: now, longest: Self.vainTime) }

  /// Twice as long each time it comes.
  private func postpone(_ copy: CopyKey, at now: Double, longest: Double) -> Bool {
    state.withLock { state in
      if let known = state.postponed[copy] {
        let pause = min(2 * known.pause, longest)
        state.postponed[copy] = Postponed(until: now + pause, pause: pause)
        return false
      }
      if state.postponed.count >= Self.limit {
        let ending = state.postponed.sorted { $0.value.until < $1.value.until }
        for one in ending.prefix(Self.limit / 8) { state.postponed[one.key] = nil }
      }
      state.postponed[copy] = Postponed(until: now + Self.fullTime, pause: Self.fullTime)
      return true
    }
  }

  /// Forgets what is postponed when there is a new peer: it may be the sender.
  func notePeers(_ peers: Set<Digest>) {
    state.withLock { state in
      if !peers.isSubset(of: state.peers) { state.postponed.removeAll() }
      state.peers = peers
    }
  }

  /// A peer didn't want these copies: others come first for an hour.
  func noteDeclined(_ copies: [CopyKey], by peer: Digest, at now: Double) {
    state.withLock { state in
      for copy in copies.prefix(Offer.limit) {
        Self.put(Passing(copy: copy, giver: peer), until: now + 3_600_000, in: &state.declined, at: now)
      }
    }
  }

  func declined(by peer: Digest, at now: Double) -> Set<CopyKey> {
    state.withLock { Set($0.declined.filter { $0.key.giver == peer && $0.value > now }.map(\.key.copy)) }
  }

  /// Counts worthless bytes from a peer. Returns whether the limit is reached just now.
  @discardableResult
  func noteWaste(_ byteCount: Int, of giver: Digest, isCarried: Bool, at now: Double) -> Bool {
    let source = WasteSource(giver: giver, isCarried: isCarried)
    return state.withLock { state in
      if state.wasted.count >= Self.limit { state.wasted = state.wasted.filter { now - $0.value.since < Self.day } }
      if state.wasted.count >= Self.limit { state.wasted.removeAll() }
      var waste = state.wasted[source].flatMap { now - $0.since < Self.day ? $0 : nil } ?? Waste(since: now)
      let before = waste.byteCount
      waste.byteCount = min(before, Self.wasteLimit) + byteCount
      state.wasted[source] = waste
      return before < Self.wasteLimit && waste.byteCount >= Self.wasteLimit
    }
  }

  /// Counts bytes from a peer that came in vain, perhaps by nobody's fault. Those that come in a pause don't prolong it; after an hour
  /// without any, counting begins anew. Returns whether a pause begins.
  @discardableResult
  func noteVain(_ byteCount: Int, of giver: Digest, isCarried: Bool, at now: Double) -> Bool {
    let source = WasteSource(giver: giver, isCarried: isCarried)
    return state.withLock { state in
      if state.vain[source] == nil, state.vain.count >= Self.limit {
        state.vain = state.vain.filter { $0.value.isRecent(at: now) }
        if state.vain.count >= Self.limit { state.vain.removeAll() }
      }
      var vain = state.vain[source].flatMap { $0.isRecent(at: now) ? $0 : nil } ?? Vain(at: now)
      guard vain.until <= now else { return false }
      vain.fade(to: now)
      vain.byteCount += Double(byteCount)
      let isEnough = vain.byteCount >= Double(Self.vainLimit)
      if isEnough {
        vain.byteCount = 0
        vain.until = now + vain.pause
        vain.pause = min(2 * vain.pause, Self.vainTime)
      }
      state.vain[source] = vain
      return isEnough
    }
  }

  /// Whether nothing more of the kind is asked of a peer at present.
  func hasWastedEnough(_ giver: Digest, isCarried: Bool, at now: Double) -> Bool {
    let source = WasteSource(giver: giver, isCarried: isCarried)
    return state.withLock { state in
      if let vain = state.vain[source], vain.until > now { return true }
      return state.wasted[source].map { now - $0.since < Self.day && $0.byteCount >= Self.wasteLimit } ?? false
    }
  }

  // MARK: - Who begins meetings

  /// Whether a peer may begin a meeting, which counts as useless until ``noteUseful(_:)``. After some useless ones it has to wait, twice
  /// as long each time: each costs this device reading and writing.
  func admits(_ peer: Digest, at now: Double) -> Bool {
    state.withLock { state in
      if state.idle.count >= Self.limit, state.idle[peer] == nil { state.idle.removeAll() }
      var idle = state.idle[peer] ?? Idleness(beganAt: now)
      let tooMany = Int(idle.count.rounded(.up)) - Self.idleLimit
      if tooMany >= 0, now - idle.beganAt < Double(1 << min(tooMany, 9)) * MeetingSchedule.leastPause { return false }
      idle.fade(to: now)
      idle.count += 1
      idle.beganAt = now
      state.idle[peer] = idle
      return true
    }
  }

  /// A meeting that a peer began has moved something.
  func noteUseful(_ peer: Digest) { state.withLock { state in state.idle[peer] = nil } }

  // MARK: - Who is there

  /// A peer has called: perhaps it can be reached.
  func noteSeen(_ peer: Digest, at now: Double) {
    note(\.seen, peer, now)
    noteReturned(peer)
  }

  /// A peer has called, or is heard in the room: what waits for it needn't wait any longer.
  func noteReturned(_ peer: Digest) {
    state.withLock { if $0.returned.count < Self.limit { $0.returned.insert(peer) } }
  }

  /// Returns who has come, and forgets it.
  func takeReturned() -> Set<Digest> {
    state.withLock { state in
      defer { state.returned = [] }
      return state.returned
    }
  }

  /// A meeting with a peer has ended.
  func noteMet(_ peer: Digest, at now: Double, hasChanged: Bool) {
    note(\.met, peer, now)
    if hasChanged { state.withLock { $0.changes &+= 1 } }
  }

  var changes: Int { state.withLock { $0.changes } }

  /// When a peer called last, on the clock that never jumps.
  func seen(_ peer: Digest) -> Double? { state.withLock { $0.seen[peer] } }

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

/// Taken until nobody refers to it any more, so whatever ends a session gives it up.
final class MeetingPlace: Sendable {
  private let leave: Mutex<(@Sendable () -> Void)?>

  init(_ leave: @escaping @Sendable () -> Void) { self.leave = Mutex(leave) }

  deinit { end() }

  /// Gives the place up at once: values that hold it may live on for a moment.
  func end() {
    leave.withLock { $0.take() }?()
  }
}
