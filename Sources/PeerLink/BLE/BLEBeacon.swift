package import PeerAuth
import Synchronization
import Threading

/// An advertisement on a thread of its own: one tag, some adapters. For another hour, or other adapters, there is another one.
package final class BLEBeacon: Sendable {
  /// What has become of it.
  package enum State: Hashable, Sendable {
    /// It was asked for.
    case starting
    /// It is in the air.
    case shown
    /// It has ended, and why unless it was told to.
    case ended(BLEError?)
  }

  /// What it shows.
  package let tag: BeaconTag
  /// Where.
  package let adapters: [BLEAdapter]
  private let stop: StopSignal
  private let current = Mutex((state: State.starting, waiting: [CheckedContinuation<Void, Never>]()))

  /// Begins. Nil if the system has no descriptors or threads left.
  package init?(_ tag: BeaconTag, _ equipment: BLEEquipment) {
    guard let stop = StopSignal() else { return nil }
    self.stop = stop
    self.tag = tag
    adapters = equipment.adapters
    let hasBegun = BackgroundThread.start { [self] in
      do throws(BLEError) {
        try equipment.radio.advertise(tag, on: equipment.adapters, until: stop) { become(.shown) }
        become(.ended(nil))
      } catch { become(.ended(error)) }
    }
    guard hasBegun else { return nil }
  }

  private func become(_ state: State) {
    let waiting = current.withLock { current in
      current.state = state
      defer { current.waiting = [] }
      return current.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  /// What has become of it.
  package var state: State { current.withLock { $0.state } }

  /// Returns when it is in the air, or has ended.
  package func begun() async { await wait { $0 != .starting } }

  /// Ends it, and returns when nothing is in the air any more, whether the task is cancelled or not.
  package func end() async {
    stop.raise()
    await wait { if case .ended = $0 { true } else { false } }
  }

  private func wait(until isReady: @Sendable (State) -> Bool) async {
    while !isReady(state) {
      await withCheckedContinuation { continuation in
        let isLate = current.withLock { current in
          guard !isReady(current.state) else { return true }
          current.waiting.append(continuation)
          return false
        }
        if isLate { continuation.resume() }
      }
    }
  }
}
