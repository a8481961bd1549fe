import CSodium
import Synchronization

/// Regions of secret memory that are used again for one value after another of the same size.
///
/// Getting a region from the system takes several system calls and page faults, tens of microseconds in all; a session
/// needs dozens of them, so that this was most of what a daemon did. What a value gets from here protects it as much as a
/// fresh region does: it is a whole allocation of `sodium_malloc`, never a part of one, made for exactly this number of
/// bytes, so that it ends at its own guard page, begins behind its own canary, is locked, and stays out of core dumps. It
/// was wiped when the value before it ended. Two things differ. Regions that wait stay mapped, so that a pointer used after
/// its value has ended would read zeros or a later value instead of ending the process; no pointer can outlive its value
/// but by breaking the contract of ``SecretBytes/withUnsafeBytes(_:)``. And the canary of a region is checked when the
/// region goes back to the system, which may be later than the value's end.
enum SecretRegions {
  /// Larger regions go back to the system at once: they are rare, and locked memory is scarce.
  static let sizeLimit = 4096
  /// Regions that wait at most, of all sizes. Each keeps two pages of memory, one of them locked.
  static let countLimit = 192

  private struct Region: @unchecked Sendable { let pointer: UnsafeMutableRawPointer }

  private struct Waiting: Sendable {
    /// By number of bytes.
    var regions: [Int: [Region]] = [:]
    var count = 0
  }

  private static let waiting = Mutex(Waiting())

  /// A zeroed region of exactly `count` bytes, at least one; nil if the system has none.
  static func take(_ count: Int) -> UnsafeMutableRawPointer? {
    if count <= sizeLimit, let used = takeWaiting(count) { return used.pointer }
    guard let fresh = sodium_malloc(count) else { return nil }
    sodium_memzero(fresh, count)
    return fresh
  }

  private static func takeWaiting(_ count: Int) -> Region? {
    waiting.withLock { waiting in
      guard let region = waiting.regions[count]?.popLast() else { return nil }
      waiting.count -= 1
      return region
    }
  }

  /// Takes a region of `count` bytes back, and wipes it.
  static func give(_ pointer: UnsafeMutableRawPointer, _ count: Int) {
    guard count <= sizeLimit else { return sodium_free(pointer) }
    sodium_memzero(pointer, count)
    let region = Region(pointer: pointer)
    let surplus: [Int: [Region]]? = waiting.withLock { waiting in
      // All go at once, so that sizes that nobody asks for any more don't stay for ever; the others are back soon.
      let surplus = waiting.count < countLimit ? nil : waiting.regions
      if surplus != nil { waiting = Waiting() }
      waiting.regions[count, default: []].append(region)
      waiting.count += 1
      return surplus
    }
    guard let surplus else { return }
    for region in surplus.values.joined() { sodium_free(region.pointer) }
  }

  /// Regions of one size that wait now.
  static func waitingCount(of size: Int) -> Int { waiting.withLock { $0.regions[size]?.count ?? 0 } }
}
