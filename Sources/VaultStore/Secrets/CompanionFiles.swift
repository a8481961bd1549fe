import Glibc
package import ShamirKit
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
  func names() throws(StoreError) -> (ids: Set<SecretID>, pending: Set<CompanionName>) {
    var ids: Set<SecretID> = []
    var pending: Set<CompanionName> = []
    for name in try FileNames.list(folder) {
      if let id = SecretID(named: name) {
        ids.insert(id)
      } else if name.hasSuffix(Self.pendingSuffix) {
        let name = name.dropLast(Self.pendingSuffix.utf8.count)
        if let id = SecretID(named: name) { pending.insert(.secret(id)) }
        if name == CompanionName.trust.fileName { pending.insert(.trust) }
      }
    }
    return (ids, pending)
  }

  func hasPending(_ name: CompanionName) -> Bool { access(path(name) + Self.pendingSuffix, F_OK) == 0 }

  func has(_ name: CompanionName) -> Bool { access(path(name), F_OK) == 0 }

  func read(_ id: SecretID) throws(StoreError) -> Companion { try read(.secret(id)) }

  private func read(_ name: CompanionName) throws(StoreError) -> Companion {
    try Companion.read(path(name), name, keys)
  }

  func readSecret(_ id: SecretID) throws(StoreError) -> SecretCompanion {
    guard case .secret(let companion) = try read(id) else { throw .damaged(path(.secret(id))) }
    return companion
  }

  func readTrust() throws(StoreError) -> TrustCompanion {
    guard case .trust(let companion) = try read(.trust) else { throw .damaged(path(.trust)) }
    return companion
  }

  // MARK: - Writing, within a transaction

  /// Taken within a transaction and held until the companions have their names.
  func lock() throws(StoreError) -> OpenFile { try OpenFile.patientlyLocked(lockPath, pause: Self.lockPause) }

  /// Writes companions beside their names, durably.
  func prepare(_ files: [(name: CompanionName, bytes: [UInt8])]) throws(StoreError) {
    for (name, bytes) in files {
      let file = try OpenFile(path(name) + Self.pendingSuffix, O_WRONLY | O_CREAT | O_TRUNC)
      try file.write(bytes.span.bytes)
      try file.synchronize()
    }
    try FileNames.synchronizeFolder(folder)
  }

  /// Gives what was prepared its names, durably. The bytes of what `wipes` names are overwritten, where the disk does that.
  func settle(_ names: some Sequence<CompanionName>, wiping wipes: Set<CompanionName>) throws(StoreError) {
    var replaced: [OpenFile] = []
    for name in names {
      if wipes.contains(name), let old = try? OpenFile.privateFile(path(name), O_WRONLY) { replaced.append(old) }
      try FileNames.rename(path(name) + Self.pendingSuffix, to: path(name), replacing: true)
    }
    try FileNames.synchronizeFolder(folder)
    // Not before: the old name may come back until then.
    for old in replaced { try? Self.wipe(old) }
  }

  /// Removes what was prepared for a transaction that failed.
  func abandon(_ names: some Sequence<CompanionName>) {
    for name in names { unlink(path(name) + Self.pendingSuffix) }
  }

  /// Removes one, durably.
  func remove(_ name: CompanionName) throws(StoreError) {
    if let old = try? OpenFile.privateFile(path(name), O_WRONLY) { try? Self.wipe(old) }
    try FileNames.remove(path(name))
    try FileNames.synchronizeFolder(folder)
  }

  private static func wipe(_ file: OpenFile) throws(StoreError) {
    let count = min(try file.byteCount(), Int64(SecretCompanion.byteLimit))
    let zeros = [UInt8](repeating: 0, count: Int(count))
    try file.write(zeros.span.bytes, at: 0)
    try file.synchronize()
  }

  private func path(_ name: CompanionName) -> String { folder + "/" + name.fileName }

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
  package func heldSecrets() -> [(id: SecretID, description: String?)] {
    guard let ids = try? names().ids else { return [] }
    var held: [(id: SecretID, description: String?)] = []
    for id in ids.sorted() {
      switch try? read(id) {
      case .secret(let companion): held.append((id, companion.secret.description))
      case .deleted, .trust: continue
      case nil: held.append((id, nil))
      }
    }
    return held
  }

  /// Whom this device trusts, if that can be read, and the secrets that the user has deleted, for when the database can't be.
  package func trustedAndDeleted() -> (peers: [PeerRecord]?, deleted: Set<SecretID>) {
    let deleted = ((try? names().ids) ?? []).filter { id in
      if case .deleted? = try? read(id) { true } else { false }
    }
    return ((try? readTrust())?.peers.map(\.record), deleted)
  }
}

/// Of what there is a companion.
package enum CompanionName: Hashable, Sendable {
  case secret(SecretID), trust

  var fileName: String {
    switch self {
    case .secret(let id): "\(id)"
    case .trust: "trust"
    }
  }
}

extension SecretID {
  /// The id of which `name` is the canonical hexadecimal form.
  package init?(named name: some StringProtocol) {
    guard let bytes = VaultStore.bytes(hexadecimal: name, count: Self.byteCount) else { return nil }
    try? self.init(bytes)
  }
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
