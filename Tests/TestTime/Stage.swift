import Dispatch
import Synchronization

/// Runs tasks of a test, given as their preferred executor, and knows when none of them can go on: each waits for something, or has ended.
///
/// That shows that somebody waits without asking him, and without giving him time for it.
package final class Stage: TaskExecutor {
  private struct State {
    /// Steps that are to be taken or just being taken.
    var steps = 0
    var watchers: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "stage")

  package init() {}

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.withLock { $0.steps += 1 }
    queue.async { [self] in
      job.runSynchronously(on: asUnownedTaskExecutor())
      let watchers = state.withLock { state in
        state.steps -= 1
        guard state.steps == 0 else { return [CheckedContinuation<Void, Never>]() }
        defer { state.watchers = [] }
        return state.watchers
      }
      for watcher in watchers { watcher.resume() }
    }
  }

  /// Returns when none of the tasks that were given to it can go on. One that was created before counts from then on.
  package func rests() async {
    await withCheckedContinuation { continuation in
      let isResting = state.withLock { state in
        guard state.steps > 0 else { return true }
        state.watchers.append(continuation)
        return false
      }
      if isResting { continuation.resume() }
    }
  }
}
