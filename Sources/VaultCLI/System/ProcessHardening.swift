import Glibc

/// What a process that will hold keys does before anything else.
enum ProcessHardening {
  /// No core dumps, no debugger of the same user, no death by a closed pipe or a limit on file sizes, no files that
  /// others can read.
  static func apply() {
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    forbidDumping()
    signal(SIGPIPE, SIG_IGN)
    // A write beyond the limit then fails like one to a full disk, and what was begun is taken back.
    signal(SIGXFSZ, SIG_IGN)
    umask(0o077)
    InheritedDescriptors.note()
    InheritedDescriptors.fillStandardOnes()
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
