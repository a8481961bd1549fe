import Glibc
import Sodium

/// The folder of companions: `companions/<secret id>`, a ``SecretCompanion`` or, of a deleted secret, a ``DeletedCompanion``; and
/// `companions/trust`, a ``TrustCompanion``.
///
/// A companion is written under another name before the transaction commits, and gets its own name after that: so what has its own
/// name was committed, and what has the other one may not have been.
package struct CompanionFiles: Sendable {
  private static let pendingSuffix = ".new"
  /// Milliseconds between looks at a lock that is never held for long.
  private static let lockPause: UInt32 = 1000

  private let folder: String
  private let lockPath: String
  private let keys: VaultKeys

  package init(_ folders: VaultFolders, keys: VaultKeys) {
    folder = folders.companionsPath
    lockPath = folders.companionsLockPath
    self.keys = keys
  }

  /// Ids of the secrets that have one, and of those of which one was being written.
  func names() throws(StoreError) -> (ids: Set<[UInt8]>, pending: Set<[UInt8]>) {
    var ids: Set<[UInt8]> = []
    var pending: Set<[UInt8]> = []
    for name in try FileNames.list(folder) {
      if let id = SecretRecord.id(named: name) {
        ids.insert(id)
      } else if name.hasSuffix(Self.pendingSuffix),
        let id = SecretRecord.id(named: name.dropLast(Self.pendingSuffix.utf8.count))
      {
        pending.insert(id)
      } else if name == TrustCompanion.fileName + Self.pendingSuffix {
        pending.insert(TrustCompanion.id)
      }
    }
    return (ids, pending)
  }

  func hasPending(_ id: [UInt8]) -> Bool { access(path(id) + Self.pendingSuffix, F_OK) == 0 }

  func has(_ id: [UInt8]) -> Bool { access(path(id), F_OK) == 0 }

  func read(_ id: [UInt8]) throws(StoreError) -> Companion { try Companion.read(path(id), of: id, keys) }

  func readSecret(_ id: [UInt8]) throws(StoreError) -> SecretCompanion {
    guard case .secret(let companion) = try read(id) else { throw .damaged(path(id)) }
    return companion
  }

  func readTrust() throws(StoreError) -> TrustCompanion {
    guard case .trust(let companion) = try read(TrustCompanion.id) else { throw .damaged(path(TrustCompanion.id)) }
    return companion
  }

  // MARK: - Writing, within a transaction

  /// Taken within a transaction and held until the companions have their names.
  func lock() throws(StoreError) -> OpenFile { try OpenFile.patientlyLocked(lockPath, pause: Self.lockPause) }

  /// Writes companions beside their names, durably.
  func prepare(_ files: [(id: [UInt8], bytes: [UInt8])]) throws(StoreError) {
    for (id, bytes) in files {
      let file = try OpenFile(path(id) + Self.pendingSuffix, O_WRONLY | O_CREAT | O_TRUNC)
      try file.write(bytes.span.bytes)
      try file.synchronize()
    }
    try FileNames.synchronizeFolder(folder)
  }

  /// Gives what was prepared its names, durably. The bytes of what `wipes` names are overwritten, where the disk does that.
  func settle(_ ids: some Sequence<[UInt8]>, wiping wipes: Set<[UInt8]> = []) throws(StoreError) {
    for id in ids {
      let old = wipes.contains(id) ? try? OpenFile.privateFile(path(id), O_WRONLY) : nil
      try FileNames.rename(path(id) + Self.pendingSuffix, to: path(id), replacing: true)
      if let old { try? Self.wipe(old) }
    }
    try FileNames.synchronizeFolder(folder)
  }

  /// Removes what was prepared for a transaction that failed.
  func abandon(_ ids: some Sequence<[UInt8]>) { for id in ids { unlink(path(id) + Self.pendingSuffix) } }

  /// Removes one, durably.
  func remove(_ id: [UInt8]) throws(StoreError) {
    if let old = try? OpenFile.privateFile(path(id), O_WRONLY) { try? Self.wipe(old) }
    try FileNames.remove(path(id))
    try FileNames.synchronizeFolder(folder)
  }

  private static func wipe(_ file: OpenFile) throws(StoreError) {
    let count = min(try file.byteCount(), Int64(SecretCompanion.byteLimit))
    let zeros = [UInt8](repeating: 0, count: Int(count))
    try file.write(zeros.span.bytes, at: 0)
    try file.synchronize()
  }

  private func path(_ id: [UInt8]) -> String {
    folder + "/" + (id == TrustCompanion.id ? TrustCompanion.fileName : hexadecimal(id))
  }

  // MARK: - The mark

  /// The number of the last change that companions have. The database has it, too, but one that was put back to an earlier state
  /// has an earlier one. 0 if it can't be read.
  func mark() -> UInt64 {
    guard let file = try? OpenFile.privateFile(lockPath, O_RDONLY) else { return 0 }
    return Self.mark(in: file)
  }

  static func mark(in lock: OpenFile) -> UInt64 {
    guard let bytes = try? lock.read(count: 8, at: 0) else { return 0 }
    return Self.mark(bytes) ?? 0
  }

  /// As it is kept in the lock file. Nobody waits for it to be on the disk: it matters only if the database is behind.
  static func setMark(_ mark: UInt64, in lock: OpenFile) { try? lock.write(bytes(of: mark).span.bytes, at: 0) }

  static func mark(_ bytes: [UInt8]) -> UInt64? {
    bytes.count == 8 ? number(of: bytes) : nil
  }

  /// Ids and descriptions of all secrets of which there is a sound companion with a share, for when the database can't be read.
  package func heldSecrets() -> [(id: [UInt8], description: String?)] {
    guard let ids = try? names().ids else { return [] }
    var held: [(id: [UInt8], description: String?)] = []
    for id in ids.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
      switch try? read(id) {
      case .secret(let companion): held.append((id, companion.secret.description))
      case .deleted, .trust: continue
      case nil: held.append((id, nil))
      }
    }
    return held
  }

  /// Whom this device trusts, if that can be read, and the secrets that the user has deleted, for when the database can't be.
  package func trustedAndDeleted() -> (peers: [PeerRecord]?, deleted: Set<[UInt8]>) {
    let deleted = ((try? names().ids) ?? []).filter { id in
      if case .deleted? = try? read(id) { true } else { false }
    }
    return ((try? readTrust())?.peers.map(\.record), deleted)
  }
}

extension SecretRecord {
  /// The id of which `name` is the canonical hexadecimal form.
  static func id(named name: some StringProtocol) -> [UInt8]? { bytes(hexadecimal: name, count: idByteCount) }
}

/// The bytes of which `text` is the canonical hexadecimal form, in lower case, if they are so many.
func bytes(hexadecimal text: some StringProtocol, count: Int) -> [UInt8]? {
  guard text.utf8.count == 2 * count else { return nil }
  var bytes: [UInt8] = []
  var high: UInt8?
  for character in text.utf8 {
    let digit: UInt8
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = character - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = character - UInt8(ascii: "a") + 10
    default: return nil
    }
    if let first = high {
      bytes.append(first << 4 | digit)
      high = nil
    } else {
      high = digit
    }
  }
  return bytes
}
