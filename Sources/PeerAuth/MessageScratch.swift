import Sodium
import Synchronization

/// Secret memory that a session uses again for one message after another: an allocation costs tens of microseconds.
final class MessageScratch: Sendable {
  /// Larger pieces are given back to the system at once.
  static let keptByteCount = 1 << 18

  private let spare = Mutex<SecretBytes?>(nil)

  /// Memory of at least `count` bytes.
  func take(_ count: Int) throws(SessionError) -> SecretBytes {
    let kept = spare.withLock { $0.take() }
    if let kept, kept.count >= count { return kept }
    return try Self.allocate(count)
  }

  /// Takes memory back, wiped.
  func give(_ memory: consuming SecretBytes) {
    guard memory.count <= Self.keptByteCount else { return }
    memory.wipe()
    var wiped = Optional(memory)
    spare.withLock { $0 = wiped.take() }
  }

  /// Rounded up, so that the next, slightly longer message fits too.
  static func allocate(_ count: Int) throws(SessionError) -> SecretBytes {
    var size = 1024
    while size < count && size < keptByteCount { size *= 2 }
    do throws(SodiumError) { return try SecretBytes(zeros: max(size, count)) } catch { throw .sodium(error) }
  }
}
