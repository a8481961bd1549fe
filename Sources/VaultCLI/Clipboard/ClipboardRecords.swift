import Glibc
import SecretVault
import Sodium
import VaultDaemon
import VaultStore

/// The notes of a vault.
struct ClipboardRecords {
  private static let suffix = ".copied"
  /// Seconds after which a note is given up whose clipboard can't be reached any more.
  private static let lifetime = 30 * 86_400
  /// Seconds after which nobody tries any more to find out whether anything is there.
  private static let doubtTime = 3600

  let folder: String

  /// Makes a note and returns its open, locked file. Durable when it returns.
  func add(_ record: ClipboardRecord) throws -> (path: String, descriptor: Int32) {
    let isNew = mkdir(folder, 0o700) == 0
    guard isNew || errno == EEXIST else { throw failure(folder) }
    guard !isNew || Self.synchronize(folder + "/..") else { throw failure(folder) }
    let random: [UInt8]
    do { random = try Randomness.bytes(16) } catch { throw VaultError(.other, "no randomness") }
    let path = folder + "/" + hexadecimal(random) + Self.suffix
    let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure(path) }
    var isWritten = false
    defer {
      if !isWritten {
        unlink(path)
        close(file)
      }
    }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else { throw failure(path) }
    try Console.write(record.bytes, to: file)
    guard fsync(file) == 0, Self.synchronize(folder) else { throw failure(path) }
    isWritten = true
    return (path, file)
  }

  private static func synchronize(_ folder: String) -> Bool {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return fsync(descriptor) == 0
  }

  private func failure(_ path: String) -> VaultError {
    VaultError(.inputOutput, "cannot note what is copied in \(path): \(SystemError.text(errno)); nothing was copied")
  }

  /// Wipes what somebody was killed before wiping, if it is still there. To be called by every command that opens a vault.
  func settle(_ vault: Vault, _ console: Console) {
    for name in (try? FileNames.list(folder)) ?? [] where name.hasSuffix(Self.suffix) {
      settle(folder + "/" + name, vault, console)
    }
  }

  private func settle(_ path: String, _ vault: Vault, _ console: Console) {
    let file = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { return }
    defer { close(file) }
    // Somebody is still going to do it.
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else { return }
    var facts = stat()
    // Who was going to do it may have done it just now.
    guard fstat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_nlink > 0 else { return }
    let age = Clocks.now() / 1000 - Int64(facts.st_mtim.tv_sec)
    guard let bytes = try? PublicFile.read(file, limit: ClipboardRecord.byteLimit, name: path),
      let record = ClipboardRecord(bytes), age < Self.lifetime
    else {
      unlink(path)
      return
    }
    guard let tool = record.tool else {
      console.warning(
        "something secret was copied to a terminal's clipboard, and the program was ended before it wiped it; copy something else if it is still there"
      )
      unlink(path)
      return
    }
    do {
      guard try tool.isUsable else { return }
      let found = try Self.wipe(tool) { content in
        let tag = try vault.core.recognition(of: content, salt: record.salt)
        return constantTimeEqual(tag.span.bytes, record.tag.span.bytes)
      }
      // A clipboard that can't be looked at now may be so later; one that is empty never says so.
      if found != .unknown || age >= Self.doubtTime { unlink(path) }
      if found == .wiped { console.note("wiped the clipboard, on which something secret was left") }
    } catch {
      console.note("something secret may be left on the clipboard, which can't be reached: \(VaultError(error).reason)")
    }
  }

  enum Found {
    /// What was meant; it is wiped.
    case wiped
    /// Something else.
    case other
    /// Nothing that can be had as text, for whatever reason.
    case unknown
  }

  /// Empties the clipboard if `isOurs` knows what is on it.
  static func wipe(_ tool: ClipboardTool, isOurs: (borrowing SecretBytes) throws -> Bool) throws -> Found {
    let found = try tool.paste(limit: Clipboard.byteLimit)
    guard let content = consume found else { return .unknown }
    guard try isOurs(content) else { return .other }
    try tool.clear()
    return .wiped
  }
}
