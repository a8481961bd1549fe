import Concurrency
import PeerAuth
import Testing

@testable import PeerLink

/// A radio in memory: it hears what the test says, and knows when somebody listens.
final class TestRadio: BLERadio {
  private struct State {
    var listeners = 0
    var scans = 0
    var failure: BLEError?
    var heard: [BLESighting] = []
    /// How often all of it was told.
    var tellings = 0
    var isStuck = false
  }

  let name = "test"
  private let state = Watched(State())

  var isListening: Bool { state.value.listeners > 0 }
  var scanCount: Int { state.value.scans }

  func hear(_ sighting: BLESighting) { state.change { $0.heard.append(sighting) } }
  /// Nobody is heard any more.
  func silence() { state.change { $0.heard = [] } }
  func fail(_ error: BLEError?) { state.change { $0.failure = error } }
  /// A search goes on when it is told to stop, or not any more.
  func stick(_ isStuck: Bool) { state.change { $0.isStuck = isStuck } }

  /// Returns when somebody listens.
  func isUsed() async { await state.until { $0.listeners > 0 } }

  /// Returns when nobody listens any more, and so many searches have been.
  func isFree(after scans: Int = 0) async { await state.until { $0.listeners == 0 && $0.scans >= scans } }

  /// Returns when whoever listens has heard all that there is to hear now.
  func isHeard() async {
    let before = state.value.tellings
    // The one that is on may have begun before.
    await state.until { $0.tellings >= before + 2 }
  }

  func advertise(
    _ tag: BeaconTag, on adapters: [BLEAdapter], until stop: StopSignal, ready: () -> Void
  ) throws(BLEError) {
    ready()
    while !stop.isRaised(within: 5) {}
  }

  func scan(on adapters: [BLEAdapter], until stop: StopSignal, found: (BLESighting) -> Void) throws(BLEError) {
    state.change { state in
      state.scans += 1
      state.listeners += 1
    }
    defer { state.change { $0.listeners -= 1 } }
    while true {
      let now = state.value
      if stop.isRaised(within: 5), !now.isStuck { return }
      if let failure = now.failure { throw failure }
      for sighting in now.heard { found(sighting) }
      state.change { $0.tellings += 1 }
    }
  }
}

extension BLEAdapter {
  /// An adapter that is on.
  static func test(_ index: UInt16 = 0) throws -> BLEAdapter {
    BLEAdapter(
      index: index, address: try #require(BLEAddress("00:AA:01:0\(index):00:0\(index)", .public)), isOn: true,
      knowsLE: true, hasLE: true, isPrivate: false)
  }
}
