import Foundation
import Glibc
import Synchronization
import Testing

/// Somebody who means harm: a thread that opens connections to a daemon as fast as it is allowed to, and opens new ones
/// for those that the daemon closes.
final class Attacker: Sendable {
  /// What a connection does once it stands.
  enum Habit: Hashable, Sendable {
    /// Nothing, ever.
    case silent
    /// One byte of a frame that could be valid, twice a second.
    case drip
    /// Ends its own side at once and keeps the other one open.
    case halfClosed
    /// Sends these bytes and waits.
    case sends([UInt8])
  }

  private struct Connection {
    let socket: Int32
    let habit: Habit
    var isConnected = false
    var sent = 0
    var lastDrip = 0.0
  }

  private let host: UInt32
  private let port: UInt16
  private let habits: [Habit]
  private let sources: [UInt32]
  private let width: Int
  private let rate: Double
  private let isStopping = Atomic<Bool>(false)
  private let hasEnded = Atomic<Bool>(false)
  private let made = Atomic<Int>(0)

  /// Keeps up to `width` connections open, and opens at most `rate` a second, from `sources` in turn: addresses of this
  /// machine as numbers, 127.0.0.1 being 0x7F00_0001.
  init(_ victim: Peer, _ habits: [Habit], from sources: [UInt32], width: Int, rate: Double) {
    host = victim.host.split(separator: ".").reduce(0) { $0 << 8 | (UInt32($1) ?? 0) }
    port = UInt16(truncatingIfNeeded: victim.daemonPort)
    self.habits = habits
    self.sources = sources
    self.width = width
    self.rate = rate
  }

  /// Connections that stood.
  var connectionCount: Int { made.load(ordering: .relaxed) }

  /// Begins.
  func start() throws {
    Self.raiseDescriptorLimit()
    let thread = ThreadBody { [self] in attack() }
    var handle = pthread_t()
    let failure = pthread_create(
      &handle, nil,
      { raw in
        guard let raw else { return nil }
        Unmanaged<ThreadBody>.fromOpaque(raw).takeRetainedValue().run()
        return nil
      }, Unmanaged.passRetained(thread).toOpaque())
    try #require(failure == 0)
    pthread_detach(handle)
  }

  /// Closes all connections, and waits until that is done.
  func stop() async throws {
    isStopping.store(true, ordering: .relaxed)
    while !hasEnded.load(ordering: .acquiring) { try await Task.sleep(for: .milliseconds(10)) }
  }

  private static func raiseDescriptorLimit() {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard getrlimit(resource, &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(resource, &limit)
  }

  private func attack() {
    var connections: [Connection] = []
    var opened = 0.0
    let began = Child.now()
    var scratch = [UInt8](repeating: 0, count: 4096)
    while !isStopping.load(ordering: .relaxed) {
      let now = Child.now()
      while connections.count < width, opened < (now - began) * rate {
        let number = Int(opened)
        opened += 1
        guard let socket = connect(from: sources[number % sources.count]) else { continue }
        connections.append(Connection(socket: socket, habit: habits[number % habits.count]))
      }
      wait(for: connections)
      var left: [Connection] = []
      left.reserveCapacity(connections.count)
      for var connection in connections {
        if act(&connection, now, &scratch) { left.append(connection) } else { close(connection.socket) }
      }
      connections = left
    }
    for connection in connections { close(connection.socket) }
    hasEnded.store(true, ordering: .releasing)
  }

  private func connect(from source: UInt32) -> Int32? {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    // Closing resets the connection, so that no port stays taken.
    var abrupt = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &abrupt, socklen_t(MemoryLayout<linger>.size))
    guard Self.with(source, 0, { bind(descriptor, $0, $1) }) == 0 else {
      close(descriptor)
      return nil
    }
    if Self.with(host, port, { Glibc.connect(descriptor, $0, $1) }) == 0 || errno == EINPROGRESS {
      return descriptor
    }
    close(descriptor)
    return nil
  }

  private static func with(
    _ host: UInt32, _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr = in_addr(s_addr: host.bigEndian)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }

  private func wait(for connections: [Connection]) {
    var polled = connections.map { connection in
      pollfd(
        fd: connection.socket, events: Int16(connection.isConnected ? POLLIN : POLLOUT), revents: 0)
    }
    poll(&polled, nfds_t(polled.count), 5)
  }

  /// False when the connection has ended.
  private func act(_ connection: inout Connection, _ now: Double, _ scratch: inout [UInt8]) -> Bool {
    if !connection.isConnected {
      var state = pollfd(fd: connection.socket, events: Int16(POLLOUT), revents: 0)
      guard poll(&state, 1, 0) > 0 else { return true }
      guard Int32(state.revents) & (POLLERR | POLLHUP) == 0 else { return false }
      connection.isConnected = true
      made.add(1, ordering: .relaxed)
      if connection.habit == .halfClosed { shutdown(connection.socket, Int32(SHUT_WR)) }
    }
    switch connection.habit {
    case .silent, .halfClosed: break
    case .drip:
      if now - connection.lastDrip >= 0.5 {
        connection.lastDrip = now
        // The length of a first handshake message, and then whatever.
        var byte: UInt8 = connection.sent == 0 ? 0 : connection.sent == 1 ? 48 : 7
        if send(connection.socket, &byte, 1, Int32(MSG_NOSIGNAL)) == 1 { connection.sent += 1 }
      }
    case .sends(let bytes):
      while connection.sent < bytes.count {
        let count = bytes.withUnsafeBytes { bytes in
          send(
            connection.socket, bytes.baseAddress.map { $0 + connection.sent }, bytes.count - connection.sent,
            Int32(MSG_NOSIGNAL))
        }
        if count < 0 {
          guard errno == EAGAIN else { return false }
          break
        }
        connection.sent += count
      }
    }
    let got = recv(connection.socket, &scratch, scratch.count, Int32(MSG_DONTWAIT))
    return got > 0 || (got < 0 && errno == EAGAIN)
  }
}

private final class ThreadBody: Sendable {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// What a running process takes of the machine.
struct ProcessFacts: CustomStringConvertible {
  /// KiB in memory now, and at most so far.
  let resident: Int
  let peak: Int
  /// Open descriptors; none where ``Child/seesDescriptors`` is false.
  let descriptors: Int

  init(_ process: Int32) throws {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    func number(_ name: String) throws -> Int {
      let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(name + ":") })
      return try #require(line.split(whereSeparator: { $0 == " " || $0 == "\t" }).compactMap { Int($0) }.first)
    }
    resident = try number("VmRSS")
    peak = try number("VmHWM")
    descriptors =
      Child.seesDescriptors ? try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count : 0
  }

  var description: String { "\(resident) KiB, at most \(peak) KiB, \(descriptors) descriptors" }
}
