import Glibc
import Synchronization

/// Temporary files, and folders of numbered files, in a fixed table that a signal handler may walk.
///
/// Walking takes no lock and no memory and calls only `unlinkat`, which POSIX allows in a signal handler. The table is
/// made when the first name is registered.
enum UnlinkRegistry {
  static let capacity = 64

  private static let nameLimit = 255
  private static let free = 0
  private static let changing = 1
  private static let armed = 2

  private struct Slot: ~Copyable {
    let state = Atomic<Int>(free)
    /// The folder, held open by the owner while the slot is armed.
    var folder: Int32 = -1
    /// NUL-terminated; at most 255 bytes of name, and room behind it for the name of a file in it.
    let name = UnsafeMutablePointer<CChar>.allocate(capacity: nameLimit + 1 + 5)
    /// 0 for a file; for a folder, the number of files in it, which are named from 1 on.
    var fileCount = 0
  }

  private nonisolated(unsafe) static let slots: UnsafeMutablePointer<Slot> = {
    let slots = UnsafeMutablePointer<Slot>.allocate(capacity: capacity)
    for index in 0..<capacity { (slots + index).initialize(to: Slot()) }
    return slots
  }()

  /// Registers the file `name` in the open folder `folder`; with a `fileCount` from 1 to 255, the folder `name` with files
  /// `1` … `fileCount` and `lock` in it. Nil when the table is full or the name too long.
  static func register(_ name: String, fileCount: Int = 0, in folder: Int32) -> Int? {
    guard name.utf8.count <= nameLimit, (0...255).contains(fileCount) else { return nil }
    for index in 0..<capacity {
      let taken = slots[index].state.compareExchange(expected: free, desired: changing, ordering: .acquiring)
      guard taken.exchanged else { continue }
      slots[index].folder = folder
      slots[index].fileCount = fileCount
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

  static func unlinkAll() {
    for index in 0..<capacity {
      let taken = slots[index].state.compareExchange(expected: armed, desired: changing, ordering: .acquiring)
      guard taken.exchanged else { continue }
      if slots[index].fileCount == 0 {
        unlinkat(slots[index].folder, slots[index].name, 0)
      } else {
        unlinkFolder(slots[index].folder, slots[index].name, slots[index].fileCount)
      }
      slots[index].state.store(armed, ordering: .releasing)
    }
  }

  /// Writes the names of the files, one after the other, behind that of the folder.
  private static func unlinkFolder(_ parent: Int32, _ name: UnsafeMutablePointer<CChar>, _ fileCount: Int) {
    let end = name + strlen(name)
    end[0] = CChar(truncatingIfNeeded: UInt8(ascii: "/"))
    var number = 1
    while number <= fileCount {
      var place = 1
      var unit = 100
      while unit > 0 {
        if number >= unit {
          end[place] = CChar(truncatingIfNeeded: Int(UInt8(ascii: "0")) + number / unit % 10)
          place += 1
        }
        unit /= 10
      }
      end[place] = 0
      unlinkat(parent, name, 0)
      number += 1
    }
    // "lock", letter by letter: nothing may be allocated here.
    end[1] = CChar(truncatingIfNeeded: UInt8(ascii: "l"))
    end[2] = CChar(truncatingIfNeeded: UInt8(ascii: "o"))
    end[3] = CChar(truncatingIfNeeded: UInt8(ascii: "c"))
    end[4] = CChar(truncatingIfNeeded: UInt8(ascii: "k"))
    end[5] = 0
    unlinkat(parent, name, 0)
    end[0] = 0
    unlinkat(parent, name, AT_REMOVEDIR)
  }
}
