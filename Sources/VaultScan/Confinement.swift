import CShims
import Glibc

/// The limits that this process sets on itself before it looks at a picture: memory, time, no core file (it would hold
/// the picture), no new privileges.
enum Confinement {
  static let memoryLimit: rlim_t = 2 << 30
  static let secondsLimit: rlim_t = 30

  static func begin() throws(ScanError) {
    try limit(RLIMIT_CORE, soft: 0, hard: 0)
    try limit(RLIMIT_AS, soft: memoryLimit, hard: memoryLimit)
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
    try limit(RLIMIT_CPU, soft: secondsLimit, hard: secondsLimit + 5)
    guard vault_forbid_new_privileges() == 0 else {
      throw .system(doing: "give up privileges", errno: errno)
    }
  }

  /// Lowers a limit; where the caller's is lower already, that one stays.
  private static func limit(_ name: __rlimit_resource, soft: rlim_t, hard: rlim_t) throws(ScanError) {
    let resource = __rlimit_resource_t(name.rawValue)
    var limits = rlimit()
    guard getrlimit(resource, &limits) == 0 else { throw .system(doing: "read a limit", errno: errno) }
    limits.rlim_max = min(limits.rlim_max, hard)
    limits.rlim_cur = min(limits.rlim_cur, soft, limits.rlim_max)
    guard setrlimit(resource, &limits) == 0 else { throw .system(doing: "set a limit", errno: errno) }
  }
}
