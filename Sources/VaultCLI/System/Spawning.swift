import Glibc
import SecretVault

extension ChildProcess {
  /// Starts a program in a process group of its own with three descriptors, its caller's signals and the environment;
  /// every other descriptor is closed in it, so that no socket, key file or lock of ours leaks.
  ///
  /// With `inOwnGroup` false it stays in this program's group, so that it may read the terminal. With `detached` it is this
  /// program again, gets a session of its own and outlives this process. `standard` may have more than three descriptors.
  static func spawn(
    _ path: String, _ arguments: [String], standard: [Int32], inOwnGroup: Bool = true, detached: Bool = false
  ) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // The pipes are none of 0, 1 and 2: those are open from the start, see InheritedDescriptors.
    for (position, descriptor) in standard.enumerated() {
      posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(position))
    }
    guard closeOthers(&actions, from: Int32(standard.count)) else {
      throw VaultError(.other, "cannot start \(path): this system's C library is too old")
    }

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var blocked = sigset_t()
    sigemptyset(&blocked)
    // This program's own process takes signals by a thread, see Interruption: one that comes before that is there must wait.
    if detached { for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] { sigaddset(&blocked, signal) } }
    posix_spawnattr_setsigmask(&attributes, &blocked)
    var usual = sigset_t()
    sigemptyset(&usual)
    // What this program ignores for itself. What its caller ignores, such as SIGHUP under nohup, stays ignored.
    for signal in [SIGPIPE, SIGXFSZ] { sigaddset(&usual, signal) }
    posix_spawnattr_setsigdefault(&attributes, &usual)
    posix_spawnattr_setpgroup(&attributes, 0)
    // From <spawn.h>, where it is one of the GNU extensions.
    let newSession: Int32 = 0x80
    let group = detached ? newSession : inOwnGroup ? POSIX_SPAWN_SETPGROUP : 0
    let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group
    posix_spawnattr_setflags(&attributes, Int16(truncatingIfNeeded: flags))

    var copies: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
    copies.append(nil)
    defer { for copy in copies { free(copy) } }
    var process: pid_t = 0
    let failure = posix_spawn(&process, path, &actions, &attributes, copies, environ)
    guard failure == 0 else {
      throw VaultError(.inputOutput, "cannot start \(path): \(SystemError.text(failure))")
    }
    return process
  }

  /// Closes everything above standard error in the child. The function is newer than what Swift imports (glibc 2.34).
  static func closeOthers(_ actions: inout posix_spawn_file_actions_t, from first: Int32) -> Bool {
    typealias CloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
    guard let address = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else { return false }
    return unsafeBitCast(address, to: CloseFrom.self)(&actions, first) == 0
  }

  /// Three pipes to a child and back.
  struct Pipes {
    /// One pipe; closed ends are -1.
    struct Ends {
      var read: Int32 = -1
      var write: Int32 = -1

      mutating func open() -> Bool {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return false }
        (read, write) = (ends[0], ends[1])
        return fcntl(read, F_SETFD, FD_CLOEXEC) == 0 && fcntl(write, F_SETFD, FD_CLOEXEC) == 0
      }

      mutating func closeRead() {
        if read >= 0 { close(read) }
        read = -1
      }

      mutating func closeWrite() {
        if write >= 0 { close(write) }
        write = -1
      }
    }

    var input = Ends()
    var output = Ends()
    var errors = Ends()

    /// Opens all three; our end of the input never blocks, so that a child that does not read cannot stop us.
    mutating func open() -> Bool {
      guard input.open(), output.open(), errors.open() else { return false }
      return fcntl(input.write, F_SETFL, O_NONBLOCK) == 0
    }

    mutating func closeChildEnds() {
      input.closeRead()
      output.closeWrite()
      errors.closeWrite()
    }

    mutating func closeAll() {
      closeChildEnds()
      input.closeWrite()
      output.closeRead()
      errors.closeRead()
    }
  }
}
