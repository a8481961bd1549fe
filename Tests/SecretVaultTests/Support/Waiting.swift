import GRDB
import Synchronization
import TestTime

@testable import SecretVault
@testable import VaultStore

extension Happenings {
  /// Everything, also that somebody begins or ends to wait.
  static let all = Happenings()
  /// What may be news to somebody who looks now and then: not that others look.
  static let deeds = Happenings()
  /// Ends of connections.
  static let ends = Happenings()

  static func deed() {
    deeds.note()
    all.note()
  }

  /// Counts what a vault writes to its database.
  static func watch(_ vault: Vault) {
    vault.core.database.pool.add(transactionObserver: Writes(), extent: .databaseLifetime)
  }

  private final class Writes: TransactionObserver {
    private var isWritten = false
    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
    func databaseDidChange(with event: DatabaseEvent) { isWritten = true }
    func databaseDidRollback(_ db: Database) { isWritten = false }
    func databaseDidCommit(_ db: Database) {
      guard isWritten else { return }
      isWritten = false
      Happenings.deed()
    }
  }
}

/// How the members of a world wait: by its clock, and so for ever if no test moves it.
///
/// Whoever looks every now and then whether something has happened also looks when something has, and whoever tries again because
/// the other side is busy does so when a connection has ended: else each test would have to say again and again how time passes.
final class Waiting: Sendable {
  /// Pauses before another look. No deadline is as long as one of these.
  static let glances: Set<Duration> = [.seconds(1), .seconds(5)]
  /// Pauses before a look at something that has changed: no time passes.
  static let settling: Set<Duration> = [
    ChangePace.hurried, ChangePace.usual, ChangePace.steady,
  ]
  /// Pauses before another attempt with somebody who was busy.
  static let attempts: Set<Duration> = [
    .milliseconds(300), .milliseconds(500), .milliseconds(600), .milliseconds(1200), .milliseconds(2400),
  ]

  private struct State {
    var begun: [Duration: Int] = [:]
    /// How much had happened when a task last looked.
    var seen: [Looker: Int] = [:]
  }

  /// A task's place in memory may become another's, which then looks once more than it would.
  private struct Looker: Hashable {
    let task: Int
    let happenings: ObjectIdentifier
  }

  private let clock: TestClock
  private let state = Mutex(State())

  init(_ clock: TestClock) { self.clock = clock }

  /// How often anybody has begun to wait so long.
  func begun(_ durations: [Duration]) -> Int {
    state.withLock { state in durations.reduce(0) { $0 + (state.begun[$1] ?? 0) } }
  }

  /// Returns when somebody who looks so often has looked, and waits again.
  func look(every durations: Duration...) async throws {
    // The first time it may have looked before.
    for _ in 0..<2 {
      let before = begun(durations)
      Happenings.deed()
      _ = try await eventually { begun(durations) > before }
    }
  }

  func sleep(_ duration: Duration) async throws {
    state.withLock { $0.begun[duration, default: 0] += 1 }
    Happenings.all.note()
    defer { Happenings.all.note() }
    if Self.settling.contains(duration) {
      await Task.yield()
    } else if Self.glances.contains(duration) {
      try await sleep(duration, orUntil: .deeds)
    } else if Self.attempts.contains(duration) {
      try await sleep(duration, orUntil: .ends)
    } else {
      try await clock.sleep(for: duration)
    }
  }

  private func sleep(_ duration: Duration, orUntil happenings: Happenings) async throws {
    let looker = Looker(task: withUnsafeCurrentTask { $0?.hashValue } ?? 0, happenings: ObjectIdentifier(happenings))
    // Who has not waited yet may have missed something.
    let seen = state.withLock { $0.seen[looker] } ?? -1
    try await withThrowingTaskGroup(of: Void.self) { [clock] group in
      group.addTask { try await clock.sleep(for: duration) }
      group.addTask { try await happenings.wait(beyond: seen) }
      defer { group.cancelAll() }
      try await group.next()
    }
    state.withLock { $0.seen[looker] = happenings.count }
  }
}

extension TestClock {
  /// So much later whoever looks now and then looks; no deadline ends by it.
  func advance(milliseconds: Int64) {
    leap(by: .milliseconds(milliseconds))
    Happenings.deed()
  }

  func turn(milliseconds: Int64) {
    turn(by: .milliseconds(milliseconds))
    Happenings.deed()
  }
}

extension TestWorld {
  /// Lets time pass step by step until this holds, while a daemon looks each time what there is.
  func passing(milliseconds: Int64, until condition: () throws -> Bool) async throws -> Bool {
    while try !condition() {
      clock.advance(milliseconds: milliseconds)
      try await waiting.look(every: .seconds(1), .seconds(5))
    }
    return true
  }
}

/// Returns when this holds. It is looked at whenever something has happened.
func eventually(_ condition: () throws -> Bool) async throws -> Bool {
  while true {
    let before = Happenings.all.count
    if try condition() { return true }
    try await Happenings.all.wait(beyond: before)
  }
}

/// Tries until it comes to something, again whenever a connection has ended or, if so said, anything has happened: the other side may not have
/// noticed yet that the one before is no more.
func onceFree<Value>(
  after happenings: Happenings = .ends, _ attempt: () async throws -> Value?
) async throws -> Value {
  while true {
    let before = happenings.count
    if let value = try await attempt() { return value }
    try await happenings.wait(beyond: before)
  }
}
