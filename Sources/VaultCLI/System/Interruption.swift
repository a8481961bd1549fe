import Glibc
import Synchronization
import VaultStore

/// Signals that end the program, taken by one thread that does nothing else.
///
/// A signal handler may call almost nothing; a thread that waits for signals may do everything. They are blocked in
/// the first thread before there is a second one, so all threads inherit that, and children get an empty mask back.
enum Interruption {
  private static let signals: [Int32] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
  private static let redirection = Mutex<(@Sendable (Int32) -> Void)?>(nil)

  /// The signals as the C library wants them.
  private static var set: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal) }
    return set
  }

  /// Blocks the signals and starts the thread that waits for them.
  static func start() {
    var blocked = set
    pthread_sigmask(SIG_BLOCK, &blocked, nil)
    guard BackgroundThread.start({ wait() }) else {
      // Without the thread the signals must at least end the program as usual.
      pthread_sigmask(SIG_UNBLOCK, &blocked, nil)
      return
    }
  }

  /// From now on signals only call `handler`, with their number; nil goes back to ending the program.
  static func redirect(to handler: (@Sendable (Int32) -> Void)?) {
    redirection.withLock { $0 = handler }
  }

  private static func wait() {
    var awaited = set
    while true {
      var number: Int32 = 0
      guard sigwait(&awaited, &number) == 0 else { continue }
      if let handler = redirection.withLock({ $0 }) { handler(number) } else { stop() }
    }
  }

  /// Leaves nothing half done behind, and ends.
  private static func stop() -> Never {
    OutputFile.unlinkAll()
    let wasAsking = TerminalModes.restoreAll()
    Console.complain((wasAsking ? "\n" : "") + "vault: interrupted")
    _exit(ExitCodes.interrupted)
  }
}
