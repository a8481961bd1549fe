import CShims
import Glibc
import Sandbox

extension SystemCallFilter {
  /// All that decoding needs: memory that can't be executed, the clock, the two outputs, and reading one descriptor.
  /// `camera` is the descriptor of one that streams; it may hand out and take back frames, and nothing else.
  static func decoding(input: Int32?, camera: Int32? = nil) -> SystemCallFilter {
    var filter = SystemCallFilter()
    if let input { filter.allow(SYS_read, .oneOf(0, [UInt32(bitPattern: input)])) }
    filter.allow(SYS_write, .oneOf(0, [UInt32(STDOUT_FILENO), UInt32(STDERR_FILENO)]))
    if let camera {
      filter.allow(
        SYS_ioctl, .oneOf(0, [UInt32(bitPattern: camera)]),
        .oneOf(1, [vault_camera_enqueue, vault_camera_dequeue, vault_camera_stop]))
    }
    if input != nil || camera != nil { filter.allowWaiting() }
    filter.allowMemory()
    for call in [SYS_clock_gettime, SYS_gettimeofday, SYS_getrandom, SYS_futex, SYS_close] { filter.allow(call) }
    // Sorting in the C library asks how much memory there is.
    filter.allow(SYS_sysinfo)
    for call in [SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_sigaltstack] { filter.allow(call) }
    filter.allowEnding()
    filter.refuseLibraries()
    return filter
  }

  private mutating func allowWaiting() {
    allow(SYS_ppoll)
    allow(SYS_restart_syscall)
    #if arch(x86_64)
      allow(SYS_poll)
    #endif
  }

  private mutating func allowMemory() {
    // Fresh memory only: no files are mapped, and nothing ever becomes executable.
    allow(SYS_mmap, .without(2, UInt32(PROT_EXEC)), .with(3, UInt32(MAP_ANONYMOUS)))
    allow(SYS_mprotect, .without(2, UInt32(PROT_EXEC)))
    for call in [SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk] { allow(call) }
  }

  private mutating func allowEnding() {
    for call in [SYS_exit, SYS_exit_group, SYS_getpid, SYS_gettid] { allow(call) }
    // abort(), for instance when memory runs out: this process may send itself that signal.
    allow(SYS_tgkill, .oneOf(0, [UInt32(bitPattern: getpid())]), .oneOf(2, [UInt32(SIGABRT)]))
  }

  /// The C library looks for tables of character sets when zbar asks for a converter, which it doesn't use here.
  private mutating func refuseLibraries() {
    for call in [SYS_openat, SYS_newfstatat, SYS_faccessat, SYS_readlinkat, SYS_fstat] { refuse(call) }
    #if arch(x86_64)
      for call in [SYS_open, SYS_stat, SYS_access, SYS_readlink] { refuse(call) }
    #endif
  }
}
