import Glibc
import SecretVault
import Synchronization
import VaultDaemon
import VaultStore

/// The shell that runs an editor, and what it has started, for the thread that takes signals.
final class EditorProcess: Sendable {
  /// Milliseconds that an editor has to end.
  private static let patience: Int64 = 2000

  private struct State {
    /// The shell; 0 before it is there, and when it has ended by itself and its number may be another's.
    var shell: pid_t = 0
    var isEnding = false
  }

  private let state = Mutex(State())

  /// Starts it, unless ``end()`` has been called before: then this doesn't return. Nobody looks for the shell until it is noted.
  func start(_ spawn: () throws -> pid_t) throws {
    while try !state.withLock({ state throws in
      guard !state.isEnding else { return false }
      state.shell = try spawn()
      return true
    }) { pause() }
  }

  /// Waits until it ends by itself, and gives its status. If it is ended because this program is, that is for ``end()``'s caller,
  /// and this doesn't return.
  func wait() throws -> Int32 {
    let shell = state.withLock { $0.shell }
    var facts = siginfo_t()
    // It stays a zombie, whose number is nobody else's, until nobody sends it a signal any more.
    while waitid(P_PID, id_t(shell), &facts, WEXITED | WNOWAIT) < 0 {
      guard errno == EINTR else { throw VaultError(.other, "the editor was lost: \(SystemError.text(errno))") }
    }
    while state.withLock({ state in
      state.shell = 0
      return state.isEnding
    }) { pause() }
    var status: Int32 = 0
    while waitpid(shell, &status, 0) < 0 {
      guard errno == EINTR else { throw VaultError(.other, "the editor was lost: \(SystemError.text(errno))") }
    }
    return status
  }

  /// Ends the shell and the editor behind it, which would live on with the text. Returns when they are gone, or nothing helps.
  func end() {
    let shell = state.withLock { state in
      state.isEnding = true
      return state.shell
    }
    guard shell > 0 else { return }
    let all = ProcessTree.descendants(of: shell)
    // The shell first: it must not go on to a next command.
    kill(shell, SIGTERM)
    for process in all { process.send(SIGTERM) }
    guard !Self.wait(for: all, Self.patience) else { return }
    // It may have started others since.
    for process in ProcessTree.descendants(of: shell) + all { process.send(SIGKILL) }
    kill(shell, SIGKILL)
    _ = Self.wait(for: all, Self.patience / 4)
  }

  /// Whether all of them end in so many milliseconds.
  private static func wait(for processes: [ProcessTree.Member], _ limit: Int64) -> Bool {
    let end = Clocks.milliseconds() + limit
    while processes.contains(where: \.isAlive) {
      guard Clocks.milliseconds() < end else { return false }
      usleep(10_000)
    }
    return true
  }
}

/// Processes that a process has started, and theirs.
enum ProcessTree {
  /// One process, told from a later one of the same number by when it began.
  struct Member: Hashable {
    let number: pid_t
    let began: UInt64

    /// Whether it is there and does anything.
    var isAlive: Bool { ProcessTree.facts(of: number).map { $0.began == began && !$0.isDead } ?? false }

    func send(_ signal: Int32) {
      if isAlive { kill(number, signal) }
    }
  }

  /// All below `process`; none where there is no `/proc`.
  static func descendants(of process: pid_t) -> [Member] {
    var children: [pid_t: [Member]] = [:]
    for name in (try? FileNames.list("/proc")) ?? [] {
      guard let number = pid_t(name), let facts = facts(of: number) else { continue }
      children[facts.parent, default: []].append(Member(number: number, began: facts.began))
    }
    var found: [Member] = []
    var next = [process]
    while let parent = next.popLast() {
      // Each is below one parent only, so that this ends.
      let members = children.removeValue(forKey: parent) ?? []
      found += members
      next += members.map(\.number)
    }
    return found
  }

  /// What `/proc/N/stat` says, proc(5): the name, which may hold anything, stands in parentheses before what counts.
  private static func facts(of process: pid_t) -> (parent: pid_t, began: UInt64, isDead: Bool)? {
    guard let bytes = try? PublicFile.read(path: "/proc/\(process)/stat", limit: 4096),
      let end = bytes.lastIndex(of: UInt8(ascii: ")"))
    else { return nil }
    let fields = String(decoding: bytes[(end + 1)...], as: UTF8.self).split(separator: " ")
    guard fields.count > 19, let parent = pid_t(fields[1]), let began = UInt64(fields[19]) else { return nil }
    return (parent, began, ["Z", "X", "x"].contains(fields[0]))
  }
}
