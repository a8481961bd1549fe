import Synchronization

/// Those who wait for something new. A transaction wakes them; nobody asks the database over and over.
final class WaitingBoard: Sendable {
  private struct State {
    var tickets: [Int64: [Int: Ticket]] = [:]
    var next = 0
    var count = 0
    var isClosed = false
  }

  final class Ticket: Sendable {
    fileprivate let group: Int64
    fileprivate let seat: Int64
    fileprivate let number: Int
    private let stream: AsyncStream<Void>
    private let source: AsyncStream<Void>.Continuation

    private let sleep: @Sendable (Duration) async throws -> Void

    fileprivate init(
      group: Int64, seat: Int64, number: Int, sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
      self.sleep = sleep
      self.group = group
      self.seat = seat
      self.number = number
      (stream, source) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Wakes who waits, or lets the next wait end at once.
    func wake() { source.yield() }

    /// Returns after ``wake()``, or when the time is over. One at a time.
    func wait(_ time: Duration) async {
      await withTaskGroup(of: Void.self) { group in
        group.addTask { [stream] in
          var iterator = stream.makeAsyncIterator()
          _ = await iterator.next()
        }
        group.addTask { [sleep] in try? await sleep(time) }
        await group.next()
        group.cancelAll()
      }
    }
  }

  private let state = Mutex(State())
  let clock: ClockSources

  init(_ clock: ClockSources = .machine) { self.clock = clock }

  var count: Int { state.withLock { $0.count } }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Begins to wait, to be done before looking whether there is something: then nothing is missed in between.
  func join(group: Int64, seat: Int64) -> Ticket {
    state.withLock { state in
      state.next &+= 1
      let ticket = Ticket(group: group, seat: seat, number: state.next, sleep: clock.sleep)
      state.tickets[group, default: [:]][ticket.number] = ticket
      state.count += 1
      if state.isClosed { ticket.wake() }
      return ticket
    }
  }

  func leave(_ ticket: Ticket) {
    state.withLock { state in
      guard state.tickets[ticket.group]?.removeValue(forKey: ticket.number) != nil else { return }
      if state.tickets[ticket.group]?.isEmpty == true { state.tickets[ticket.group] = nil }
      state.count -= 1
    }
  }

  func wake(_ news: [News]) {
    guard !news.isEmpty else { return }
    let woken = state.withLock { state in
      var woken: [Int: Ticket] = [:]
      for item in news {
        for (number, ticket) in state.tickets[item.group] ?? [:] where Self.concerns(item, ticket) {
          woken[number] = ticket
        }
      }
      return woken
    }
    for ticket in woken.values { ticket.wake() }
  }

  private static func concerns(_ news: News, _ ticket: Ticket) -> Bool {
    switch news.reason {
    case .ended: true
    case .share(let sender, let recipients): sender != ticket.seat && recipients?.contains(ticket.seat) ?? true
    }
  }

  /// Wakes everybody: nobody knows what is new.
  func wakeAll() {
    let all = state.withLock { state in state.tickets.values.flatMap(\.values) }
    for ticket in all { ticket.wake() }
  }

  /// Wakes everybody, for good.
  func close() {
    state.withLock { $0.isClosed = true }
    wakeAll()
  }
}
