import Concurrency
package import PeerAuth

/// An advertisement on a thread of its own: one tag, some adapters. For another hour, or other adapters, there is
/// another one.
package final class BLEBeacon: Sendable {
  package enum State: Hashable, Sendable {
    case starting
    case shown
    /// It has ended, and why unless it was told to.
    case ended(BLEError?)
  }

  package let tag: BeaconTag
  package let adapters: [BLEAdapter]
  private let stop: StopSignal
  private let current = Awaited(State.starting)

  /// Nil if the system has no descriptors or threads left.
  package init?(_ tag: BeaconTag, _ equipment: BLEEquipment) {
    guard let stop = StopSignal() else { return nil }
    self.stop = stop
    self.tag = tag
    adapters = equipment.adapters
    let hasBegun = BackgroundThread.start { [self] in
      do throws(BLEError) {
        try equipment.radio.advertise(tag, on: equipment.adapters, until: stop) { current.become(.shown) }
        current.become(.ended(nil))
      } catch { current.become(.ended(error)) }
    }
    guard hasBegun else { return nil }
  }

  package var state: State { current.value }

  /// Returns when it is in the air, or has ended.
  package func begun() async { await current.wait { $0 != .starting } }

  /// Ends it, and returns when nothing is in the air any more, whether the task is cancelled or not.
  package func end() async {
    stop.raise()
    await current.wait { if case .ended = $0 { true } else { false } }
  }
}
