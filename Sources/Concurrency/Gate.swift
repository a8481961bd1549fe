import Synchronization

/// Lets one task at a time through, in order of arrival, such as those who send: the frames of two messages never mix.
/// A cancelled task stops waiting at once.
package final class Gate: Sendable {
  private struct State {
    var isTaken = false
    var lastTicket = 0
    var waiting: [(ticket: Int, continuation: CheckedContinuation<Bool, Never>)] = []
  }

  private let state = Mutex(State())

  package init() {}

  /// Waits for its turn. False if the task was cancelled; then ``leave()`` must not be called.
  package func enter() async -> Bool {
    if enterNow() { return true }
    let ticket = state.withLock { state in
      state.lastTicket += 1
      return state.lastTicket
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let outcome: Bool? = state.withLock { state in
          if Task.isCancelled { return false }
          guard state.isTaken else {
            state.isTaken = true
            return true
          }
          state.waiting.append((ticket, continuation))
          return nil
        }
        if let outcome { continuation.resume(returning: outcome) }
      }
    } onCancel: {
      let continuation = state.withLock { state in
        state.waiting.firstIndex { $0.ticket == ticket }.map { state.waiting.remove(at: $0).continuation }
      }
      continuation?.resume(returning: false)
    }
  }

  /// Takes the turn if nobody has it.
  package func enterNow() -> Bool {
    state.withLock { state in
      defer { state.isTaken = true }
      return !state.isTaken
    }
  }

  /// Hands the turn on.
  package func leave() {
    let next: CheckedContinuation<Bool, Never>? = state.withLock { state in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst().continuation }
      state.isTaken = false
      return nil
    }
    next?.resume(returning: true)
  }
}
