import Sodium

/// The parts of a backup's file that writer and reader share. Byte by byte in `docs/formats/backup.md`.
enum BackupFormat {
  static let magic = Array("VAULTBAK".utf8)
  static let version: UInt8 = 1
  static let fileLimit = 1 << 20
  static let nameByteLimit = 80
  static let contentByteLimit: UInt64 = 1 << 56
  static let headByteCount = 8 + 1 + 8 + 32 + 4
  /// Bytes that are hashed as one part, read and written at a time.
  static let chunk = 1 << 20

  static let masterKey = "master.key"
  static let database = "vault.db"
  static let settings = "settings.json"
  static let groups = "groups"

  /// Where a file stands in the order of a backup, or nil if no file of a backup has such a name. Names are chosen from a list and
  /// put together with a folder: nothing else may come near one.
  static func rank(_ name: String) -> Int? {
    switch name {
    case masterKey: return 0
    case database: return 1
    case settings: return 2
    default: break
    }
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    if parts.count == 3, parts[0] == groups, GroupFolders.isName(parts[1]) {
      return ["facts", "group.sqlite"].contains(parts[2]) ? 5 : nil
    }
    guard parts.count == 2 else { return nil }
    switch parts[0] {
    case "fragments":
      let pieces = parts[1].split(separator: ".", omittingEmptySubsequences: false)
      guard pieces.count == 2, isHexadecimal(pieces[0].utf8, count: 32), let number = UInt8(pieces[1]), number > 0,
        String(number) == pieces[1]
      else { return nil }
      return 3
    case "items": return isHexadecimal(parts[1].utf8, count: 32) || isHexadecimal(parts[1].utf8, count: 64) ? 4 : nil
    default: return nil
    }
  }

  /// Whether one name may follow another: no name comes twice, and there is one order.
  static func follows(_ name: String, _ before: String?) -> Bool {
    guard name.utf8.count <= nameByteLimit, let rank = rank(name) else { return false }
    guard let before, let earlier = self.rank(before) else { return name == masterKey }
    return rank == earlier ? before.utf8.lexicographicallyPrecedes(name.utf8) : rank > earlier
  }
}

/// What a file of a backup is called, how long it is, and what it holds.
struct BackupEntry: Hashable, Sendable {
  let name: String
  /// Where its contents begin.
  let offset: UInt64
  let byteCount: UInt64
  /// As it stands behind the contents.
  let digest: Digest
}

/// The digest of one file: over its name, its length, and its contents in parts of a MiB.
struct BackupDigest: ~Copyable {
  private var hash: DomainHash

  init(_ name: String, byteCount: UInt64) throws(SodiumError) {
    hash = try DomainHash("vault/backup-file/v1")
    hash.append(name)
    hash.append(byteCount)
  }

  mutating func append(_ part: UnsafeRawBufferPointer) { hash.append(RawSpan(_unsafeBytes: part)) }

  consuming func digest() -> Digest { hash.digest() }
}

/// The MAC at the end: over the head, and name, length and digest of every file. Under the keys of the vault, so that nobody
/// else can make a backup that this vault would take.
struct BackupMAC: ~Copyable {
  private var hash: DomainHash

  init(_ keys: VaultKeys, createdAt: Int64, device: Digest, count: Int) throws(SodiumError) {
    hash = try keys.beginMAC("vault/backup/v1")
    hash.append(UInt64(bitPattern: createdAt))
    hash.append(device)
    hash.append(UInt64(clamping: count))
  }

  mutating func append(_ name: String, _ byteCount: UInt64, _ digest: Digest) {
    hash.append(name)
    hash.append(byteCount)
    hash.append(digest)
  }

  consuming func digest() -> Digest { hash.digest() }
}
