import Glibc
import Synchronization

/// Temporary files with plaintext in them, in a fixed table that a signal handler may walk.
///
/// Walking takes no lock and no memory and calls only `unlinkat`, which POSIX allows in a signal handler. The table is
/// made when the first file is registered.
enum UnlinkRegistry {
  static let capacity = 64

  private static let free = 0
  private static let changing = 1
  private static let armed = 2

  private struct Slot: ~Copyable {
    let state = Atomic<Int>(free)
    /// The folder, held open by the owner while the slot is armed.
    var folder: Int32 = -1
    /// NUL-terminated; at most 255 bytes of name.
    let name = UnsafeMutablePointer<CChar>.allocate(capacity: 256)
  }

  private nonisolated(unsafe) static let slots: UnsafeMutablePointer<Slot> = {
    let slots = UnsafeMutablePointer<Slot>.allocate(capacity: capacity)
    for index in 0..<capacity { (slots + index).initialize(to: Slot()) }
    return slots
  }()

  /// Registers `name` in the open folder `folder`. Nil when the table is full or the name too long.
  static func register(_ name: String, in folder: Int32) -> Int? {
    guard name.utf8.count <= 255 else { return nil }
    for index in 0..<capacity {
      let taken = slots[index].state.compareExchange(expected: free, desired: changing, ordering: .acquiring)
      guard taken.exchanged else { continue }
      slots[index].folder = folder
      _ = name.withCString { strcpy(slots[index].name, $0) }
      slots[index].state.store(armed, ordering: .releasing)
      return index
    }
    return nil
  }

  /// Forgets a registration. Waits while another thread is unlinking it, so that the folder may be closed afterwards.
  static func release(_ index: Int) {
    while true {
      let released = slots[index].state.compareExchange(
        expected: armed, desired: free, ordering: .acquiringAndReleasing)
      if released.exchanged || released.original == free { return }
      sched_yield()
    }
  }

  /// Unlinks everything registered.
  static func unlinkAll() {
    for index in 0..<capacity {
      let taken = slots[index].state.compareExchange(expected: armed, desired: changing, ordering: .acquiring)
      guard taken.exchanged else { continue }
      unlinkat(slots[index].folder, slots[index].name, 0)
      slots[index].state.store(armed, ordering: .releasing)
    }
  }
}
