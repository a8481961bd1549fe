import Concurrency
import Glibc
package import SecretVault
import Synchronization

/// Runs the user's notification command, with the event as one line on its standard input.
///
/// An event from a peer must never hold up the vault: calls return at once, at most four commands run at a time, a
/// bounded number waits, and one that takes longer than its time is killed with its whole process group.
package final class NotificationRunner: Sendable {
  private typealias Job = (command: String, input: [UInt8])

  private struct State {
    var running = 0
    /// What the user is asked, and is told once only.
    var questions: [Job] = []
    var others: [Job] = []

    mutating func next() -> Job? {
      if !questions.isEmpty { return questions.removeFirst() }
      return others.isEmpty ? nil : others.removeFirst()
    }
  }

  /// Commands at a time.
  static let concurrencyLimit = 4
  /// Events that wait for a free place; more are dropped.
  static let queueLimit = 64
  /// Questions that wait besides, and go first: of the peers that may have 64 each at a time, more than any user
  /// decides about.
  static let questionLimit = 1024

  private let timeLimit: Int64
  private let line: @Sendable (VaultEnvironment.Notification) -> String
  private let complain: @Sendable (String) -> Void
  private let state = Mutex(State())

  /// `complain` is told about commands that fail; `line` makes an event what commands read; `timeLimit` is in
  /// milliseconds.
  package init(
    timeLimit: Int64 = 10_000, line: @escaping @Sendable (VaultEnvironment.Notification) -> String,
    complain: @escaping @Sendable (String) -> Void
  ) {
    self.timeLimit = timeLimit
    self.line = line
    self.complain = complain
  }

  /// Runs `command` with the event soon, and returns at once.
  package func run(_ command: String, _ event: VaultEnvironment.Notification) {
    guard !command.isEmpty else { return }
    let input = Array((line(event) + "\n").utf8)
    enum Decision { case start, wait, drop }
    let decision = state.withLock { state -> Decision in
      if state.running < Self.concurrencyLimit {
        state.running += 1
        return .start
      }
      if event.isQuestion {
        guard state.questions.count < Self.questionLimit else { return .drop }
        state.questions.append((command, input))
      } else {
        guard state.others.count < Self.queueLimit else { return .drop }
        state.others.append((command, input))
      }
      return .wait
    }
    switch decision {
    case .start:
      guard !BackgroundThread.start({ self.work(command, input) }) else { return }
      state.withLock { $0.running -= 1 }
      complain("notification dropped: no thread left")
    case .wait: break
    case .drop:
      let limit = event.isQuestion ? Self.questionLimit : Self.queueLimit
      complain("notification dropped: \(limit) others are waiting")
    }
  }

  /// Waits until all have ended, at most so many milliseconds. Says whether they have.
  @discardableResult
  package func finish(within limit: Int64) -> Bool {
    let end = Clocks.milliseconds() + limit
    while state.withLock({ $0.running > 0 }) {
      guard Clocks.milliseconds() < end else { return false }
      usleep(5000)
    }
    return true
  }

  private func work(_ command: String, _ input: [UInt8]) {
    var next: Job? = (command, input)
    while let job = next {
      let process = ChildProcess(
        path: "/bin/sh", arguments: ["sh", "-c", job.command], outputLimit: 1 << 16, timeLimit: timeLimit)
      do {
        let outcome = try process.run(input: job.input)
        if outcome.status != 0 { complain("notification command ended with status \(outcome.status)") }
      } catch {
        complain("notification command failed: \(VaultError(error).reason)")
      }
      next = state.withLock { state in
        let job = state.next()
        if job == nil { state.running -= 1 }
        return job
      }
    }
  }
}
