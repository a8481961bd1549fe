import Glibc
import SecretVault
import Synchronization

/// Who has a group: `user.lock` in its folder, held while it is open, with a line that says who.
///
/// Whoever waits shares `wanted.lock` meanwhile, so that a daemon's round knows that it should make room.
final class GroupLock: Sendable {
  private let descriptor: Mutex<Int32>

  private init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

  deinit { release() }

  func release() {
    let number = descriptor.withLock { number in
      defer { number = -1 }
      return number
    }
    guard number >= 0 else { return }
    // In so many words: a program that is just being started has copies of all descriptors for a moment.
    flock(number, LOCK_UN)
    Glibc.close(number)
  }

  private static let user = "/user.lock"
  private static let wanted = "/wanted.lock"
  /// Longest line about a user that is read.
  private static let lineLimit = 200

  private static func open(_ path: String) throws -> Int32 {
    let number = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard number >= 0 else {
      if errno == ENOENT { throw VaultError(.notFound, "the group is gone") }
      throw VaultError(.inputOutput, "\(path): \(String(cString: strerror(errno)))")
    }
    return number
  }

  /// Takes it if it is free. `what` says who has it then: a few words such as `vault group sync`.
  static func take(_ folder: String, for what: String) throws -> GroupLock? {
    let number = try open(folder + user)
    guard flock(number, LOCK_EX | LOCK_NB) == 0 else {
      Glibc.close(number)
      return nil
    }
    // Its folder may have been removed by whoever had it before.
    var (here, there) = (stat(), stat())
    guard fstat(number, &here) == 0, stat(folder + user, &there) == 0, here.st_ino == there.st_ino else {
      Glibc.close(number)
      throw VaultError(.notFound, "the group is gone")
    }
    let line = Array("\(what) (process \(getpid()))".utf8.prefix(lineLimit))
    // For people only: that it can't be written harms nobody.
    ftruncate(number, 0)
    _ = line.withUnsafeBytes { pwrite(number, $0.baseAddress, $0.count, 0) }
    return GroupLock(number)
  }

  /// The same, waiting for whoever has it. Throws when he still has it after so long.
  static func take(
    _ folder: String, for what: String, waiting patience: Duration, _ surroundings: VaultEnvironment
  ) async throws -> GroupLock {
    if let lock = try take(folder, for: what) { return lock }
    let wish = try open(folder + wanted)
    // Waits, but never for long: only a daemon that looks whether anybody shares it has it alone, and lets go at once.
    flock(wish, LOCK_SH)
    defer {
      flock(wish, LOCK_UN)
      Glibc.close(wish)
    }
    let end = surroundings.monotonic() + patience / .milliseconds(1)
    while surroundings.monotonic() < end {
      do { try await surroundings.sleep(.milliseconds(50)) } catch {
        throw VaultError(.interrupted, "interrupted")
      }
      if let lock = try take(folder, for: what) { return lock }
    }
    throw VaultError(
      .other, "the group is in use by \(holder(folder))",
      hint: "wait until that has ended, or end it, and try again")
  }

  /// Whether somebody waits for it.
  static func isWanted(_ folder: String) -> Bool {
    guard let number = try? open(folder + wanted) else { return false }
    defer { Glibc.close(number) }
    guard flock(number, LOCK_EX | LOCK_NB) == 0 else { return true }
    flock(number, LOCK_UN)
    return false
  }

  private static func holder(_ folder: String) -> String {
    var bytes = [UInt8](repeating: 0, count: lineLimit + 40)
    guard let number = try? open(folder + user) else { return "another process" }
    defer { Glibc.close(number) }
    let count = bytes.withUnsafeMutableBytes { pread(number, $0.baseAddress, $0.count, 0) }
    return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : "another process"
  }
}
