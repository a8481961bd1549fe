import PeerAuth
import Synchronization

/// Where tags were heard lately, and which places led to nobody.
final class BLEPlaces: Sendable {
  /// Milliseconds for which a place is remembered, and for which it is doubted.
  private static let memory: Int64 = 60_000
  /// Most places that are remembered, and most that are doubted.
  private static let limit = 256

  /// Anybody can repeat a tag, but at an address of its own.
  private struct Place: Hashable {
    let tag: BeaconTag
    let address: BLEAddress

    init(_ sighting: BLESighting) { (tag, address) = (sighting.tag, sighting.address) }
  }

  private struct State {
    var heard: [BeaconTag: (sighting: BLESighting, at: Int64)] = [:]
    var doubted: [Place: Int64] = [:]
  }

  private let now: @Sendable () -> Int64
  private let state = Mutex(State())

  init(now: @escaping @Sendable () -> Int64) { self.now = now }

  func last(_ tags: Set<BeaconTag>) -> BLESighting? {
    let time = now()
    return state.withLock { state in
      tags.compactMap { state.heard[$0] }.filter { Self.isRecent($0.at, time) }.max { $0.at < $1.at }?.sighting
    }
  }

  /// Notes what is heard, unless the place is doubted; then it returns since when. Who is looked for is noted in any
  /// case, others while there is room.
  func hear(_ sighting: BLESighting, isMeant: Bool) -> Int64? {
    let time = now()
    return state.withLock { state in
      if let doubt = state.doubted[Place(sighting)], Self.isRecent(doubt, time) { return doubt }
      if state.heard.count >= Self.limit { state.heard = state.heard.filter { Self.isRecent($0.value.at, time) } }
      if isMeant || state.heard.count < Self.limit { state.heard[sighting.tag] = (sighting, time) }
      return nil
    }
  }

  /// Notes whether the peer was where somebody was dialled.
  func dialled(_ sighting: BLESighting, isPeer: Bool) {
    let time = now()
    let place = Place(sighting)
    state.withLock { state in
      if isPeer {
        state.doubted[place] = nil
        state.heard[sighting.tag] = (sighting, time)
      } else {
        if let last = state.heard[sighting.tag], Place(last.sighting) == place { state.heard[sighting.tag] = nil }
        if state.doubted.count >= Self.limit { state.doubted = state.doubted.filter { Self.isRecent($0.value, time) } }
        if state.doubted.count < Self.limit { state.doubted[place] = time }
      }
    }
  }

  func forgetHeard() { state.withLock { $0.heard = [:] } }

  /// A clock that was set back ends it, too.
  private static func isRecent(_ time: Int64, _ now: Int64) -> Bool { (0..<memory).contains(now - time) }
}
