import Sodium

package struct RedisOptions: Sendable {
  /// What keeps groups and shares: see docs/SERVER.md for how it is named.
  package var store: String
  package var passwordFile: String?
  /// What keeps the keys that shares are sealed under, if not the same: a Redis that writes nothing to any disk.
  package var keyStore: String?
  package var keyPasswordFile: String?
  package var sentinelPasswordFile: String?
  /// Replicas that must have a change before it is acknowledged. Nil: one behind sentinels, none otherwise.
  package var replicas: Int?

  package init(store: String) { self.store = store }

  package func validate() throws(ServerError) {
    _ = try RedisPlace(store)
    if let keyStore { _ = try RedisPlace(keyStore) }
  }
}

enum SecretLine {
  private static let limit = 1024

  /// Nil if the line is empty, longer than that, or has others than printable characters of ASCII. Blanks are a part of
  /// it.
  static func read(_ path: String) throws -> SecretBytes? {
    let file = try DataFile(existing: path)
    let count = Int(min(try file.byteCount, Int64(limit + 2)))
    var whole = try SecretBytes(zeros: count)
    let read = try whole.withUnsafeMutableBytes { (buffer) throws(FileFault) in try file.read(into: buffer, at: 0) }
    var end = 0
    let isWhole = whole.withUnsafeBytes { bytes in
      while end < read, bytes[end] >= 0x20, bytes[end] < 0x7f { end += 1 }
      let next = end < read ? bytes[end] : 0x0a
      return next == 0x0a || (next == 0x0d && end + 1 < read && bytes[end + 1] == 0x0a)
    }
    guard isWhole, (1...limit).contains(end) else { return nil }
    return try SecretBytes(copying: whole.bytes.extracting(first: end))
  }
}
