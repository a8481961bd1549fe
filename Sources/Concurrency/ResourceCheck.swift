import Glibc

/// Whether this process can have what neither Swift's runtime nor Dispatch can do without: they trap, or wait for ever,
/// where they can't. To be asked before anything else, even the arguments.
package enum ResourceCheck {
  /// Descriptors that a program needs at once, beside the standard ones: a daemon that makes its event loops is the one
  /// that traps without.
  private static let descriptorCount = 32
  private static let threadCount: Int32 = 8
  /// Bytes of address space that must be left beside the threads.
  private static let spareByteCount = 64 << 20

  package static func problem() -> String? { descriptors() ?? arguments() }

  private static func words(_ code: Int32) -> String { String(cString: strerror(code)).lowercased() }

  private static func descriptors() -> String? {
    var taken: [Int32] = []
    defer { for descriptor in taken { close(descriptor) } }
    // Something that is surely there, whatever the caller has closed.
    let root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard root >= 0 else { return refused("no file can be opened", errno, "ulimit -n") }
    taken.append(root)
    while taken.count < descriptorCount {
      let descriptor = dup(root)
      guard descriptor >= 0 else {
        return refused("only \(taken.count) of \(descriptorCount) files can be open at once", errno, "ulimit -n")
      }
      taken.append(descriptor)
    }
    return nil
  }

  /// The runtime reads the arguments from there.
  private static func arguments() -> String? {
    let file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else {
      return "the arguments can't be read from /proc/self/cmdline (\(words(errno))); mount /proc"
    }
    defer { close(file) }
    var byte: UInt8 = 0
    guard read(file, &byte, 1) == 1 else { return "the arguments can't be read from /proc/self/cmdline; it is empty" }
    return nil
  }

  /// The same of threads, which takes longer than the rest: before the first one is made.
  package static func threads() -> String? {
    let count = Int(threadCount) + max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    // Held while the threads are made, so that all of them are there at once.
    let gate = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    gate.initialize(to: pthread_mutex_t())
    defer { gate.deallocate() }
    pthread_mutex_lock(gate)
    var made: [pthread_t] = []
    var problem: String?
    while made.count < count, problem == nil {
      var thread = pthread_t()
      let failure = pthread_create(&thread, nil, passThrough, gate)
      if failure == 0 {
        made.append(thread)
      } else {
        problem = refused("only \(made.count) of \(count) threads can be made", failure, "ulimit -v, ulimit -u")
      }
    }
    if problem == nil {
      let spare = mmap(nil, spareByteCount, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
      if let spare, spare != MAP_FAILED {
        munmap(spare, spareByteCount)
      } else {
        problem = refused("too little memory can be had", errno, "ulimit -v")
      }
    }
    pthread_mutex_unlock(gate)
    for thread in made { pthread_join(thread, nil) }
    return problem
  }

  private static let passThrough: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { argument in
    guard let gate = argument?.assumingMemoryBound(to: pthread_mutex_t.self) else { return nil }
    pthread_mutex_lock(gate)
    pthread_mutex_unlock(gate)
    return nil
  }

  private static func refused(_ what: String, _ code: Int32, _ limits: String) -> String {
    "\(what) (\(words(code))); raise the limits of this process: \(limits)"
  }
}
