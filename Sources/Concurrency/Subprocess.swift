package import Glibc

/// Starting programs that get nothing of this one but what is named.
package enum Subprocess {
  package enum Failure: Error {
    /// The system's number for why.
    case system(Int32)
    /// The C library can't close what a child must not have (before glibc 2.34).
    case libraryTooOld
  }

  /// Whom a program belongs to.
  package enum Group {
    /// This program's group, so that it may read the terminal.
    case own
    /// A process group of its own.
    case new
    /// A session of its own: it outlives this process.
    case session
  }

  /// Starts a program with these descriptors as 0, 1 and so on, its caller's signals, and this environment (nil: the caller's);
  /// every other descriptor is closed in it, so that no socket, key file or lock of ours leaks.
  package static func start(
    _ path: String, _ arguments: [String], environment: [String]? = nil, standard: [Int32], group: Group = .new
  ) throws(Failure) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // What is handed over is none of 0, 1 and 2: those are open from the start.
    for (position, descriptor) in standard.enumerated() {
      posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(position))
    }
    guard closeOthers(&actions, from: Int32(standard.count)) else { throw .libraryTooOld }

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var blocked = sigset_t()
    sigemptyset(&blocked)
    // Who outlives this process takes signals by a thread: one that comes before that is there must wait.
    if group == .session { for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] { sigaddset(&blocked, signal) } }
    posix_spawnattr_setsigmask(&attributes, &blocked)
    var usual = sigset_t()
    sigemptyset(&usual)
    // What this program ignores for itself. What its caller ignores, such as SIGHUP under nohup, stays ignored.
    for signal in [SIGPIPE, SIGXFSZ] { sigaddset(&usual, signal) }
    posix_spawnattr_setsigdefault(&attributes, &usual)
    posix_spawnattr_setpgroup(&attributes, 0)
    // From <spawn.h>, where it is one of the GNU extensions.
    let newSession: Int32 = 0x80
    let grouping =
      switch group {
      case .own: Int32(0)
      case .new: Int32(POSIX_SPAWN_SETPGROUP)
      case .session: newSession
      }
    let flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF) | grouping
    posix_spawnattr_setflags(&attributes, Int16(truncatingIfNeeded: flags))

    var words = copies(arguments)
    var variables = copies(environment ?? [])
    defer { for copy in words + variables { free(copy) } }
    var process: pid_t = 0
    let failure =
      environment == nil
      ? posix_spawn(&process, path, &actions, &attributes, &words, environ)
      : posix_spawn(&process, path, &actions, &attributes, &words, &variables)
    guard failure == 0 else { throw .system(failure) }
    return process
  }

  /// Where a helper program may lie, seen from the path of this program: beside it, or in `../libexec`.
  package static func candidates(for helper: String, beside program: String) -> [String] {
    // Scalars, not characters: a slash with a combining mark behind it is still one to the file system.
    guard let slash = program.unicodeScalars.lastIndex(of: "/") else { return [] }
    let folder = String(program.unicodeScalars[..<slash])
    return ["\(folder)/\(helper)", "\(folder)/../libexec/\(helper)"]
  }

  /// Where this program lies; nil if the system doesn't say.
  package static func ownPath() -> String? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
    return count > 0 ? String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
  }

  /// Closes everything from `first` on in the child. The function is newer than what Swift imports.
  package static func closeOthers(_ actions: inout posix_spawn_file_actions_t, from first: Int32) -> Bool {
    typealias CloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
    guard let address = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else { return false }
    return unsafeBitCast(address, to: CloseFrom.self)(&actions, first) == 0
  }

  /// Copies for C, ended by NULL.
  private static func copies(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] { texts.map { strdup($0) } + [nil] }
}
