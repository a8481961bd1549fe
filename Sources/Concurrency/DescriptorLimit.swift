import Glibc

package enum DescriptorLimit {
  /// Raises the limit as far as this user may, and returns it. Usual systems begin with 1024: fewer than the
  /// connections of a service need.
  package static func raise() -> Int {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard getrlimit(resource, &limit) == 0 else { return 1024 }
    let before = limit.rlim_cur
    limit.rlim_cur = limit.rlim_max
    let isRaised = before == limit.rlim_max || setrlimit(resource, &limit) == 0
    return Int(clamping: isRaised ? limit.rlim_max : before)
  }
}
