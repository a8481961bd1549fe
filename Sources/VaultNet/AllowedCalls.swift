import CShims
import Glibc
import Sandbox

extension SystemCallFilter {
  /// All that speaking to servers needs: sockets of the network, threads, memory that can't be executed, clocks, and
  /// reading what Landlock leaves. Other calls fail as if the kernel didn't know them, which libraries can cope with;
  /// starting a program or reaching into a process is the end.
  static func speaking() -> SystemCallFilter {
    var filter = SystemCallFilter()
    filter.allowNetwork()
    filter.allowWaiting()
    filter.allowFiles()
    filter.allowMemory()
    filter.allowThreads()
    filter.allowRest()
    for call in [SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev] {
      filter.forbid(call)
    }
    return filter
  }

  /// No socket of another program on this machine: not the agent's, not D-Bus.
  private mutating func allowNetwork() {
    allow(SYS_socket, .oneOf(0, [UInt32(AF_INET), UInt32(AF_INET6)]), .oneOf(2, [0, 6, 17]))
    // Which addresses this machine has.
    allow(SYS_socket, .oneOf(0, [UInt32(AF_NETLINK)]), .oneOf(2, [0]))
    refuse(SYS_socket)
    // Not of datagrams: those of a pair can be sent to any program's socket.
    let (stream, flags) = (UInt32(1), [UInt32(0), 0x80000, 0x800, 0x80800])
    allow(SYS_socketpair, .oneOf(1, flags.map { stream | $0 }))
    refuse(SYS_socketpair)
    let calls = [
      SYS_connect, SYS_bind, SYS_sendto, SYS_recvfrom, SYS_sendmsg, SYS_recvmsg, SYS_sendmmsg,
      SYS_recvmmsg, SYS_shutdown, SYS_getsockname, SYS_getpeername, SYS_setsockopt, SYS_getsockopt,
    ]
    for call in calls { allow(call) }
    // How much waits at a socket, and that it doesn't block.
    allow(SYS_ioctl, .oneOf(1, [0x541B, 0x5411, 0x5421]))
  }

  private mutating func allowWaiting() {
    let calls = [
      SYS_ppoll, SYS_pselect6, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_eventfd2, SYS_timerfd_create,
      SYS_timerfd_settime, SYS_timerfd_gettime, SYS_restart_syscall, SYS_nanosleep, SYS_clock_nanosleep,
    ]
    for call in calls { allow(call) }
    #if arch(x86_64)
      for call in [SYS_poll, SYS_select, SYS_epoll_wait, SYS_pause] { allow(call) }
    #endif
  }

  private mutating func allowFiles() {
    let calls = [
      SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_lseek, SYS_close, SYS_dup, SYS_dup3, SYS_pipe2,
      SYS_fstat, SYS_newfstatat, SYS_statx, SYS_faccessat, SYS_readlinkat, SYS_getdents64,
      SYS_memfd_create,
    ]
    for call in calls { allow(call) }
    // None that says whom a descriptor sends a signal.
    allow(SYS_fcntl, .oneOf(1, [F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC].map(UInt32.init)))
    // Also where there is no Landlock, nothing is written.
    let writing = UInt32(O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)
    allow(SYS_openat, .without(2, writing))
    refuse(SYS_openat)
    #if arch(x86_64)
      allow(SYS_open, .without(1, writing))
      refuse(SYS_open)
      for call in [SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_pipe, SYS_dup2] { allow(call) }
    #endif
  }

  private mutating func allowMemory() {
    // Nothing ever becomes executable.
    allow(SYS_mmap, .without(2, UInt32(PROT_EXEC)))
    allow(SYS_mprotect, .without(2, UInt32(PROT_EXEC)))
    for call in [SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk, SYS_mlock, SYS_munlock, SYS_mlock2] { allow(call) }
  }

  /// Threads, but no processes. The C library does without `clone3`, whose arguments no filter sees.
  private mutating func allowThreads() {
    let thread: UInt32 = 0x10000
    allow(SYS_clone, .with(0, thread))
    let calls = [
      SYS_futex, SYS_set_robust_list, SYS_rseq, SYS_sched_getaffinity, SYS_sched_yield, SYS_membarrier, SYS_gettid,
      SYS_getpid, SYS_exit, SYS_exit_group, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack,
      SYS_set_tid_address,
    ]
    for call in calls { allow(call) }
    // A thread's name.
    allow(SYS_prctl, .oneOf(0, [15]))
    // abort(), for instance when memory runs out: this process may send itself that signal.
    allow(SYS_tgkill, .oneOf(0, [UInt32(bitPattern: getpid())]), .oneOf(2, [UInt32(SIGABRT)]))
  }

  private mutating func allowRest() {
    let calls = [
      SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday, SYS_getrandom, SYS_uname, SYS_sysinfo, SYS_getuid,
      SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getcpu, SYS_getrusage,
    ]
    for call in calls { allow(call) }
    // Limits are read, not set, and this process's own.
    allow(SYS_prlimit64, .oneOf(0, [0]), .null(2))
    #if arch(x86_64)
      for call in [SYS_time, SYS_getrlimit] { allow(call) }
    #endif
  }
}
