import Concurrency
import Glibc
import SecretVault
import Synchronization
import VaultStore

/// Signals that end the program, taken by one thread that does nothing else.
///
/// A signal handler may call almost nothing; a thread that waits for signals may do everything. They are blocked in
/// the first thread before there is a second one, so all threads inherit that, and children get an empty mask back.
/// What comes before the thread is there waits for it.
enum Interruption {
  private static let candidates: [Int32] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
  private static let redirection = Mutex<(@Sendable (Int32) -> Void)?>(nil)
  private static let isEnding = Atomic<Bool>(false)
  /// Comes behind all signals that are taken, as those with lower numbers are given out first (next_signal in Linux).
  private static let marker = SIGURG
  private static let markersSent = Atomic<Int>(0)
  private static let markersTaken = Atomic<Int>(0)
  private static let isWaiting = Atomic<Bool>(false)
  private static let wantsJSON = Atomic<Bool>(false)
  private static let farewell = Mutex<(@Sendable () -> Farewell)?>(nil)

  /// The last words of a program that a signal ends.
  struct Farewell: Sendable {
    let error: VaultError
    /// What still belongs on standard output.
    var result: String?
  }

  /// Blocks the signals that end this program, first of all, and returns them. Those that the caller ignores are none
  /// of them: SIGHUP under nohup, SIGINT and SIGQUIT in the background of a script.
  static func hold() -> [Int32] {
    let signals = candidates.filter { !isIgnored($0) }
    block(signals + [marker])
    return signals
  }

  /// Starts the thread that waits for the signals which ``hold()`` has blocked. For a daemon, SIGTERM and SIGHUP are among
  /// them whatever the caller ignores; the latter only ever for ``redirect(to:)``, then.
  static func start(_ held: [Int32], isDaemon: Bool, console: Console) {
    wantsJSON.store(console.json, ordering: .relaxed)
    var signals = held
    for number in isDaemon ? [SIGTERM, SIGHUP] : [] where !signals.contains(number) {
      block([number])
      signal(number, SIG_DFL)
      signals.append(number)
    }
    let awaited = signals
    let spared = held.contains(SIGHUP) ? nil : SIGHUP
    guard BackgroundThread.start({ wait(for: awaited, sparing: spared, console) }) else {
      // Without the thread the signals must at least end the program as usual.
      var set = set(of: signals)
      pthread_sigmask(SIG_UNBLOCK, &set, nil)
      return
    }
    isWaiting.store(true, ordering: .releasing)
  }

  /// From now on signals only call `handler`, with their number; nil goes back to ending the program.
  static func redirect(to handler: (@Sendable (Int32) -> Void)?) {
    redirection.withLock { $0 = handler }
  }

  /// What a signal that ends the program makes it say, in about half a second; nil goes back to the usual.
  static func say(_ words: (@Sendable () -> Farewell)?) { farewell.withLock { $0 = words } }

  /// Returns when all signals that have been sent until now were taken: other processes may have had the same ones, and be
  /// done with them, while they still wait for the thread here.
  static func settle() {
    guard isWaiting.load(ordering: .acquiring) else { return }
    let number = markersSent.add(1, ordering: .acquiringAndReleasing).newValue
    while markersTaken.load(ordering: .acquiring) < number {
      // The thread may just have taken one that was sent before.
      kill(getpid(), marker)
      usleep(1000)
    }
  }

  /// Ends the program as a signal does, unless it has ended by itself before: for an orderly end that may get stuck, as
  /// a thread does that writes into a full pipe or to a stopped terminal. False if the system has no thread left for that.
  @discardableResult
  static func end(afterMilliseconds time: UInt32) -> Bool {
    BackgroundThread.start {
      usleep(time * 1000)
      end()
    }
  }

  /// Ends the program as a signal does: for a handler of ``redirect(to:)`` that has done what it wanted to do before.
  static func end() { stop(Console(json: wantsJSON.load(ordering: .relaxed), quiet: false)) }

  /// Waits for the end if a signal is just bringing it about: its exit code counts, and what fails now failed by it.
  static func yieldIfEnding() {
    while isEnding.load(ordering: .acquiring) { usleep(10_000) }
  }

  static func isIgnored(_ signal: Int32) -> Bool {
    var action = sigaction()
    guard sigaction(signal, nil, &action) == 0 else { return false }
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// In this thread.
  static func block(_ signals: [Int32]) {
    var blocked = set(of: signals)
    pthread_sigmask(SIG_BLOCK, &blocked, nil)
  }

  private static func set(of signals: [Int32]) -> sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal) }
    return set
  }

  private static func wait(for signals: [Int32], sparing spared: Int32?, _ console: Console) {
    var awaited = set(of: signals + [marker])
    while true {
      // A marker that is taken now is behind all that came before these were sent.
      let sent = markersSent.load(ordering: .acquiring)
      var number: Int32 = 0
      guard sigwait(&awaited, &number) == 0 else { continue }
      guard number != marker else {
        markersTaken.store(sent, ordering: .releasing)
        continue
      }
      if let handler = redirection.withLock({ $0 }) { handler(number) } else if number != spared { stop(console) }
    }
  }

  /// Leaves nothing half done behind, and ends. Takes no lock that another thread may hold while it writes, and waits
  /// for nobody: a full pipe or a stopped terminal costs the last words, not the end.
  private static func stop(_ console: Console) -> Never {
    isEnding.store(true, ordering: .releasing)
    OutputFile.unlinkAll()
    ClearFolder.removeAll()
    // Setting a terminal's modes from the background would stop the program.
    block([SIGTTOU])
    let wasAsking = TerminalModes.restoreAll()
    // Another thread may fill the last room between the look at it and the write.
    BackgroundThread.start {
      usleep(900_000)
      _exit(ExitCodes.interrupted)
    }
    let farewell = farewell.withLock { $0 }?() ?? usual()
    if let result = farewell.result { write(result + "\n", to: STDOUT_FILENO) }
    let erasure = ProgressLine.isOnScreen ? ProgressLine.erasure : wasAsking ? "\n" : ""
    let lines = Console.lines(of: farewell.error, list: [], json: console.json, on: .error)
    write(erasure + lines.joined(separator: "\n") + "\n", to: STDERR_FILENO)
    // Others went on meanwhile.
    OutputFile.unlinkAll()
    ClearFolder.removeAll()
    _exit(ExitCodes.interrupted)
  }

  /// What a program says that has not said otherwise.
  private static func usual() -> Farewell {
    guard let written = OutputFile.endNaming(), !written.isEmpty else {
      return Farewell(error: VaultError(.interrupted, "interrupted"))
    }
    return Farewell(
      error: VaultError(
        .interrupted, "interrupted after all of \(written.joined(separator: ", ")) was written; it stays there"))
  }

  /// Writes what there is room for just now.
  private static func write(_ words: String, to descriptor: Int32) {
    var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    if poll(&room, 1, 200) > 0, room.revents & Int16(POLLOUT) != 0 {
      _ = Glibc.write(descriptor, words, words.utf8.count)
    }
  }
}
