import Concurrency
package import PeerAuth
import Synchronization

package final class BLEScan: Sendable {
  private let stop: StopSignal
  private let outcome = Awaited<Result<Void, BLEError>?>(nil)

  /// `found` is called on the thread for each time that a vault is heard, `ended` once at the end. Nil if the system
  /// has no descriptors or threads left; then nothing is called.
  package init?(
    _ equipment: BLEEquipment, found: @escaping @Sendable (BLESighting) -> Void = { _ in },
    ended: @escaping @Sendable (Result<Void, BLEError>) -> Void = { _ in }
  ) {
    guard let stop = StopSignal() else { return nil }
    self.stop = stop
    let hasBegun = BackgroundThread.start { [self] in
      let result: Result<Void, BLEError>
      do throws(BLEError) {
        result = .success(try equipment.radio.scan(on: equipment.adapters, until: stop, found: found))
      } catch { result = .failure(error) }
      outcome.become(result)
      ended(result)
    }
    guard hasBegun else { return nil }
  }

  /// Ends it, and returns when the adapters are free again.
  package func end() async {
    stop.raise()
    await outcome.wait { $0 != nil }
  }

  /// Listens for a while and returns who of those with these tags was heard, each once: last from where it was heard
  /// best.
  package static func collect(
    _ tags: Set<BeaconTag>, _ equipment: BLEEquipment, for duration: Duration, time: BLETime = .machine
  ) async throws(BLEError) -> [BLESighting] {
    let heard = HeardTags(tags)
    guard let scan = BLEScan(equipment, found: { heard.note($0) }) else { throw .outOfResources }
    let end = time.passed() + duration
    while time.passed() < end, !Task.isCancelled, scan.outcome.value == nil {
      try? await time.sleep(.milliseconds(50))
    }
    await scan.end()
    if case .failure(let error) = scan.outcome.value { throw error }
    return heard.all
  }
}

/// The last sighting of each tag that is sought. Tags and addresses that others make up take no room, however many they
/// are.
private final class HeardTags: Sendable {
  private let tags: Set<BeaconTag>
  private let heard = Mutex<[BeaconTag: BLESighting]>([:])

  init(_ tags: Set<BeaconTag>) { self.tags = tags }

  var all: [BLESighting] { heard.withLock { Array($0.values) } }

  func note(_ sighting: BLESighting) {
    guard tags.contains(sighting.tag) else { return }
    heard.withLock { heard in
      if let known = heard[sighting.tag], known.address != sighting.address,
        known.strength ?? .min >= sighting.strength ?? .min
      {
        return
      }
      heard[sighting.tag] = sighting
    }
  }
}

/// A value that changes, and those who wait for that.
final class Awaited<Value: Sendable>: Sendable {
  private let state: Mutex<(value: Value, waiting: [CheckedContinuation<Void, Never>])>

  init(_ value: Value) { state = Mutex((value, [])) }

  var value: Value { state.withLock { $0.value } }

  func become(_ value: Value) {
    let waiting = state.withLock { state in
      state.value = value
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Also when the task is cancelled.
  func wait(until isReady: @Sendable (Value) -> Bool) async {
    while !isReady(value) {
      await withCheckedContinuation { continuation in
        let isLate = state.withLock { state in
          guard !isReady(state.value) else { return true }
          state.waiting.append(continuation)
          return false
        }
        if isLate { continuation.resume() }
      }
    }
  }
}
