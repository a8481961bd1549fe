import Glibc
import PeerLink

/// How many descriptors the daemon may have, and how many connections fit among them.
enum DescriptorLimit {
  /// Raises the limit as far as this user may, and returns it. Usual systems begin with 1024: fewer than the daemon's
  /// connections need.
  static func raise() -> Int {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard getrlimit(resource, &limit) == 0 else { return 1024 }
    let before = limit.rlim_cur
    limit.rlim_cur = limit.rlim_max
    let isRaised = before == limit.rlim_max || setrlimit(resource, &limit) == 0
    return Int(clamping: isRaised ? limit.rlim_max : before)
  }

  /// Connections that leave room for everything else: a connection takes two descriptors as a rule, its socket and the
  /// fragment that goes through it (a peer that asks for several secrets in one session has four fragments open at most);
  /// the database, the log and the commands that are run take the rest.
  static func connections(within descriptors: Int) -> TCPListener.Limits {
    let total = max(1, min(1024, (descriptors - 128) / 2))
    return TCPListener.Limits(perAddress: min(256, total), total: total)
  }
}
