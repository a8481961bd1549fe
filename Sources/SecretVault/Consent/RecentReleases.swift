import ShamirKit
import Sodium
import Synchronization

/// Tells the first release of a share to a peer from its repetitions.
///
/// That a share has left this device must be in the log, whatever else a peer does to fill it. That it left again a moment
/// later is no news, and a peer can cause it as often as it likes.
final class RecentReleases: Sendable {
  /// Milliseconds after which a release counts as a first one again.
  static let interval = 3_600_000.0
  private static let leastSweep = 1024

  private struct Release: Hashable {
    let peer: Digest
    let secret: SecretID
  }

  private struct State {
    /// At most one for each share that is kept for others.
    var times: [Release: Double] = [:]
    /// How many there are when those that are over are looked for next.
    var sweep = RecentReleases.leastSweep
  }

  private let state = Mutex(State())

  /// Whether this share was not released to this peer within the last hour; counts as released.
  func isFirst(_ secret: SecretID, to peer: Digest, at now: Double) -> Bool {
    let release = Release(peer: peer, secret: secret)
    return state.withLock { state in
      if let last = state.times[release], now - last < Self.interval { return false }
      state.times[release] = now
      if state.times.count >= state.sweep {
        state.times = state.times.filter { now - $0.value < Self.interval }
        state.sweep = max(Self.leastSweep, 2 * state.times.count)
      }
      return true
    }
  }

  var count: Int { state.withLock { $0.times.count } }
}
