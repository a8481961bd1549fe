import Synchronization

/// A value that tests wait for: whoever waits wakes when it has become what he waits for.
final class Watched<Value: Sendable>: Sendable {
  private struct Watcher {
    let isSo: @Sendable (Value) -> Bool
    let continuation: CheckedContinuation<Void, Never>
  }

  private let state: Mutex<(value: Value, watchers: [Watcher])>

  init(_ value: Value) { state = Mutex((value, [])) }

  var value: Value { state.withLock { $0.value } }

  func change(_ body: (inout Value) -> Void) {
    let due = state.withLock { state in
      body(&state.value)
      let value = state.value
      let due = state.watchers.filter { $0.isSo(value) }
      state.watchers.removeAll { $0.isSo(value) }
      return due
    }
    for watcher in due { watcher.continuation.resume() }
  }

  func until(_ isSo: @escaping @Sendable (Value) -> Bool) async {
    await withCheckedContinuation { continuation in
      let isSoAlready = state.withLock { state in
        if isSo(state.value) { return true }
        state.watchers.append(Watcher(isSo: isSo, continuation: continuation))
        return false
      }
      if isSoAlready { continuation.resume() }
    }
  }
}

/// Counts what happens.
final class Counter: Sendable {
  private let count = Watched(0)
  var value: Int { count.value }
  func add() { count.change { $0 += 1 } }
  func reaches(_ number: Int) async { await count.until { $0 >= number } }
}
