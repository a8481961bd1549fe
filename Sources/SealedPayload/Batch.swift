import Dispatch
import Glibc

/// Chunks worked on together, on all processors.
enum Batch {
  /// Most chunks at once: enough to keep every processor busy, at most 1 MiB of locked memory a buffer.
  static let chunkLimit: Int = min(16, 4 * max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))

  /// Chunks in a buffer for a stream of `chunkCount` chunks.
  static func chunks(of chunkCount: UInt64) -> Int { Int(min(UInt64(chunkLimit), chunkCount)) }
}

/// One answer for each chunk of a batch, on the stack. Every thread writes only its own bytes.
struct BatchResults {
  private var succeeded: (UInt64, UInt64) = (0, 0)
  private var count = 0

  /// Calls `work` for 0 ..< `count`, which is at most ``Batch/chunkLimit``, on several threads unless there is one
  /// piece only. Returns when all calls have, so what they borrow lives long enough.
  mutating func run(_ count: Int, _ work: @Sendable (Int) -> Bool) {
    self.count = count
    withUnsafeMutableBytes(of: &succeeded) { answers in
      nonisolated(unsafe) let answers = answers
      if count == 1 {
        answers[0] = work(0) ? 1 : 0
      } else {
        DispatchQueue.concurrentPerform(iterations: count) { answers[$0] = work($0) ? 1 : 0 }
      }
    }
  }

  /// Whether every call of the last run answered true.
  var allSucceeded: Bool {
    withUnsafeBytes(of: succeeded) { answers in answers.prefix(count).allSatisfy { $0 == 1 } }
  }
}

extension UnsafeRawBufferPointer {
  /// The bytes of `range` as a buffer of their own.
  func part(_ start: Int, _ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[start..<start + count])
  }
  func from(_ start: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[start...]) }
}

extension UnsafeMutableRawBufferPointer {
  /// The bytes of `range` as a buffer of their own.
  func part(_ start: Int, _ count: Int) -> UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(rebasing: self[start..<start + count])
  }
  func from(_ start: Int) -> UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: self[start...]) }
}
