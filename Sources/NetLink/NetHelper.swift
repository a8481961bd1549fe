import Concurrency
import Glibc
import Synchronization

/// Starts `vault-net` when a server is needed, and keeps one for everybody in this process.
package final class NetHelper: Sendable {
  package static let shared = NetHelper()

  private struct Running {
    let process: NetProcess
    let surroundings: [FileStamp]
    let startedAt: ContinuousClock.Instant
  }

  private struct State {
    var running: Running?
    var pause = RestartPause()
    /// Why none could be started last.
    var fault: NetFault?
  }

  /// What a file was when the helper opened it for itself: what takes its place later it may not open.
  private struct FileStamp: Equatable {
    let device: dev_t
    let file: ino_t
    /// Names in a folder come and go while it stays the same one.
    let seconds: Int
    let nanoseconds: Int

    init(_ path: String) {
      var status = stat()
      let isThere = stat(path, &status) == 0
      device = isThere ? status.st_dev : 0
      file = isThere ? status.st_ino : 0
      seconds = isThere ? status.st_mtim.tv_sec : 0
      nanoseconds = isThere ? status.st_mtim.tv_nsec : 0
    }
  }

  package static var surroundings: [String] {
    var paths = ["/etc/resolv.conf", "/etc/hosts"]
    if let file = getenv("SSL_CERT_FILE") { paths.append(String(cString: file)) }
    if let folders = getenv("SSL_CERT_DIR") {
      paths += String(cString: folders).split(separator: ":").map(String.init)
    }
    return paths
  }

  /// What proxies and certificates need; nothing else of the environment is passed on.
  private static let variables = [
    "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "SSL_CERT_FILE",
    "SSL_CERT_DIR",
  ]

  private let path: String?
  /// See ``NetProcess``.
  private let patience: Int32
  private let watched: [String]
  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  /// With `path`, that program instead of the one beside this one. When anything at `watched` changes, another process
  /// takes over.
  package init(
    path: String? = nil, patience: Int32 = 15_000, watched: [String] = surroundings,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.path = path
    self.patience = patience
    self.watched = watched
    self.now = now
  }

  deinit { state.withLock { $0.running?.process.retire() } }

  /// What to do if there is no helper, whatever the network is like.
  package var hint: String? { state.withLock { $0.fault ?? $0.running?.process.fault }?.hint }

  /// The process that runs, or a new one.
  func process() throws(NetFault) -> NetProcess {
    let result: Result<NetProcess, NetFault> = state.withLock { state in
      let surroundings = watched.map(FileStamp.init)
      if let running = state.running {
        if !running.process.hasEnded && running.surroundings == surroundings { return .success(running.process) }
        state.running = nil
        if let fault = running.process.fault {
          state.pause.note(fault, hadAnswered: running.process.hasAnswered, startedAt: running.startedAt)
        }
        running.process.retire()
      }
      let now = now()
      if let fault = state.pause.fault(at: now) {
        state.fault = fault
        return .failure(fault)
      }
      do throws(NetFault) {
        let process = try start()
        state.fault = nil
        state.running = Running(process: process, surroundings: surroundings, startedAt: now)
        return .success(process)
      } catch {
        state.fault = error
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Asks the process for something new. One that has just ended for want of use is none.
  func begin(
    _ receiver: any NetProcess.Receiver, _ frames: (UInt64) -> [NetFrame]
  ) throws(NetFault) -> (process: NetProcess, id: UInt64) {
    let first = try process()
    do throws(NetFault) { return (first, try first.begin(receiver, frames)) } catch {
      guard first.hasEnded else { throw error }
      let second = try process()
      return (second, try second.begin(receiver, frames))
    }
  }

  private func start() throws(NetFault) -> NetProcess {
    let path = if let path { path } else { try Self.found() }
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw Self.fault(errno)
    }
    let socket = FrameSocket(ends[0], isOfVault: true, patience: .milliseconds(2 * Int(patience)))
    defer { close(ends[1]) }
    let nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)
    guard nowhere >= 0 else { throw Self.fault(errno) }
    defer { close(nowhere) }
    let standard = [ends[1], nowhere, nowhere]
    return try NetProcess.started(socket: socket, patience: patience) {
      do throws(Subprocess.Failure) {
        return .success(
          try Subprocess.start(path, ["vault-net"], environment: Self.environment(), standard: standard))
      } catch {
        switch error {
        case .system(let number): return .failure(Self.fault(number))
        case .libraryTooOld: return .failure(.unstartable("this system's C library is too old"))
        }
      }
    }
  }

  private static func found() throws(NetFault) -> String {
    guard let own = Subprocess.ownPath() else { throw .unstartable("nothing says where this program lies") }
    let candidates = Subprocess.candidates(for: "vault-net", beside: own)
    guard let path = candidates.first(where: { access($0, X_OK) == 0 }) else { throw .missing(candidates: candidates) }
    return path
  }

  private static func environment() -> [String] {
    variables.compactMap { name in getenv(name).map { name + "=" + String(cString: $0) } }
  }

  private static func fault(_ number: Int32) -> NetFault {
    number == EMFILE || number == ENFILE
      ? .tooManyFiles : .unstartable(String(cString: strerror(number)).lowercased())
  }
}
