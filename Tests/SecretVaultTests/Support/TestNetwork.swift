import PeerAuth
import Synchronization

/// What goes wrong on the way to one peer.
enum Fault: Sendable {
  case none
  /// Nobody listens there.
  case refuses
  /// A connection comes about, and nothing ever comes back.
  case hangs
  /// The line breaks once the dialler has sent so many bytes.
  case diesAfterSending(Int)
  /// The line breaks once the answerer has sent so many bytes.
  case diesAfterReceiving(Int)
  /// The byte at this place of what the answerer sends arrives changed.
  case flipsReceived(at: Int)
  /// Connections come about only some time after the flag is raised.
  case waits(for: Flag)
  /// Every write takes this long.
  case slow(Duration)
  /// What is as large as a piece of a file takes this long; small messages pass at once.
  case drips(Duration)
  /// The line breaks with the first bytes that the answerer sends once the flag is raised.
  case dies(after: Flag)
}

/// Connects addresses in memory, with faults on demand.
final class TestNetwork: Sendable {
  typealias Answer = @Sendable (any PeerTransport) async -> Void

  private struct Host {
    var answer: Answer
    var fault = Fault.none
  }

  private struct State {
    var hosts: [String: Host] = [:]
    var dialled: [String] = []
    var open = 0
    var mostOpen = 0
    var sent: [String: Int] = [:]
  }

  private let state = Mutex(State())

  /// Whoever dials `address` reaches `answer`.
  func serve(_ address: PeerAddress, _ answer: @escaping Answer) {
    state.withLock { $0.hosts[address.description, default: Host(answer: answer)].answer = answer }
  }

  func set(_ fault: Fault, at address: PeerAddress) {
    state.withLock { $0.hosts[address.description]?.fault = fault }
  }

  /// Addresses in the order in which they were dialled.
  var dialled: [String] { state.withLock { $0.dialled } }
  /// Connections that are open.
  var openNow: Int { state.withLock { $0.open } }
  /// Most connections that were open at the same time since the count was reset.
  var mostOpen: Int { state.withLock { $0.mostOpen } }
  /// Bytes that diallers have sent to an address, over all connections.
  func sent(to address: PeerAddress) -> Int { state.withLock { $0.sent[address.description] ?? 0 } }

  func resetCounts() {
    state.withLock {
      $0.dialled = []
      $0.mostOpen = $0.open
      $0.sent = [:]
    }
  }

  func connect(_ address: PeerAddress) async throws(TransportError) -> any PeerTransport {
    let name = address.description
    let host = state.withLock {
      $0.dialled.append(name)
      return $0.hosts[name]
    }
    guard let host else { throw .unreachable("no such host") }
    if case .refuses = host.fault { throw .unreachable("connection refused") }
    if case .waits(let flag) = host.fault { await flag.wait() }
    let line = Line(host.fault)
    let ends = InMemoryTransport.pair(
      firstFilter: { [self] bytes in
        state.withLock { $0.sent[name, default: 0] += bytes.count }
        return await line.forth(bytes)
      },
      secondFilter: { bytes in await line.back(bytes) })
    line.connect(ends.first, ends.second)
    if case .hangs = host.fault { return ends.first }
    state.withLock {
      $0.open += 1
      $0.mostOpen = max($0.mostOpen, $0.open)
    }
    Task { [self] in
      await host.answer(ends.second)
      state.withLock { $0.open -= 1 }
    }
    return ends.first
  }
}

/// Something that has happened, or not yet.
final class Flag: Sendable {
  private let isRaised = Mutex(false)

  var isUp: Bool { isRaised.withLock { $0 } }

  func raise() { isRaised.withLock { $0 = true } }

  /// Waits for it, and then a little longer.
  func wait() async {
    while !isUp, !Task.isCancelled { try? await Task.sleep(for: .milliseconds(5)) }
    try? await Task.sleep(for: .milliseconds(50))
  }

  /// What sleeps as long as it is asked to, but for this duration: a deadline that is over when the flag is raised, and no
  /// sooner, however long everything else takes.
  func ending(_ deadline: Duration) -> @Sendable (Duration) async throws -> Void {
    { [self] duration in
      guard duration == deadline else { return try await Task.sleep(for: duration) }
      while !isUp { try await Task.sleep(for: .milliseconds(5)) }
    }
  }
}

/// One connection with its fault.
private final class Line: Sendable {
  private struct State {
    var forth = 0
    var back = 0
    var dialler: InMemoryTransport?
    var answerer: InMemoryTransport?
  }
  private let fault: Fault
  private let state = Mutex(State())

  init(_ fault: Fault) { self.fault = fault }

  func connect(_ dialler: InMemoryTransport, _ answerer: InMemoryTransport) {
    state.withLock { ($0.dialler, $0.answerer) = (dialler, answerer) }
  }

  func forth(_ bytes: [UInt8]) async -> [UInt8] {
    let total = state.withLock { state in
      state.forth += bytes.count
      return state.forth
    }
    if case .diesAfterSending(let limit) = fault, total > limit {
      return await cut(bytes, from: state.withLock { $0.dialler })
    }
    return await delayed(bytes)
  }

  func back(_ bytes: [UInt8]) async -> [UInt8] {
    let before = state.withLock { state in
      state.back += bytes.count
      return state.back - bytes.count
    }
    let answerer = state.withLock { $0.answerer }
    if case .diesAfterReceiving(let limit) = fault, before + bytes.count > limit {
      return await cut(bytes, from: answerer)
    }
    if case .dies(let flag) = fault, flag.isUp { return await cut(bytes, from: answerer) }
    var bytes = bytes
    if case .flipsReceived(let place) = fault, bytes.indices.contains(place - before) { bytes[place - before] ^= 1 }
    return await delayed(bytes)
  }

  /// Whoever wrote this hears that the line is broken. What went before has arrived by then, as on a real line, however long
  /// the other side took over it: it waits for more.
  private func cut(_ bytes: [UInt8], from writer: InMemoryTransport?) async -> [UInt8] {
    for _ in 0..<6000 {
      guard let writer, !writer.isTaken, !Task.isCancelled else { break }
      try? await Task.sleep(for: .milliseconds(5))
    }
    writer?.cut()
    return bytes
  }

  private func delayed(_ bytes: [UInt8]) async -> [UInt8] {
    switch fault {
    case .slow(let duration): try? await Task.sleep(for: duration)
    case .drips(let duration) where bytes.count > 16_384: try? await Task.sleep(for: duration)
    default: break
    }
    return bytes
  }
}
