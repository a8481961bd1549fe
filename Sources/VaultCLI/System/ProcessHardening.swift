import Glibc

/// What a process that will hold keys does before anything else.
enum ProcessHardening {
  /// No core dumps, no debugger of the same user, no death by a closed pipe, no files that others can read.
  static func apply() {
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    forbidDumping()
    signal(SIGPIPE, SIG_IGN)
    umask(0o077)
    openStandardDescriptors()
  }

  /// Gives 0, 1 and 2 to `/dev/null` where the caller closed them, so that no file or socket takes their place.
  private static func openStandardDescriptors() {
    for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest free number is this one, as all below it are open.
      _ = open("/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY)
    }
  }

  /// `prctl(setDumpable, 0)`. Swift does not import functions with variable arguments, so it is looked up by name.
  private static func forbidDumping() {
    // From <linux/prctl.h>, which the Glibc module leaves out.
    let setDumpable: Int32 = 4
    typealias Prctl = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
    guard let address = dlsym(nil, "prctl") else { return }
    _ = unsafeBitCast(address, to: Prctl.self)(setDumpable, 0, 0, 0, 0)
  }
}
