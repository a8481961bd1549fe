import CShims
import Glibc
import Sandbox

/// What this process takes from itself, in two steps: limits before it opens anything, and everything else between
/// opening its input and looking at the first byte of it.
enum Confinement {
  static let memoryLimit: rlim_t = 2 << 30
  static let secondsLimit: rlim_t = 30
  /// Most bytes that the outputs may grow by, if they are files.
  static let outputLimit = 16 << 20

  /// What the kernel granted; older or differently built kernels grant less, and the program runs with what there is.
  struct Strength: Equatable {
    /// Calls beyond those of `SystemCallFilter.decoding` end the process.
    var filter = false
    /// The version of Landlock that forbids files, or nil.
    var landlock: Int32?
    /// The process is in a network of its own, with nothing in it.
    var noNetwork = false
  }

  /// Limits memory, processor time and core files (one would hold the picture), forbids new privileges, and closes what
  /// was inherited beside the standard streams.
  static func begin(seconds: rlim_t = secondsLimit) throws(ScanError) {
    _ = vault_close_others()
    try limit(RLIMIT_CORE, to: 0)
    try limit(RLIMIT_AS, to: memoryLimit)
    // Who starts this process may have signals blocked, as the threads of a dispatch queue do, and that is inherited.
    var none = sigset_t()
    sigemptyset(&none)
    guard sigprocmask(SIG_SETMASK, &none, nil) == 0 else { throw .system(doing: "unblock signals", errno: errno) }
    // At the soft limit the handler below ends the process in good order; the hard one is the kernel's.
    signal(SIGXCPU) { _ in
      let message: StaticString = "vault-scan: the picture took too long\n"
      _ = write(STDERR_FILENO, message.utf8Start, message.utf8CodeUnitCount)
      _exit(ExitStatus.unreadable.rawValue)
    }
    // A write beyond the limit fails, and is then reported, instead of ending the process.
    signal(SIGXFSZ, SIG_IGN)
    try limit(RLIMIT_CPU, to: seconds, hard: seconds + 5)
    guard vault_forbid_new_privileges() == 0 else {
      throw .system(doing: "give up privileges", errno: errno)
    }
  }

  /// Takes away files, network, processes and every system call that decoding doesn't need. From here on only `input`
  /// can be read, and only the frames of `camera` fetched.
  static func close(input: Int32? = nil, camera: Int32? = nil) throws(ScanError) -> Strength {
    var strength = Strength()
    strength.noNetwork = vault_leave_network() == 0
    let version = vault_landlock_version()
    if version > 0, vault_landlock_everything(version) == 0 { strength.landlock = version }
    _ = vault_drop_capabilities()
    try limit(RLIMIT_FSIZE, to: outputFileLimit())
    try limit(__RLIMIT_NPROC, to: 0)
    // No new descriptors: the lowest free one is above the standard streams. Not none, as poll wants to wait for two.
    try limit(RLIMIT_NOFILE, to: 2)
    strength.filter = SystemCallFilter.decoding(input: input, camera: camera).install()
    return strength
  }

  /// Where outputs are files, they may grow a little; there is no other file to write.
  private static func outputFileLimit() -> rlim_t {
    var limit: rlim_t = 0
    for descriptor in [STDOUT_FILENO, STDERR_FILENO] {
      var status = stat()
      guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
      limit = max(limit, rlim_t(clamping: status.st_size) + rlim_t(outputLimit))
    }
    return limit
  }

  /// Lowers a limit; where the caller's is lower already, that one stays.
  private static func limit(
    _ name: __rlimit_resource, to soft: rlim_t, hard: rlim_t? = nil
  ) throws(ScanError) {
    let resource = __rlimit_resource_t(name.rawValue)
    var limits = rlimit()
    guard getrlimit(resource, &limits) == 0 else { throw .system(doing: "read a limit", errno: errno) }
    limits.rlim_max = min(limits.rlim_max, hard ?? soft)
    limits.rlim_cur = min(limits.rlim_cur, soft, limits.rlim_max)
    guard setrlimit(resource, &limits) == 0 else { throw .system(doing: "set a limit", errno: errno) }
  }
}

extension Confinement.Strength: CustomStringConvertible {
  var description: String {
    """
    system calls: \(filter ? "only those that decoding needs" : "not filtered by this kernel")
    files: \(landlock.map { "none but the picture (Landlock \($0))" } ?? "not forbidden by Landlock in this kernel")
    network: \(noNetwork ? "none (a name space of its own)" : "no name space of its own")

    """
  }
}
