import PeerAuth
import Synchronization
import Threading

/// Looking for vaults on a thread of its own.
public final class BLEScan: Sendable {
  private struct State {
    var outcome: Result<Void, BLEError>?
    var waiting: [CheckedContinuation<Void, Never>] = []
    /// Of each address what was heard of it last.
    var heard: [BLEAddress: BLESighting] = [:]
  }

  /// Most addresses of which is remembered what was heard: whoever makes them up by the thousand is not heard more often.
  private static let limit = 1024

  private let stop: StopSignal
  private let state = Mutex(State())

  /// Begins. `found` is called on the thread for each time that a vault is heard, `ended` once at the end. Nil if the system has no
  /// descriptors or threads left; then nothing is called.
  public init?(
    _ equipment: BLEEquipment, found: @escaping @Sendable (BLESighting) -> Void = { _ in },
    ended: @escaping @Sendable (Result<Void, BLEError>) -> Void = { _ in }
  ) {
    guard let stop = StopSignal() else { return nil }
    self.stop = stop
    let hasBegun = BackgroundThread.start { [self] in
      let outcome: Result<Void, BLEError>
      do throws(BLEError) {
        outcome = .success(
          try equipment.radio.scan(on: equipment.adapters, until: stop) { sighting in
            note(sighting)
            found(sighting)
          })
      } catch { outcome = .failure(error) }
      let waiting = state.withLock { state in
        state.outcome = outcome
        defer { state.waiting = [] }
        return state.waiting
      }
      for continuation in waiting { continuation.resume() }
      ended(outcome)
    }
    guard hasBegun else { return nil }
  }

  private func note(_ sighting: BLESighting) {
    state.withLock { state in
      guard state.heard[sighting.address] != nil || state.heard.count < Self.limit else { return }
      state.heard[sighting.address] = sighting
    }
  }

  /// Ends it, and returns when the adapters are free again.
  public func end() async {
    stop.raise()
    await withCheckedContinuation { continuation in
      let hasEnded = state.withLock { state in
        if state.outcome == nil { state.waiting.append(continuation) }
        return state.outcome != nil
      }
      if hasEnded { continuation.resume() }
    }
  }

  /// Listens for a while and returns what was heard last of each address.
  public static func collect(_ equipment: BLEEquipment, for time: Duration) async throws(BLEError) -> [BLESighting] {
    guard let scan = BLEScan(equipment) else { throw .outOfResources }
    let end = ContinuousClock.now + time
    while ContinuousClock.now < end, !Task.isCancelled, scan.state.withLock({ $0.outcome == nil }) {
      try? await Task.sleep(for: .milliseconds(50))
    }
    await scan.end()
    let (outcome, heard) = scan.state.withLock { ($0.outcome, Array($0.heard.values)) }
    if case .failure(let error) = outcome { throw error }
    return heard
  }
}
