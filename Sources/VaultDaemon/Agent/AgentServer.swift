import Concurrency
import Dispatch
import Glibc
import SecretVault
import ShamirKit
import Sodium
import VaultStore
import WireCodec

/// The agent: answers commands of the same user at a local socket, and watches what it keeps. It lives in `vault
/// daemon`.
///
/// One thread does all of it, and never waits for a single connection: each has a moment for its one request, there are
/// few of them, and what a request asks for is a matter of memory.
final class AgentServer: Sendable {
  /// In the state folder.
  static let socketName = "agent.socket"
  /// Of the file whose lock says that an agent is alive.
  static let lockName = "agent.lock"
  /// Connections at a time; the oldest makes room.
  static let connectionLimit = 16
  /// Milliseconds that a connection has for its request.
  private static let patience: Int64 = 2000
  /// Milliseconds between looks at the clocks while something is kept.
  private static let interval: Int32 = 500

  /// Opens the vault of a locked daemon with the stretched passphrase. Says why it doesn't.
  typealias Opening = @Sendable (borrowing SecretBytes) -> AgentAnswer.Refusal?

  let memory: AgentMemory
  private let opening: Opening?
  private let folder: String
  private let listener: LocalSocket
  private let lock: Int32
  private let stopping: (read: Int32, write: Int32)
  private let ended = DispatchSemaphore(value: 0)

  /// Starts an agent. Throws if there is one already, or none can be had; then the daemon does without.
  /// `opening` has its turn before a passphrase is kept.
  static func start(_ folders: VaultFolders, memory: AgentMemory, opening: Opening? = nil) throws -> AgentServer {
    let server = try AgentServer(folders.state, memory, opening)
    guard BackgroundThread.start({ server.serve() }) else {
      server.ended.signal()
      server.stop()
      throw VaultError(.inputOutput, "the agent can't be started: the system has no thread left")
    }
    return server
  }

  private init(_ folder: String, _ memory: AgentMemory, _ opening: Opening?) throws {
    let lock = try Self.takeLock(folder)
    // Whose lock this is, theirs is the socket: what lies there is a dead agent's.
    unlink("\(folder)/\(Self.socketName)")
    var ends: [Int32] = [-1, -1]
    guard let listener = LocalSocket.listen(at: Self.socketName, in: folder, waiting: Int32(Self.connectionLimit)),
      socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0
    else {
      let reason = SystemError.text(errno)
      close(lock)
      throw VaultError(.inputOutput, "the agent can't listen at \(folder)/\(Self.socketName): \(reason)")
    }
    self.folder = folder
    self.memory = memory
    self.opening = opening
    self.lock = lock
    self.listener = listener
    stopping = (ends[0], ends[1])
  }

  private static func takeLock(_ folder: String) throws -> Int32 {
    let path = "\(folder)/\(lockName)"
    let lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard lock >= 0 else {
      throw VaultError(.inputOutput, "the agent can't open \(path): \(SystemError.text(errno))")
    }
    guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      close(lock)
      throw VaultError(.inputOutput, "another daemon of this vault has the agent")
    }
    return lock
  }

  deinit {
    close(lock)
    close(stopping.read)
    close(stopping.write)
  }

  /// Locks everything and ends the agent.
  func stop() {
    memory.lockAll("the daemon ends")
    _ = write(stopping.write, "", 1)
    ended.wait()
    memory.lockAll("the daemon ends")
    unlink("\(folder)/\(Self.socketName)")
    // Whatever still refers to this: the next one may begin.
    flock(lock, LOCK_UN)
  }

  // MARK: - The thread

  private struct Connection {
    let socket: LocalSocket
    let end: Int64
  }

  private func serve() {
    defer { ended.signal() }
    // Exactly as long as the longest request: what is longer is known by not fitting.
    guard var buffer = try? SecretBytes(zeros: AgentMessage.requestLimit) else {
      // Nobody waits for an agent that isn't there.
      unlink("\(folder)/\(Self.socketName)")
      return
    }
    var connections: [Connection] = []
    while true {
      memory.expire()
      var waiting = [
        pollfd(fd: stopping.read, events: Int16(POLLIN), revents: 0),
        pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      waiting += connections.map { pollfd(fd: $0.socket.descriptor, events: Int16(POLLIN), revents: 0) }
      let isIdle = memory.isEmpty && connections.isEmpty
      _ = poll(&waiting, nfds_t(waiting.count), isIdle ? -1 : Self.interval)
      if waiting[0].revents != 0 { return }
      let now = Clocks.milliseconds()
      var left: [Connection] = []
      for (connection, state) in zip(connections, waiting.dropFirst(2)) {
        // What is there is taken, however late this thread had its turn.
        if state.revents != 0, take(from: connection.socket, &buffer) { continue }
        if now < connection.end { left.append(connection) }
      }
      connections = left
      if waiting[1].revents != 0 { admit(&connections) }
    }
  }

  private func admit(_ connections: inout [Connection]) {
    guard let socket = listener.accept() else {
      // Out of descriptors, for example: a moment's rest instead of asking for ever.
      if errno != EAGAIN, errno != ECONNABORTED, errno != EINTR { usleep(100_000) }
      return
    }
    // Folder and mode keep other users out, and this would if they didn't.
    guard socket.isOwnUser else { return }
    if connections.count >= Self.connectionLimit { connections.removeFirst() }
    connections.append(Connection(socket: socket, end: Clocks.milliseconds() + Self.patience))
  }

  /// Takes a connection's request and answers it. False if there is none yet; otherwise the connection has had its
  /// turn.
  private func take(from socket: LocalSocket, _ buffer: inout SecretBytes) -> Bool {
    switch socket.receive(into: &buffer) {
    case .nothing: return false
    case .end: return true
    case .unfit: refuse(socket, .notUnderstood)
    case .message(let count, let descriptor):
      let request = try? AgentRequest(message: buffer.bytes.extracting(first: count))
      if let request {
        answer(request, buffer, descriptor, to: socket)
      } else {
        if descriptor >= 0 { close(descriptor) }
        refuse(socket, .notUnderstood)
      }
      buffer.wipe()
    }
    return true
  }

  private func refuse(_ socket: LocalSocket, _ reason: AgentAnswer.Refusal) { send(.refused(reason), to: socket) }

  private func send(_ answer: AgentAnswer, to socket: LocalSocket) {
    guard let message = try? answer.message() else { return }
    _ = socket.send(message)
  }

  private func send(_ answer: AgentAnswer, _ key: AgentMemory.Key, _ descriptor: Int32 = -1, to socket: LocalSocket) {
    let copy: SecretBytes? = try? key.bytes.duplicate()
    guard let message = try? answer.message(key: copy) else { return }
    _ = socket.send(message, descriptor: descriptor)
  }

  private func answer(
    _ request: AgentRequest, _ message: borrowing SecretBytes, _ descriptor: Int32, to socket: LocalSocket
  ) {
    if case .keepSecret(let id, let byteCount) = request {
      return keep(id, byteCount, message, descriptor, to: socket)
    }
    guard descriptor < 0 else {
      close(descriptor)
      return refuse(socket, .notUnderstood)
    }
    switch request {
    case .status: send(.status(memory.status()), to: socket)
    case .keepPassphrase:
      guard let key = try? AgentMessage.key(in: message) else { return refuse(socket, .notUnderstood) }
      if let refusal = opening?(key) { return refuse(socket, refusal) }
      send(memory.keepPassphrase(key).map { .refused($0) } ?? .done, to: socket)
    case .passphrase:
      guard let key = memory.passphrase() else { return send(.locked, to: socket) }
      send(.key, key, to: socket)
    case .fileKey(let id):
      guard let found = memory.secret(id) else { return send(.locked, to: socket) }
      send(.key, found.key, to: socket)
    case .secret(let id):
      guard let found = memory.secret(id) else { return send(.locked, to: socket) }
      send(.secret(byteCount: found.byteCount), found.key, found.ciphertext.descriptor, to: socket)
    case .lock(let id):
      memory.lock(id)
      send(.done, to: socket)
    case .lockAll:
      memory.lockAll("as asked")
      send(.done, to: socket)
    case .keepSecret: refuse(socket, .notUnderstood)
    }
  }

  private func keep(
    _ id: SecretID, _ byteCount: UInt64, _ message: borrowing SecretBytes, _ descriptor: Int32, to socket: LocalSocket
  ) {
    guard descriptor >= 0 else { return refuse(socket, .unfitFile) }
    guard let given = try? CiphertextFile(owning: descriptor), (try? given.byteCount()) == byteCount else {
      return refuse(socket, .unfitFile)
    }
    // Without /proc it stays as it is: whoever changes the ciphertext finds that it doesn't verify any more.
    let ciphertext = (try? given.readOnly()) ?? given
    guard let key = try? AgentMessage.key(in: message) else { return refuse(socket, .notUnderstood) }
    send(memory.keep(id, key, ciphertext, byteCount: byteCount).map { .refused($0) } ?? .done, to: socket)
  }
}
