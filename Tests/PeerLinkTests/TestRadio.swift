import PeerAuth
import Synchronization
import Testing

@testable import PeerLink

/// A radio in memory: it hears what the test says, and knows when somebody listens.
final class TestRadio: BLERadio {
  private struct State {
    var listeners = 0
    var scans = 0
    var failure: BLEError?
    var heard: [BLESighting] = []
    var isStuck = false
  }

  let name = "test"
  private let state = Mutex(State())

  var isListening: Bool { state.withLock { $0.listeners > 0 } }
  var scanCount: Int { state.withLock { $0.scans } }

  func hear(_ sighting: BLESighting) { state.withLock { $0.heard.append(sighting) } }
  /// Nobody is heard any more.
  func silence() { state.withLock { $0.heard = [] } }
  func fail(_ error: BLEError?) { state.withLock { $0.failure = error } }
  /// A search goes on when it is told to stop, or not any more.
  func stick(_ isStuck: Bool) { state.withLock { $0.isStuck = isStuck } }

  /// Returns when somebody listens.
  func isUsed() async throws {
    for _ in 0..<12_000 where !isListening { try await Task.sleep(for: .milliseconds(5)) }
    try #require(isListening)
  }

  /// Whether nobody listens any more, in a moment.
  func isFree() async throws -> Bool {
    for _ in 0..<12_000 where isListening { try await Task.sleep(for: .milliseconds(5)) }
    return !isListening
  }

  func advertise(
    _ tag: BeaconTag, on adapters: [BLEAdapter], until stop: StopSignal, ready: () -> Void
  ) throws(BLEError) {
    ready()
    while !stop.isRaised(within: 5) {}
  }

  func scan(on adapters: [BLEAdapter], until stop: StopSignal, found: (BLESighting) -> Void) throws(BLEError) {
    state.withLock { state in
      state.scans += 1
      state.listeners += 1
    }
    defer { state.withLock { $0.listeners -= 1 } }
    while true {
      let now = state.withLock { $0 }
      if stop.isRaised(within: 5), !now.isStuck { return }
      if let failure = now.failure { throw failure }
      for sighting in now.heard { found(sighting) }
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
