import Dispatch
import Synchronization

/// Work on several processors at once, for stages that hold no lock and wait for nobody but the disk.
package enum ParallelWork {
  /// Calls `work` for 0 ..< `count` on all processors and returns when all calls have, so what they borrow lives long
  /// enough. Throws the first failure; calls that have not begun by then do nothing.
  package static func run(_ count: Int, _ work: @Sendable (Int) throws -> Void) throws {
    if count == 1 { return try work(0) }
    let outcome = Mutex<(any Error)?>(nil)
    DispatchQueue.concurrentPerform(iterations: count) { index in
      guard outcome.withLock({ $0 == nil }) else { return }
      do { try work(index) } catch {
        outcome.withLock { if $0 == nil { $0 = error } }
      }
    }
    if let error = outcome.withLock({ $0 }) { throw error }
  }
}
