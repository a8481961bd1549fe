import Synchronization

/// Memory of one size that stages of work hand to one another, for public bytes only. Grows to as many buffers as are in
/// use at once, which is at most the number of threads at work.
package final class BufferPool: Sendable {
  private struct Buffer: @unchecked Sendable {
    let memory: UnsafeMutableRawBufferPointer
  }

  private let byteCount: Int
  private let idle = Mutex<[Buffer]>([])

  package init(byteCount: Int) { self.byteCount = byteCount }

  deinit { for buffer in idle.withLock({ $0 }) { buffer.memory.deallocate() } }

  /// Lends a buffer, whose bytes are whatever was left in it.
  package func withBuffer(_ body: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
    let buffer =
      idle.withLock { $0.popLast() }
      ?? Buffer(memory: UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 64))
    defer { idle.withLock { $0.append(buffer) } }
    try body(buffer.memory)
  }
}
