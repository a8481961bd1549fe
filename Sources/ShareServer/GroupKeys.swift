import Glibc
import Sodium

/// A key for each group, in a file outside the database: without it nothing of the group can be opened, so that a group
/// that its owner erases is erased at once, whatever a database still has of it.
///
/// Group number N has the 32 bytes from 32 × N on; zeros stand for a group that was erased. Numbers are never used
/// again.
final class GroupKeys: Sendable {
  private static let keyCount = 32
  private let file: DataFile

  init(folder: String) throws {
    file = try DataFile(folder + "/groups")
    try DataFile.synchronize(folder: folder)
  }

  /// Draws the key of a new group. It is on the disk when this returns.
  func draw(_ group: Int64) throws {
    let key = try SecretBytes(random: Self.keyCount)
    try key.withUnsafeBytes { [file] (bytes) throws(FileFault) in try file.write(bytes, at: group * 32) }
    try file.synchronize()
  }

  /// Nil if the group was erased.
  func key(_ group: Int64) throws -> SecretBytes? {
    var key = try SecretBytes(zeros: Self.keyCount)
    let count = try key.withUnsafeMutableBytes { [file] (buffer) throws(FileFault) in
      try file.read(into: buffer, at: group * 32)
    }
    guard count == Self.keyCount, !Self.isZero(key.bytes) else { return nil }
    return key
  }

  /// Overwrites the key of a group. It is gone from the disk when this returns.
  func destroy(_ group: Int64) throws {
    let zeros = [UInt8](repeating: 0, count: Self.keyCount)
    try zeros.withUnsafeBytes { bytes in try file.write(bytes, at: group * 32) }
    try file.synchronize()
  }

  /// Overwrites the keys of all groups but these: of those whose erasing, or whose making, a crash cut short.
  func destroyAll(but groups: Set<Int64>) throws {
    let count = try file.byteCount / Int64(Self.keyCount)
    for group in 0..<count where !groups.contains(group) {
      if try key(group) != nil { try destroy(group) }
    }
  }

  /// Draws a key for each of these groups that has none, since the file was lost or cut short. Returns how many that
  /// were: what they had is lost.
  func mend(_ groups: Set<Int64>) throws -> Int {
    var count = 0
    for group in groups where try key(group) == nil {
      try draw(group)
      count += 1
    }
    return count
  }

  private static func isZero(_ bytes: RawSpan) -> Bool {
    let zeros = [UInt8](repeating: 0, count: bytes.byteCount)
    return constantTimeEqual(bytes, zeros.span.bytes)
  }
}
