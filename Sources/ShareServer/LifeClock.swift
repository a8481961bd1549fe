import Synchronization

/// How long groups may have been used: the service's time without what it jumped over. Groups that nobody uses end by
/// this, so that they don't all end because the machine's clock is set far ahead once, or the service is down for long,
/// while nobody can use any. Shares expire by the service's time itself.
final class LifeClock: Sendable {
  /// Milliseconds from one look to the next that count as time that has passed. Whoever runs looks often.
  static let longestStep: Int64 = 86_400_000
  /// Milliseconds after which it is to be kept how far it has come.
  static let keepingStep: Int64 = 3_600_000

  /// How far the service's time has come, and how much of that was jumped over.
  struct State: Sendable {
    var mark: Int64
    var skipped: Int64

    var life: Int64 { mark - skipped }
  }

  private let state: Mutex<State>

  init(_ state: State) { self.state = Mutex(state) }

  /// How it is now. Somebody else may have looked at a later moment already: then it's as that one saw it.
  func look(at now: Int64) -> State {
    state.withLock { state in
      if state.mark > 0, now - state.mark > Self.longestStep { state.skipped += now - state.mark }
      state.mark = max(state.mark, now)
      return state
    }
  }
}
