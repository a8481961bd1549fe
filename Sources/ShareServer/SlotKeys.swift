import Glibc
import Sodium
import Synchronization

/// The rings of all lengths of slots that are in use.
final class SlotKeys: Sendable {
  private let folder: String
  private let rings = Mutex<[Int64: SlotRing]>([:])

  init(folder: String, ttls: [Int64], now: Int64) throws {
    self.folder = folder
    for ttl in ttls { _ = try ring(ttl: ttl, now: now) }
    // Those that no group uses any more may still have keys that are to end.
    for seconds in (0...10).map({ Int64(1) << $0 }) where access("\(folder)/slots-\(seconds)", F_OK) == 0 {
      _ = try ring(ttl: seconds * SlotRing.slotsPerLife, now: now)
    }
  }

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

  var newLengths: [Int64] { all.filter(\.isNew).map(\.length) }

  /// Keys that were found not whole.
  var damagedCount: Int { all.reduce(0) { $0 + $1.damagedCount } }

  private var all: [SlotRing] { rings.withLock { Array($0.values) } }

  func synchronize() throws(FileFault) { for ring in all { try ring.synchronize() } }

  func destroy(at now: Int64) throws(FileFault) { for ring in all { try ring.destroy(at: now) } }

  var liveCount: Int { all.reduce(0) { $0 + $1.liveCount } }
}
