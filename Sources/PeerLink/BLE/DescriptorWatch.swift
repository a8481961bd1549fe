import Concurrency
import Glibc
import Synchronization

/// One thread that waits until descriptors are ready, for as many tasks as there are connections over Bluetooth.
///
/// NIO reads into buffers of its own size, and what of a message finds no room there is lost with sockets that keep the
/// bounds of messages. So these are read directly, by the task that wants the bytes.
final class DescriptorWatch: Sendable {
  static let shared = DescriptorWatch()

  private struct Waiter {
    enum Action {
      case resume(CheckedContinuation<Void, Never>)
      /// This is called, on the thread, as often as it is ready and until it says false. It must not wait.
      case call(@Sendable () -> Bool)
    }

    let id: UInt64
    let descriptor: Int32
    let events: Int16
    let action: Action

    func end() { if case .resume(let continuation) = action { continuation.resume() } }
  }

  private struct State {
    var waiters: [Waiter] = []
    var lastID: UInt64 = 0
    /// By which the thread is told of changes; nil until the first wait.
    var line: StopSignal?
    /// Waits that were cancelled before they began.
    var cancelled: Set<UInt64> = []
  }

  private let state = Mutex(State())

  func ticket() -> UInt64 {
    state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
  }

  /// Time after which whoever can't be waited for looks again.
  private static let pause = Duration.milliseconds(200)

  /// Begins a wait. Without threads or descriptors left it ends in a moment.
  func add(_ id: UInt64, _ descriptor: Int32, _ events: Int16, _ continuation: CheckedContinuation<Void, Never>) {
    var mayWait = true
    let isWaiting = state.withLock { state in
      guard state.cancelled.remove(id) == nil else { return false }
      mayWait = start(&state)
      guard mayWait else { return false }
      state.waiters.append(
        Waiter(id: id, descriptor: descriptor, events: events, action: .resume(continuation)))
      state.line?.raise()
      return true
    }
    guard !isWaiting else { return }
    guard !mayWait else { return continuation.resume() }
    Task {
      try? await Task.sleep(for: Self.pause)
      continuation.resume()
    }
  }

  /// Calls `take` on the thread whenever there is something to read, until it says false. False without a thread.
  func attend(_ descriptor: Int32, _ take: @escaping @Sendable () -> Bool) -> Bool {
    state.withLock { state in
      guard start(&state) else { return false }
      state.lastID += 1
      state.waiters.append(
        Waiter(id: state.lastID, descriptor: descriptor, events: Int16(POLLIN), action: .call(take)))
      state.line?.raise()
      return true
    }
  }

  /// Ends a wait, or one that is about to begin.
  func cancel(_ id: UInt64) {
    let waiter = state.withLock { state in
      guard let place = state.waiters.firstIndex(where: { $0.id == id }) else {
        state.cancelled.insert(id)
        return nil as Waiter?
      }
      state.line?.raise()
      return state.waiters.remove(at: place)
    }
    waiter?.end()
  }

  /// A wait is over, whatever ended it.
  func forget(_ id: UInt64) { state.withLock { _ = $0.cancelled.remove(id) } }

  /// Ends all waits at a descriptor that is about to be closed. The thread is woken in any case: as long as it waits
  /// there, what was closed stays open in the kernel, and a listener keeps its place.
  func release(_ descriptor: Int32) {
    let waiters = state.withLock { state in
      let waiters = state.waiters.filter { $0.descriptor == descriptor }
      state.waiters.removeAll { $0.descriptor == descriptor }
      state.line?.raise()
      return waiters
    }
    for waiter in waiters { waiter.end() }
  }

  private func start(_ state: inout State) -> Bool {
    guard state.line == nil else { return true }
    guard let line = StopSignal(), BackgroundThread.start({ [self] in run(line.descriptor) }) else { return false }
    state.line = line
    return true
  }

  private func run(_ line: Int32) -> Never {
    while true {
      let waiters = state.withLock { $0.waiters.map { (id: $0.id, descriptor: $0.descriptor, events: $0.events) } }
      var waits = [pollfd(fd: line, events: Int16(POLLIN), revents: 0)]
      waits += waiters.map { pollfd(fd: $0.descriptor, events: $0.events, revents: 0) }
      _ = poll(&waits, nfds_t(waits.count), -1)
      if waits[0].revents != 0 {
        var buffer = [UInt8](repeating: 0, count: 64)
        while read(line, &buffer, buffer.count) >= 0 {}
      }
      let ready = Set(zip(waiters, waits.dropFirst()).filter { $0.1.revents != 0 }.map(\.0.id))
      guard !ready.isEmpty else { continue }
      let called = state.withLock { $0.waiters.filter { ready.contains($0.id) } }
      // Outside the lock: what is called closes sockets, perhaps.
      let over = Set(
        called.filter { waiter in
          switch waiter.action {
          case .resume: true
          case .call(let take): !take()
          }
        }.map(\.id))
      let ended = state.withLock { state in
        let ended = state.waiters.filter { over.contains($0.id) }
        state.waiters.removeAll { over.contains($0.id) }
        return ended
      }
      for waiter in ended { waiter.end() }
    }
  }
}

/// A socket that keeps the bounds of messages. It is closed once, and no call gets at another one that has its number
/// then.
final class PacketSocket: Sendable {
  private let descriptor: Mutex<Int32>
  private let watch: DescriptorWatch

  init(owning descriptor: Int32, watch: DescriptorWatch = .shared) {
    self.descriptor = Mutex(descriptor)
    self.watch = watch
  }

  deinit { close() }

  var isClosed: Bool { descriptor.withLock { $0 < 0 } }

  /// Calls `body` with the descriptor, and returns its result and the system's error; nil if the socket is closed. It
  /// must not wait.
  func use<Result>(_ body: (Int32) -> Result) -> (result: Result, error: Int32)? {
    descriptor.withLock { descriptor in
      guard descriptor >= 0 else { return nil }
      errno = 0
      let result = body(descriptor)
      return (result, errno)
    }
  }

  var hasHungUp: Bool {
    use { descriptor in
      var wait = pollfd(fd: descriptor, events: 0, revents: 0)
      return poll(&wait, 1, 0) > 0
    }?.result ?? true
  }

  /// Waits until the socket is ready for one of these events or has failed; returns early if it is closed or the task
  /// is cancelled.
  func wait(for events: Int32) async {
    let id = watch.ticket()
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // Under the lock, so that the number is not another socket's.
        let isOpen = descriptor.withLock { descriptor in
          guard descriptor >= 0 else { return false }
          watch.add(id, descriptor, Int16(events), continuation)
          return true
        }
        if !isOpen { continuation.resume() }
      }
    } onCancel: {
      watch.cancel(id)
    }
    watch.forget(id)
  }

  /// Calls `take` on a thread of its own whenever there is something to read, until it says false or the socket is
  /// closed. False if the socket is closed, or the system has no thread left.
  func attend(_ take: @escaping @Sendable () -> Bool) -> Bool {
    // Under the lock, so that the number is not another socket's.
    descriptor.withLock { $0 >= 0 && watch.attend($0, take) }
  }

  /// Closes it and ends all waits. Repeating it does nothing.
  func close() {
    descriptor.withLock { descriptor in
      guard descriptor >= 0 else { return }
      // The channel ends now, whoever still has a hand on the socket.
      shutdown(descriptor, Int32(SHUT_RDWR))
      watch.release(descriptor)
      _ = Glibc.close(descriptor)
      descriptor = -1
    }
  }
}
