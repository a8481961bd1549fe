import Synchronization
import XMPPRequests

/// One answer after the other, each to one question. A failure holds for all that follow.
final class PendingAnswer: Sendable {
  typealias Answer = Result<[UInt8], XMPPError>

  private struct State {
    var waiting: CheckedContinuation<Answer, Never>?
    var failure: XMPPError?
  }

  private let state = Mutex(State())

  /// Waits for the answer to what `ask` asks.
  func wait(_ ask: @Sendable () -> Void) async -> Answer {
    await withCheckedContinuation { continuation in
      let failure = state.withLock { state in
        if state.failure == nil { state.waiting = continuation }
        return state.failure
      }
      if let failure { continuation.resume(returning: .failure(failure)) } else { ask() }
    }
  }

  /// An answer that nobody waits for is passed over.
  func give(_ answer: Answer) {
    let waiting = state.withLock { state in
      if case .failure(let failure) = answer { state.failure = failure }
      defer { state.waiting = nil }
      return state.waiting
    }
    waiting?.resume(returning: answer)
  }
}
