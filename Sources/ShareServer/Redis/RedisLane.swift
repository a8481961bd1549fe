import Concurrency
import Dispatch
import Synchronization

/// Threads with a connection each, for work that waits for Redis: the threads of Swift and of the event loops must not.
final class RedisLane: Sendable {
  private struct Job: Sendable {
    let since: ContinuousClock.Instant
    /// Whether doing it twice does no harm.
    let mayRepeat: Bool
    let work: @Sendable (RedisConnection) throws -> Void
    let fail: @Sendable (any Error) -> Void
  }

  private struct State {
    /// What was taken leaves nothing of itself here: it may hold much memory.
    var waiting: [Job?] = []
    var first = 0
    var isClosed = false

    var count: Int { waiting.count - first }

    mutating func take() -> Job? {
      guard first < waiting.count else { return nil }
      let job = waiting[first].take()
      first += 1
      if first == waiting.count || first > 1024 {
        waiting.removeFirst(first)
        first = 0
      }
      return job
    }
  }

  private static let waitingCount = 4096
  /// How long it may. After that who asked has perhaps gone, and others came after him.
  private static let longestWait = Duration.seconds(3)

  private let state = Mutex(State())
  /// A connection that can be made, but not prepared, is as bad as none, though perhaps not for others.
  private let pause = Mutex(RetryPause())
  private let signal = DispatchSemaphore(value: 0)
  private let threads: Int
  private let locator: RedisLocator
  private let prepare: @Sendable (RedisConnection) throws -> Void
  private let failed: @Sendable () -> Void
  private let present: @Sendable () -> ContinuousClock.Instant

  /// `prepare` is what each new connection begins with.
  init(
    threads: Int, _ locator: RedisLocator, present: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    failed: @escaping @Sendable () -> Void,
    prepare: @escaping @Sendable (RedisConnection) throws -> Void
  ) throws(ServerError) {
    self.threads = threads
    self.locator = locator
    self.failed = failed
    self.present = present
    self.prepare = prepare
    for _ in 0..<threads {
      guard BackgroundThread.start({ [self] in run() }) else { throw ServerError("the system has no thread left") }
    }
  }

  var waiting: Int { state.withLock { $0.count } }

  /// Lets a thread do something with its connection. What may be repeated is done again over a new connection if the
  /// old one turns out to be dead.
  func run<Value: Sendable>(
    mayRepeat: Bool, _ body: @escaping @Sendable (RedisConnection) throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
      let job = Job(since: present(), mayRepeat: mayRepeat) { connection in
        let value: Value
        do { value = try body(connection) } catch let fault as RedisFault {
          // These are the lane's to deal with.
          throw fault
        } catch {
          continuation.resume(throwing: error)
          return
        }
        continuation.resume(returning: value)
      } fail: { error in
        continuation.resume(throwing: error)
      }
      let refusal = state.withLock { state -> Refusal? in
        if state.isClosed { return .stopping }
        if state.count >= Self.waitingCount { return .busy }
        state.waiting.append(job)
        return nil
      }
      if let refusal { return job.fail(refusal) }
      signal.signal()
    }
  }

  private func run() {
    var connection: RedisConnection?
    var generation = 0
    while true {
      signal.wait()
      let (job, isClosed) = state.withLock { ($0.take(), $0.isClosed) }
      guard let job else {
        if isClosed { return }
        continue
      }
      if isClosed {
        job.fail(Refusal.stopping)
        continue
      }
      if present() - job.since > Self.longestWait {
        job.fail(Refusal.busy)
        continue
      }
      if generation != locator.generation { connection = nil }
      var isDone = false
      while !isDone {
        let isFresh = connection == nil
        do {
          if isFresh { (connection, generation) = try connect() }
          guard let present = connection else { throw RedisFault.ended }
          try job.work(present)
          isDone = true
        } catch {
          failed()
          let fault = error as? RedisFault
          if fault?.losesConnection ?? true { connection = nil }
          switch fault {
          case .replicas, .notPrimary: locator.lookAgain(distrusting: true)
          default: break
          }
          // A connection that was idle may have died long ago; one that was made just now didn't.
          if isFresh || !job.mayRepeat || connection != nil {
            job.fail(error)
            isDone = true
          }
        }
      }
    }
  }

  private func connect() throws -> (RedisConnection, Int) {
    let start = ContinuousClock.now
    guard pause.withLock({ $0.mayTry(at: start) }) else { throw RedisFault.pausing }
    let found = try locator.connect()
    do { try prepare(found.connection) } catch {
      pause.withLock { $0.failed(since: start) }
      throw error
    }
    pause.withLock { $0.succeeded() }
    return found
  }

  /// Ends the threads. Who waits is refused.
  func close() {
    state.withLock { $0.isClosed = true }
    let waiting = state.withLock { state in
      var jobs: [Job] = []
      while let job = state.take() { jobs.append(job) }
      return jobs
    }
    for job in waiting { job.fail(Refusal.stopping) }
    for _ in 0..<threads { signal.signal() }
  }
}
