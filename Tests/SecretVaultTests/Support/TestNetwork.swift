import PeerAuth
import Synchronization
import TestTime

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
  /// Connections come about only once the flag is raised.
  case waits(for: Flag)
  /// Every write takes this long by the clock of the test.
  case slow(Duration)
  /// What is as large as a piece of a file takes this long; small messages pass at once.
  case drips(Duration)
  /// The line breaks with the first bytes that the answerer sends once the flag is raised.
  case dies(after: Flag)
}

extension Duration {
  /// What a piece of a file takes on a line that drips. No deadline is as long.
  static let drip = milliseconds(30_001)
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
  private let clock: TestClock

  init(_ clock: TestClock) { self.clock = clock }

  /// Whoever dials `address` reaches `answer`.
  func serve(_ address: PeerAddress, _ answer: @escaping Answer) {
    state.withLock { $0.hosts[address.description, default: Host(answer: answer)].answer = answer }
  }

  /// Whoever answered does no more: they know this network, and it must not keep them for ever.
  func forgetHosts() { state.withLock { $0.hosts = [:] } }

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
    Happenings.deed()
    guard let host else { throw .unreachable("no such host") }
    if case .refuses = host.fault { throw .unreachable("connection refused") }
    if case .waits(let flag) = host.fault { await flag.wait() }
    let line = Line(host.fault, clock)
    let ends = InMemoryTransport.pair(
      firstFilter: { [self] bytes in
        state.withLock { $0.sent[name, default: 0] += bytes.count }
        Happenings.all.note()
        return await line.forth(bytes)
      },
      secondFilter: { bytes in await line.back(bytes) })
    let (dialler, answerer) = (LineEnd(ends.first), LineEnd(ends.second))
    line.connect(dialler, answerer)
    if case .hangs = host.fault { return dialler }
    state.withLock {
      $0.open += 1
      $0.mostOpen = max($0.mostOpen, $0.open)
    }
    Happenings.deed()
    Task { [self] in
      await host.answer(answerer)
      state.withLock { $0.open -= 1 }
      Happenings.ends.note()
      Happenings.deed()
    }
    return dialler
  }
}

/// Something that has happened, or not yet.
final class Flag: Sendable {
  private let isRaised = Mutex(false)

  var isUp: Bool { isRaised.withLock { $0 } }

  func raise() {
    isRaised.withLock { $0 = true }
    Happenings.deed()
  }

  /// Waits for it, or until the task is cancelled.
  func wait() async { _ = try? await eventually { isUp } }
}

/// One end of a connection, which knows how much it has taken.
final class LineEnd: PeerTransport {
  private struct State {
    var taken = 0
    var written = 0
    var isReading = false
    var hasEnded = false
    weak var other: LineEnd?
  }

  private let inner: InMemoryTransport
  private let state = Mutex(State())

  init(_ inner: InMemoryTransport) { self.inner = inner }

  var hasEnded: Bool { state.withLock { $0.hasEnded } }

  /// Whether it has taken so many bytes, and waits for more or has ended.
  func hasTaken(_ count: Int) -> Bool {
    state.withLock { $0.hasEnded || ($0.isReading && $0.taken >= count) }
  }

  /// Whether the other end has taken all that this one has written, and waits for more or has ended.
  var isAwaited: Bool {
    let (other, count) = state.withLock { ($0.other, $0.written) }
    return other?.hasTaken(count) ?? true
  }

  fileprivate func meet(_ other: LineEnd) { state.withLock { $0.other = other } }

  var remoteDescription: String { inner.remoteDescription }

  func read(atMost limit: Int) async throws(TransportError) -> [UInt8] {
    change { $0.isReading = true }
    do throws(TransportError) {
      let bytes = try await inner.read(atMost: limit)
      change {
        $0.isReading = false
        $0.taken += bytes.count
        $0.hasEnded = bytes.isEmpty
      }
      return bytes
    } catch {
      change { $0.hasEnded = true }
      throw error
    }
  }

  func write(_ bytes: [UInt8]) async throws(TransportError) {
    state.withLock { $0.written += bytes.count }
    try await inner.write(bytes)
  }

  func close() async {
    await inner.close()
    change { $0.hasEnded = true }
  }

  func cut() {
    inner.cut()
    change { $0.hasEnded = true }
  }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { body(&$0) }
    Happenings.all.note()
  }
}

/// One connection with its fault.
private final class Line: Sendable {
  private struct State {
    var forth = 0
    var back = 0
    weak var dialler: LineEnd?
    weak var answerer: LineEnd?
  }
  private let fault: Fault
  private let clock: TestClock
  private let state = Mutex(State())

  init(_ fault: Fault, _ clock: TestClock) { (self.fault, self.clock) = (fault, clock) }

  func connect(_ dialler: LineEnd, _ answerer: LineEnd) {
    state.withLock { ($0.dialler, $0.answerer) = (dialler, answerer) }
    dialler.meet(answerer)
    answerer.meet(dialler)
  }

  func forth(_ bytes: [UInt8]) async -> [UInt8] {
    let total = state.withLock { state in
      state.forth += bytes.count
      return state.forth
    }
    if case .diesAfterSending(let limit) = fault, total > limit {
      let (writer, reader) = state.withLock { ($0.dialler, $0.answerer) }
      return await cut(bytes, from: writer, to: reader, behind: total - bytes.count)
    }
    await delay(bytes, from: state.withLock { $0.dialler })
    return bytes
  }

  func back(_ bytes: [UInt8]) async -> [UInt8] {
    let before = state.withLock { state in
      state.back += bytes.count
      return state.back - bytes.count
    }
    let (writer, reader) = state.withLock { ($0.answerer, $0.dialler) }
    if case .diesAfterReceiving(let limit) = fault, before + bytes.count > limit {
      return await cut(bytes, from: writer, to: reader, behind: before)
    }
    if case .dies(let flag) = fault, flag.isUp { return await cut(bytes, from: writer, to: reader, behind: before) }
    var bytes = bytes
    if case .flipsReceived(let place) = fault, bytes.indices.contains(place - before) { bytes[place - before] ^= 1 }
    await delay(bytes, from: writer)
    return bytes
  }

  /// Whoever wrote this hears that the line is broken. What went before has arrived by then, as on a real line, however long
  /// the other side took over it: it waits for more.
  private func cut(
    _ bytes: [UInt8], from writer: LineEnd?, to reader: LineEnd?, behind count: Int
  ) async -> [UInt8] {
    if let reader { _ = try? await eventually { reader.hasTaken(count) } }
    writer?.cut()
    return bytes
  }

  /// Whoever has ended the connection meanwhile waits no more.
  private func delay(_ bytes: [UInt8], from writer: LineEnd?) async {
    let duration: Duration
    switch fault {
    case .slow(let time): duration = time
    case .drips(let time) where bytes.count > 16_384: duration = time
    default: return
    }
    await withTaskGroup(of: Void.self) { [clock] group in
      group.addTask { try? await clock.sleep(for: duration) }
      group.addTask { _ = try? await eventually { writer?.hasEnded ?? true } }
      await group.next()
      group.cancelAll()
    }
  }
}
