import Glibc
import Sodium
import Synchronization

/// The keys of the time slots of one length, in a file of fixed size outside the database.
///
/// What expires within a slot is sealed under the slot's key. When the slot is over the key is overwritten where it
/// lies, and with that everything sealed under it is erased, wherever a database, its log or a backup of it still has
/// the bytes ("revocable backups": Boneh and Lipton, USENIX Security 1996; used for expiry by Geambasu and others,
/// "Vanish", 2009).
///
/// An entry is 64 bytes that never straddle a sector: the slot's number (8, big-endian), the key (32), 16 bytes of a
/// hash of both, and 8 zeros. An entry that was torn while it was written doesn't match its hash; nothing that was
/// acknowledged is sealed under it, since the entry is durable before.
final class SlotRing: Sendable {
  /// Entries: twice what may be alive at once, so that a slot's place is long empty when its turn comes.
  static let capacity: Int64 = 8192
  /// A slot is so long that no time to live spans more than so many.
  static let slotsPerLife: Int64 = 4096
  private static let entryCount = 64
  private static let keyCount = SecretBox.keyByteCount

  private struct State: ~Copyable {
    /// The file as it is or is about to be.
    var image: SecretBytes
    /// No key is of an older slot.
    var oldest: Int64?
    /// Slots whose keys are not yet known to be durable.
    var fresh: [Int64] = []
    /// Fresh keys were dropped: what was sealed under them must not be acknowledged.
    var isSpoiled = false
    /// Places that were wiped here, but perhaps not on the disk.
    var wiped: Set<Int64> = []
  }

  /// Milliseconds of a slot.
  let length: Int64
  /// The file was not there, and has been made.
  let isNew: Bool
  /// Keys that were in the file, but not whole.
  let damagedCount: Int
  private let file: DataFile
  private let state: Mutex<State>

  /// Milliseconds of the slots for a time to live in seconds: a second, or the smallest power of two of seconds that is
  /// long enough.
  static func slotLength(ttl: Int64) -> Int64 {
    var seconds: Int64 = 1
    while seconds * slotsPerLife < ttl { seconds *= 2 }
    return seconds * 1000
  }

  /// Opens the ring, makes it if need be, and destroys the keys of all slots that are over.
  init(folder: String, length: Int64, now: Int64) throws {
    self.length = length
    let path = "\(folder)/slots-\(length / 1000)"
    let size = Int(Self.capacity) * Self.entryCount
    var image = try SecretBytes(zeros: size)
    // Not there, and not merely out of reach: what is made takes the place of what is there.
    var status = stat()
    if lstat(path, &status) == 0 {
      isNew = false
    } else if errno == ENOENT {
      isNew = true
    } else {
      throw FileFault(path: path, code: errno)
    }
    if isNew { try Self.make(path, size, in: folder) }
    let file = try DataFile(path)
    self.file = file
    let found = try file.byteCount
    guard found == Int64(size) else {
      throw FileFault(
        path: path, code: EINVAL,
        words: "no whole ring of keys of this service: \(found) bytes; "
          + "without the file the service starts, but what was sealed under its keys is lost")
    }
    _ = try image.withUnsafeMutableBytes { (buffer) throws(FileFault) in try file.read(into: buffer, at: 0) }
    var oldest: Int64?
    var damaged = 0
    for place in 0..<Self.capacity {
      let slot = try Self.slot(at: place, in: image, length: length)
      if let slot, slot * length > now {
        oldest = min(oldest ?? slot, slot)
      } else {
        if slot == nil, Self.number(at: place, in: image) != 0 { damaged += 1 }
        Self.wipe(place, in: &image)
      }
    }
    damagedCount = damaged
    try image.withUnsafeBytes { (bytes) throws(FileFault) in try file.write(bytes, at: 0) }
    try file.synchronize()
    state = Mutex(State(image: image, oldest: oldest))
  }

  /// Makes an empty ring. Under its name it is whole or not there.
  private static func make(_ path: String, _ size: Int, in folder: String) throws {
    let new = path + ".new"
    let zeros = [UInt8](repeating: 0, count: size)
    do {
      let file = try DataFile(new)
      try zeros.withUnsafeBytes { bytes in try file.write(bytes, at: 0) }
      try file.synchronize()
    }
    guard rename(new, path) == 0 else { throw FileFault(path: path, code: errno) }
    try DataFile.synchronize(folder: folder)
  }

  /// The slot in which something that expires at `expires` lives.
  func slot(expires: Int64) -> Int64 { (expires - 1) / length + 1 }

  var liveCount: Int {
    state.withLock { state in (0..<Self.capacity).count { Self.number(at: $0, in: state.image) != 0 } }
  }

  func key(of slot: Int64) throws(SodiumError) -> SecretBytes? {
    try state.withLock { (state) throws(SodiumError) -> SecretBytes? in
      let place = slot % Self.capacity
      guard Self.number(at: place, in: state.image) == slot else { return nil }
      let start = Int(place) * Self.entryCount + 8
      return try SecretBytes(copying: state.image.bytes.extracting(start..<start + Self.keyCount))
    }
  }

  /// The key of a slot that isn't over, drawn if it has none. What is sealed under it may be acknowledged after
  /// ``synchronize()``.
  func ensureKey(of slot: Int64) throws -> SecretBytes {
    if let key = try key(of: slot) { return key }
    try state.withLock { state in
      let place = slot % Self.capacity
      let number = Self.number(at: place, in: state.image)
      guard number == 0 || number <= slot - Self.capacity else {
        throw FileFault(path: file.path, code: EINVAL, words: "the ring has no room for slot \(slot)")
      }
      try Self.fill(place, slot, in: &state.image, length: length)
      do { try write(place, of: state.image) } catch {
        // A key that isn't in the file must not be found here either.
        Self.wipe(place, in: &state.image)
        state.wiped.insert(place)
        throw error
      }
      state.fresh.append(slot)
      state.oldest = min(state.oldest ?? slot, slot)
    }
    guard let key = try key(of: slot) else { throw FileFault(path: file.path, code: EIO) }
    return key
  }

  /// Returns when all keys are on the disk. If that fails, those that may not be are dropped: a system that failed to
  /// write a page once may believe it written the next time.
  func synchronize() throws(FileFault) {
    try state.withLock { (state) throws(FileFault) in
      if state.isSpoiled {
        state.isSpoiled = false
        throw FileFault(path: file.path, code: EIO)
      }
      guard !state.fresh.isEmpty else { return }
      do throws(FileFault) { try file.synchronize() } catch {
        Self.dropFresh(&state)
        throw error
      }
      state.fresh = []
    }
  }

  /// Destroys the keys of all slots that are over: no key opens anything from then on, and when this returns they are
  /// overwritten on the disk. After an error it is to be called again. Returns how many there were.
  @discardableResult
  func destroy(at now: Int64) throws(FileFault) -> Int {
    let last = now / length
    return try state.withLock { (state) throws(FileFault) in
      let isOver = state.oldest.map { $0 <= last } ?? false
      guard isOver || !state.wiped.isEmpty else { return 0 }
      var count = 0
      var oldest: Int64?
      // First of all in memory, so that an error of the disk doesn't let anybody read on.
      for place in 0..<Self.capacity {
        let slot = Self.number(at: place, in: state.image)
        guard slot != 0 else { continue }
        if slot <= last {
          Self.wipe(place, in: &state.image)
          state.wiped.insert(place)
          count += 1
        } else {
          oldest = min(oldest ?? slot, slot)
        }
      }
      state.oldest = oldest
      state.fresh.removeAll { $0 <= last }
      // A place that serves another slot by now was overwritten with that one's key.
      for place in state.wiped where Self.number(at: place, in: state.image) == 0 { try write(place, of: state.image) }
      do throws(FileFault) { try file.synchronize() } catch {
        // The system tells of a page that it could not write only once: fresh keys may have been on it.
        if !state.fresh.isEmpty {
          Self.dropFresh(&state)
          state.isSpoiled = true
        }
        throw error
      }
      state.wiped = []
      return count
    }
  }

  private static func dropFresh(_ state: inout State) {
    for slot in state.fresh {
      wipe(slot % capacity, in: &state.image)
      state.wiped.insert(slot % capacity)
    }
    state.fresh = []
  }

  // MARK: - Entries

  private func write(_ place: Int64, of image: borrowing SecretBytes) throws(FileFault) {
    let start = Int(place) * Self.entryCount
    try image.withUnsafeBytes { [file] (bytes) throws(FileFault) in
      try file.write(UnsafeRawBufferPointer(rebasing: bytes[start..<start + Self.entryCount]), at: Int64(start))
    }
  }

  private static func number(at place: Int64, in image: borrowing SecretBytes) -> Int64 {
    image.withUnsafeBytes { bytes in
      Int64(bigEndian: bytes.loadUnaligned(fromByteOffset: Int(place) * entryCount, as: Int64.self))
    }
  }

  private static func wipe(_ place: Int64, in image: inout SecretBytes) {
    image.withUnsafeMutableBytes { bytes in
      let start = Int(place) * entryCount
      for offset in start..<start + entryCount { bytes[offset] = 0 }
    }
  }

  private static func fill(
    _ place: Int64, _ slot: Int64, in image: inout SecretBytes, length: Int64
  ) throws(SodiumError) {
    let key = try SecretBytes(random: keyCount)
    let check = try check(slot, key.bytes, length: length)
    image.withUnsafeMutableBytes { bytes in
      let start = Int(place) * entryCount
      bytes.storeBytes(of: slot.bigEndian, toByteOffset: start, as: Int64.self)
      key.withUnsafeBytes { key in
        UnsafeMutableRawBufferPointer(rebasing: bytes[start + 8..<start + 8 + keyCount]).copyMemory(from: key)
      }
      UnsafeMutableRawBufferPointer(rebasing: bytes[start + 40..<start + 56]).copyBytes(from: check)
    }
  }

  /// The slot of an entry that is whole, if there is one.
  private static func slot(
    at place: Int64, in image: borrowing SecretBytes, length: Int64
  ) throws(SodiumError) -> Int64? {
    let slot = number(at: place, in: image)
    guard slot > 0, slot % capacity == place, slot <= Int64.max / length else { return nil }
    let start = Int(place) * entryCount
    let expected = try check(slot, image.bytes.extracting(start + 8..<start + 8 + keyCount), length: length)
    let found = image.bytes.extracting(start + 40..<start + 56)
    return constantTimeEqual(found, expected.span.bytes) ? slot : nil
  }

  private static func check(_ slot: Int64, _ key: RawSpan, length: Int64) throws(SodiumError) -> [UInt8] {
    var hash = try DomainHash("vault/server-slot/v1")
    hash.append(UInt64(length))
    hash.append(UInt64(slot))
    hash.append(key)
    return Array(hash.digest().bytes.prefix(16))
  }
}
