import Dispatch
import GRDB
import Synchronization

/// Changes from many requests, made durable together: those that arrive while one transaction is being written go into
/// the next, so that one wait for the disk serves all of them (group commit: DeWitt and others, SIGMOD 1984). A change
/// is acknowledged after the transaction that has it.
final class CommitQueue: Sendable {
  /// Writes what the transaction has, or nothing: runs the body within a transaction and returns when it is durable.
  typealias Committer = @Sendable (_ body: (Transaction) throws -> Void) throws -> Void

  private struct Job: Sendable {
    let weight: Int
    let work: @Sendable (Transaction) throws -> Void
    /// Is told how the transaction ended: nil if it is durable.
    let settle: @Sendable ((any Error)?) -> Void
  }

  private struct State {
    var waiting: [Job] = []
    var isRunning = false
  }

  private static let batchCount = 512
  /// Bytes of changes after which a transaction takes no more.
  private static let batchBytes = 8 << 20
  private static let waitingCount = 8192

  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "commit", qos: .userInitiated)
  private let committer: Committer
  private let metrics: ServerMetrics

  init(metrics: ServerMetrics, _ committer: @escaping Committer) {
    self.metrics = metrics
    self.committer = committer
  }

  /// Makes a change, and returns its result when it is durable. The body checks everything before it changes anything:
  /// what it throws as a ``Refusal`` concerns it alone, while any other error takes back the transaction.
  func commit<Value: Sendable>(
    weight: Int = 0, _ body: @escaping @Sendable (Transaction) throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
      let box = Box<Value>()
      let job = Job(weight: weight) { transaction in
        do {
          let value = try body(transaction)
          box.outcome.withLock { $0 = .success(value) }
        } catch let refusal as Refusal {
          box.outcome.withLock { $0 = .failure(refusal) }
        }
      } settle: { error in
        let outcome = box.outcome.withLock { $0 }
        switch (error, outcome) {
        case (let error?, _): continuation.resume(throwing: error)
        case (nil, let outcome?): continuation.resume(with: outcome)
        case (nil, nil): continuation.resume(throwing: Refusal.unavailable)
        }
      }
      add(job)
    }
  }

  private final class Box<Value: Sendable>: Sendable {
    let outcome = Mutex<Result<Value, any Error>?>(nil)
  }

  private func add(_ job: Job) {
    let isFull = state.withLock { state in
      guard state.waiting.count < Self.waitingCount else { return true }
      state.waiting.append(job)
      if !state.isRunning { queue.async { self.run() } }
      state.isRunning = true
      return false
    }
    if isFull { job.settle(Refusal.busy) }
  }

  private func run() {
    while let batch = next() { write(batch) }
  }

  private func next() -> [Job]? {
    state.withLock { state in
      var bytes = 0
      var count = 0
      for job in state.waiting.prefix(Self.batchCount) where bytes < Self.batchBytes {
        bytes += job.weight
        count += 1
      }
      guard count > 0 else {
        state.isRunning = false
        return nil
      }
      let batch = Array(state.waiting.prefix(count))
      state.waiting.removeFirst(count)
      return batch
    }
  }

  /// Whether the others could be written without the one that failed. A disk that is full or fails, and a database that
  /// is locked, would fail for each again.
  private static func concernsOne(_ error: any Error) -> Bool {
    guard let error = error as? DatabaseError else { return false }
    return [.SQLITE_CONSTRAINT, .SQLITE_TOOBIG].contains(error.resultCode)
  }

  private func write(_ batch: [Job]) {
    let start = ContinuousClock.now
    do {
      try committer { transaction in for job in batch { try job.work(transaction) } }
      metrics.committed(batch.count, in: ContinuousClock.now - start)
      for job in batch { job.settle(nil) }
    } catch {
      metrics.failedCommit()
      guard batch.count > 1, Self.concernsOne(error) else {
        for job in batch { job.settle(error) }
        return
      }
      // One that can't be written must not take the others with it.
      for job in batch { write([job]) }
    }
  }
}
