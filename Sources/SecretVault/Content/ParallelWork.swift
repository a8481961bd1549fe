import Dispatch
import Synchronization

/// Work on several processors at once, for stages that hold no lock and wait for nobody but the disk.
enum ParallelWork {
  /// Calls `work` for 0 ..< `count` on all processors and returns when all calls have, so what they borrow lives long
  /// enough. Throws the first failure; calls that have not begun by then do nothing.
  static func run(
    _ count: Int, _ work: @Sendable (Int) throws -> Void
  ) throws {
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

/// Memory of one size that stages of work hand to one another, for public bytes only. Grows to as many buffers as are in
/// use at once, which is at most the number of threads at work.
final class BufferPool: Sendable {
  private struct Buffer: @unchecked Sendable {
    let memory: UnsafeMutableRawBufferPointer
  }

  private let byteCount: Int
  private let idle = Mutex<[Buffer]>([])

  init(byteCount: Int) { self.byteCount = byteCount }

  deinit { for buffer in idle.withLock({ $0 }) { buffer.memory.deallocate() } }

  /// Lends a buffer, whose bytes are whatever was left in it.
  func withBuffer(_ body: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
    let buffer =
      idle.withLock { $0.popLast() }
      ?? Buffer(memory: UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 64))
    defer { idle.withLock { $0.append(buffer) } }
    try body(buffer.memory)
  }
}
