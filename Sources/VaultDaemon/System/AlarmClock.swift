import Dispatch
import Synchronization

/// Waiting that costs nothing any more once it is cancelled.
///
/// `Task.sleep` keeps what belongs to a cancelled wait until its time would have come. A daemon gives every message of
/// every peer a deadline of up to a minute, so a peer that sends fast would make it hold hundreds of thousands of them.
package final class AlarmClock: Sendable {
  private struct Waiting {
    /// Nanoseconds of the clock that never jumps.
    let time: UInt64
    /// Is told whether the time has come.
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var waiting: [UInt64: Waiting] = [:]
    var lastID: UInt64 = 0
    /// When the timer goes off.
    var next = UInt64.max
    /// Made by the first who waits.
    var timer: (any DispatchSourceTimer)?
  }

  /// Times are rounded up to multiples of this, so that many waits end together.
  private static let grain: UInt64 = 5_000_000

  private let state = Mutex(State())

  package init() {}

  /// Waits that have neither ended nor been cancelled.
  var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// Waits, and throws `CancellationError` at once when the task is cancelled.
  package func sleep(for duration: Duration) async throws {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    let time = Self.time(after: duration)
    let hasCome = await withTaskCancellationHandler {
      await withCheckedContinuation { enter(id, Waiting(time: time, continuation: $0)) }
    } onCancel: {
      leave(id)
    }
    guard hasCome else { throw CancellationError() }
  }

  private static func time(after duration: Duration) -> UInt64 {
    let (seconds, attoseconds) = duration.components
    // A hundred years are as good as ever, and far from overflow.
    let whole = UInt64(min(max(seconds, 0), 3_155_760_000)) * 1_000_000_000
    let end = DispatchTime.now().uptimeNanoseconds + whole + UInt64(max(attoseconds, 0)) / 1_000_000_000
    return (end / grain + 1) * grain
  }

  private func enter(_ id: UInt64, _ waiting: Waiting) {
    let isCancelled = state.withLock { state in
      // Whoever cancels from now on finds it in the list.
      if Task.isCancelled { return true }
      state.waiting[id] = waiting
      if waiting.time < state.next { schedule(waiting.time, &state) }
      return false
    }
    if isCancelled { waiting.continuation.resume(returning: false) }
  }

  private func leave(_ id: UInt64) {
    state.withLock { $0.waiting.removeValue(forKey: id) }?.continuation.resume(returning: false)
  }

  private func ring() {
    let now = DispatchTime.now().uptimeNanoseconds
    let due = state.withLock { state in
      let due = state.waiting.filter { $0.value.time <= now }
      for id in due.keys { state.waiting[id] = nil }
      state.next = .max
      if let next = state.waiting.values.map(\.time).min() { schedule(next, &state) }
      return due.values.map(\.continuation)
    }
    for continuation in due { continuation.resume(returning: true) }
  }

  private func schedule(_ time: UInt64, _ state: inout State) {
    state.next = time
    let timer: any DispatchSourceTimer
    if let made = state.timer {
      timer = made
    } else {
      timer = DispatchSource.makeTimerSource(queue: .global())
      timer.setEventHandler { [weak self] in self?.ring() }
      state.timer = timer
    }
    timer.schedule(deadline: DispatchTime(uptimeNanoseconds: time))
    timer.activate()
  }
}
