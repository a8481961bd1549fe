import Glibc
import Sodium
import Synchronization

/// The rings of all lengths of slots that are in use.
final class SlotKeys: Sendable {
  private let folder: String
  private let rings = Mutex<[Int64: SlotRing]>([:])

  /// Opens the rings that are there, and destroys what is over.
  init(folder: String, ttls: [Int64], now: Int64) throws {
    self.folder = folder
    for ttl in ttls { _ = try ring(ttl: ttl, now: now) }
    // Those that no group uses any more may still have keys that are to end.
    for seconds in (0...10).map({ Int64(1) << $0 }) where access("\(folder)/slots-\(seconds)", F_OK) == 0 {
      _ = try ring(ttl: seconds * SlotRing.slotsPerLife, now: now)
    }
  }

  /// The ring for a time to live in seconds.
  func ring(ttl: Int64, now: Int64) throws -> SlotRing {
    let length = SlotRing.slotLength(ttl: ttl)
    return try rings.withLock { rings in
      if let ring = rings[length] { return ring }
      let ring = try SlotRing(folder: folder, length: length, now: now)
      rings[length] = ring
      return ring
    }
  }

  /// The same if it is open already: nothing can be sealed under a ring that isn't.
  func openRing(ttl: Int64) -> SlotRing? {
    rings.withLock { $0[SlotRing.slotLength(ttl: ttl)] }
  }

  /// Lengths of slots in milliseconds whose rings were made just now.
  var newLengths: [Int64] { all.filter(\.isNew).map(\.length) }

  /// Keys that were found not whole.
  var damagedCount: Int { all.reduce(0) { $0 + $1.damagedCount } }

  private var all: [SlotRing] { rings.withLock { Array($0.values) } }

  /// Returns when all keys are on the disk.
  func synchronize() throws(FileFault) { for ring in all { try ring.synchronize() } }

  /// Destroys the keys of all slots that are over.
  func destroy(at now: Int64) throws(FileFault) -> Int {
    var count = 0
    for ring in all { count += try ring.destroy(at: now) }
    return count
  }

  /// How many slots have a key.
  var liveCount: Int { all.reduce(0) { $0 + $1.liveCount } }
}
