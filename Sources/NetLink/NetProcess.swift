import Concurrency
import Dispatch
import Glibc
import Synchronization

/// The helper `vault-net` while it runs: who waits for what from it, a thread that reads and one that writes.
///
/// Nothing that it says is trusted: a message that nobody waits for, or that is longer than it may be, is its end, and
/// so is silence while an answer is due.
final class NetProcess: Sendable {
  /// Who waits for the messages of one number.
  protocol Receiver: AnyObject, Sendable {
    /// It has this number now. Nothing has been sent or has come yet.
    func begins(_ process: NetProcess, _ id: UInt64)
    /// Longest body of a message of this kind that may come now; nil: none may.
    func limit(of kind: NetFrame.Kind) -> Int?
    func take(_ frame: NetFrame) -> Verdict
    /// Nothing comes any more.
    func end(_ fault: NetFault)
  }

  enum Verdict {
    case more, last
    /// It isn't what it should be.
    case senseless
  }

  private struct State {
    var receivers: [UInt64: any Receiver] = [:]
    /// Numbers that an answer is due for.
    var due: Set<UInt64> = []
    var outgoing: [NetFrame] = []
    var outgoingByteCount = 0
    var lastID: UInt64 = 0
    var isRetired = false
    var hasAnswered = false
    var fault: NetFault?
  }

  private enum Limits {
    /// Milliseconds that it stays without use.
    static let idle: Int32 = 60_000
    /// Bytes that wait to be written, and numbers in use.
    static let outgoing = 32 << 20
    static let receivers = 2048
  }

  let process: pid_t
  /// Milliseconds of silence, while an answer is due, until it is asked whether it is there, and again until it is
  /// given up.
  private let patience: Int32
  private let socket: FrameSocket
  /// A pipe that wakes the reading thread.
  private let wake: (read: Int32, write: Int32)
  private let state = Mutex(State())
  private let written = DispatchSemaphore(value: 0)

  /// Takes over a process, and the socket to it. Whoever has started it reads from it next, on the same thread.
  init(_ process: pid_t, socket: FrameSocket, patience: Int32) throws(NetFault) {
    self.process = process
    self.patience = patience
    self.socket = socket
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      kill(-process, SIGKILL)
      waitpid(process, nil, 0)
      throw .tooManyFiles
    }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    wake = (ends[0], ends[1])
    send(NetFrame(.version, version: NetVersion.text))
    guard BackgroundThread.start({ self.write() }) else {
      fail(.unstartable("no thread is left"))
      throw .unstartable("no thread is left")
    }
  }

  deinit {
    close(wake.read)
    close(wake.write)
  }

  var hasEnded: Bool { state.withLock { $0.fault != nil || $0.isRetired } }

  var fault: NetFault? { state.withLock { $0.fault } }

  /// Whether it has been of any use.
  var hasAnswered: Bool { state.withLock { $0.hasAnswered } }

  var hasReceivers: Bool { state.withLock { !$0.receivers.isEmpty } }

  // MARK: Asking

  /// Sends messages of a new number, and lets `receiver` wait for what comes of it.
  func begin(_ receiver: any Receiver, _ frames: (UInt64) -> [NetFrame]) throws(NetFault) -> UInt64 {
    let result: Result<UInt64, NetFault> = state.withLock { state in
      if let fault = state.fault { return .failure(fault) }
      guard state.receivers.count < Limits.receivers else { return .failure(.busy) }
      let id = state.lastID &+ 1
      let frames = frames(id)
      do throws(NetFault) { try NetFrame.check(frames) } catch { return .failure(error) }
      guard Self.enqueue(frames, &state) else { return .failure(.busy) }
      receiver.begins(self, id)
      state.lastID = id
      state.receivers[id] = receiver
      state.due.insert(id)
      return .success(id)
    }
    let id = try result.get()
    written.signal()
    nudge()
    return id
  }

  /// Sends one more message. What doesn't fit is dropped, and so is what comes too late.
  @discardableResult
  func send(_ frame: NetFrame) -> Bool {
    guard (try? NetFrame.check([frame])) != nil else { return false }
    let isTaken = state.withLock { $0.fault == nil && Self.enqueue([frame], &$0) }
    if isTaken { written.signal() }
    return isTaken
  }

  /// Nothing is awaited for this number just now.
  func setNotDue(_ id: UInt64) { state.withLock { _ = $0.due.remove(id) } }

  /// Nothing new is asked of it. It ends when all is done.
  func retire() {
    state.withLock { $0.isRetired = true }
    nudge()
  }

  private static func enqueue(_ frames: [NetFrame], _ state: inout State) -> Bool {
    let count = frames.reduce(0) { $0 + $1.byteCount }
    guard state.outgoingByteCount + count <= Limits.outgoing else { return false }
    state.outgoing += frames
    state.outgoingByteCount += count
    return true
  }

  private func nudge() {
    var one: UInt8 = 1
    _ = Glibc.write(wake.write, &one, 1)
  }

  // MARK: The threads

  private func write() {
    while true {
      written.wait()
      let next: [NetFrame]? = state.withLock { state in
        guard state.fault == nil else { return nil }
        defer { state.outgoing = [] }
        return state.outgoing
      }
      guard let next else { return }
      for frame in next {
        // Why it failed is known to who reads.
        guard (try? socket.write(frame)) != nil else { return socket.shutdown() }
        state.withLock { $0.outgoingByteCount -= frame.byteCount }
      }
    }
  }

  /// Until nobody needs it any more.
  func read() {
    var isGreeted = false
    var isAsked = false
    // A pong may come behind what was sent before it.
    var awaitsPong = false
    // Since when nothing has come that was due: what is asked meanwhile doesn't begin the wait anew.
    var quiet: ContinuousClock.Instant?
    while true {
      let (isDue, isUsed, isRetired) = state.withLock { (!$0.due.isEmpty, !$0.receivers.isEmpty, $0.isRetired) }
      if isRetired && !isUsed && fail(.ended("ended"), ifUnused: true) { return }
      let since = quiet ?? .now
      quiet = isDue ? since : nil
      let left = Double(patience) - since.duration(to: .now) / .milliseconds(1)
      let pause = isDue ? Int32(max(0, left.rounded(.up))) : isUsed ? -1 : Limits.idle
      switch socket.wait(pause, wake: wake.read) {
      case .woken:
        isAsked = isAsked && isDue
        continue
      case .nothing where isDue:
        if isAsked { return end(.silent) }
        isAsked = true
        awaitsPong = true
        quiet = nil
        send(NetFrame(.ping, 0))
        continue
      case .nothing:
        // Whoever comes next starts a new one.
        if !isUsed { retire() }
        continue
      case .something: isAsked = false
      }
      do throws(FrameSocket.Fault) {
        let frame = try socket.read { isGreeted ? accepts($0) : $0.kind == .ownVersion && $0.id == 0 }
        quiet = nil
        guard isGreeted else {
          guard let version = try? NetFrame.version(frame.body) else { return end(.senseless) }
          guard version == NetVersion.text else { return end(.otherVersion(version)) }
          isGreeted = true
          continue
        }
        if frame.kind == .pong {
          guard awaitsPong else { return end(.senseless) }
          awaitsPong = false
          continue
        }
        switch state.withLock({ $0.receivers[frame.id] })?.take(frame) {
        case .more: state.withLock { $0.hasAnswered = true }
        case .last: forget(frame.id)
        case .senseless, nil: return end(.senseless)
        }
      } catch {
        switch error {
        case .ended: return end(.ended(reaped(within: 200) ?? "ended"))
        case .senseless: return end(.senseless)
        case .silent: return end(.silent)
        case .noMemory: return end(.ended("was ended, for no memory is left for keys"))
        }
      }
    }
  }

  private func accepts(_ head: FrameHead) -> Bool {
    if head.kind == .pong { return true }
    guard let receiver = state.withLock({ $0.receivers[head.id] }) else { return false }
    return receiver.limit(of: head.kind).map { head.bodyByteCount <= $0 } ?? false
  }

  private func forget(_ id: UInt64) {
    state.withLock {
      $0.hasAnswered = true
      $0.receivers[id] = nil
      $0.due.remove(id)
    }
  }

  func end(_ fault: NetFault) { fail(fault) }

  /// Ends the process, and says so to everybody who waits. False: somebody began to wait for something.
  @discardableResult
  private func fail(_ fault: NetFault, ifUnused: Bool = false) -> Bool {
    let receivers: [any Receiver]? = state.withLock { state in
      guard !ifUnused || state.receivers.isEmpty else { return nil }
      guard state.fault == nil else { return [] }
      state.fault = fault
      defer {
        state.receivers = [:]
        state.due = []
        state.outgoing = []
      }
      return Array(state.receivers.values)
    }
    guard let receivers else { return false }
    socket.shutdown()
    written.signal()
    for receiver in receivers { receiver.end(fault) }
    if reaped(within: 0) == nil {
      kill(-process, SIGKILL)
      // Nothing outlives that signal; only a process in the middle of a dead disk's work keeps it waiting.
      _ = reaped(within: 2000)
    }
    return true
  }

  /// How it ended, if it does in so many milliseconds.
  private func reaped(within milliseconds: Int) -> String? {
    for _ in 0...(milliseconds / 5) {
      var status: Int32 = 0
      let result = waitpid(process, &status, WNOHANG)
      if result == process {
        let signal = status & 0x7F
        if signal == SIGSYS { return "tried something that it may not do, so it was stopped" }
        return signal == 0 ? "ended" : "was ended by signal \(signal)"
      }
      if result < 0 && errno != EINTR { return "ended" }
      if milliseconds > 0 { usleep(5000) }
    }
    return nil
  }
}

extension NetProcess.Receiver {
  func begins(_ process: NetProcess, _ id: UInt64) {}
}
