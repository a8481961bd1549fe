import Concurrency
import Glibc
import SecretVault
import Sodium
import VaultDaemon

/// Opens the URL of an answer by the desktop's own program for that.
///
/// The URL may hold plaintext. It goes from secret memory straight to the kernel, but whoever opens a URL shows it to
/// all processes of the same user: that is how these URLs work, and `docs/formats/callback.md` says so.
enum CallbackOpener {
  static let program = "xdg-open"
  /// Most bytes of one argument on Linux, its end included.
  static let byteLimit = 131_072

  /// Opens `url`, and waits until the program has taken it, but not for ever.
  static func open(_ url: borrowing SecretBytes) throws {
    guard url.count < byteLimit else {
      throw VaultError(
        .other, "the answer has \(url.count) bytes, and a program takes at most \(byteLimit - 1) in one URL",
        hint: "print it with --print, or use `vault encrypt` and `vault decrypt`")
    }
    let process = try spawn(url)
    let end = Clocks.milliseconds() + 10_000
    while true {
      var status: Int32 = 0
      let ended = waitpid(process, &status, WNOHANG)
      if ended == process {
        guard status == 0 else { throw failure("it found nothing that opens such a URL") }
        return
      }
      // One that goes on has become the program it started.
      guard ended == 0 || errno == EINTR, Clocks.milliseconds() < end else { return }
      usleep(10_000)
    }
  }

  private static func spawn(_ url: borrowing SecretBytes) throws -> pid_t {
    var text = try SecretText.memory(url.count + 1)
    text.withUnsafeMutableBytes { target in url.withUnsafeBytes { target.copyMemory(from: $0) } }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // Standard output is for results, and not for what programs of the desktop have to say.
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
    guard Subprocess.closeOthers(&actions, from: 3) else {
      throw VaultError(.other, "cannot start \(program): this system's C library is too old")
    }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(truncatingIfNeeded: POSIX_SPAWN_SETSIGMASK))
    var process: pid_t = 0
    let name = strdup(program)
    defer { free(name) }
    let code = text.withUnsafeMutableBytes { memory -> Int32 in
      var arguments = [name, memory.baseAddress?.assumingMemoryBound(to: CChar.self), nil]
      return posix_spawnp(&process, program, &actions, &attributes, &arguments, environ)
    }
    guard code == 0 else { throw failure(SystemError.text(code)) }
    return process
  }

  private static func failure(_ reason: String) -> VaultError {
    VaultError(
      .other, "the answer could not be handed over by \(program): \(reason)",
      hint: "install xdg-utils and the program that asked, or print the answer with --print")
  }
}
