import Foundation
import Synchronization

/// Where a recipient says that something has arrived, and when. One at a time is waited for.
final class Arrivals: Sendable {
  struct Lost: Error, CustomStringConvertible {
    let description = "a message did not arrive within 30 seconds"
  }

  private struct State {
    var times: [Double] = []
    var waiting: CheckedContinuation<Double?, Never>?
  }

  private let state = Mutex(State())

  /// Something has arrived, now.
  func note() {
    let now = Stopwatch.now()
    state.withLock { state in
      if let waiting = state.waiting {
        state.waiting = nil
        waiting.resume(returning: now)
      } else {
        state.times.append(now)
      }
    }
  }

  /// When the next thing arrived, or will.
  func next() async throws -> Double {
    let patience = Task {
      try await Task.sleep(for: .seconds(30))
      state.withLock { state in
        state.waiting?.resume(returning: nil)
        state.waiting = nil
      }
    }
    defer { patience.cancel() }
    let time = await withCheckedContinuation { continuation in
      state.withLock { state in
        if state.times.isEmpty {
          state.waiting = continuation
        } else {
          continuation.resume(returning: state.times.removeFirst())
        }
      }
    }
    guard let time else { throw Lost() }
    return time
  }
}
