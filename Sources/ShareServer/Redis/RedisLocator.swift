import Sodium
import Synchronization

/// Finds the primary, and connects to it.
///
/// Behind sentinels the primary changes: whoever connects asks them who it is, and then asks the server itself, since
/// they may be late (the protocol for clients of Redis Sentinel). After a failure nobody tries for a moment
/// (``RetryPause``).
final class RedisLocator: Sendable {

  private struct State {
    var sentinels: [RedisPlace.Address] = []
    var primary: RedisPlace.Address?
    var generation = 0
    var pause = RetryPause()
    var lastLook: ContinuousClock.Instant?
  }

  let place: RedisPlace
  private let password: SharedSecret?
  private let sentinelPassword: SharedSecret?
  private let state: Mutex<State>
  private let connected: @Sendable () -> Void

  init(
    _ place: RedisPlace, password: SharedSecret?, sentinelPassword: SharedSecret?,
    connected: @escaping @Sendable () -> Void
  ) {
    self.place = place
    self.password = password
    self.sentinelPassword = sentinelPassword
    self.connected = connected
    var state = State()
    if case .sentinels(let addresses, _) = place.way { state.sentinels = addresses }
    self.state = Mutex(state)
  }

  /// Changes when the primary does: what was connected before is to be connected anew.
  var generation: Int { state.withLock { $0.generation } }

  /// A connection to the primary, ready to be used, and the ``generation`` that it belongs to.
  func connect() throws(RedisFault) -> (connection: RedisConnection, generation: Int) {
    let now = ContinuousClock.now
    guard state.withLock({ $0.pause.mayTry(at: now) }) else { throw .pausing }
    do throws(RedisFault) {
      let found = try open()
      state.withLock { $0.pause.succeeded() }
      connected()
      return found
    } catch {
      state.withLock { $0.pause.failed(since: now) }
      if case .notPrimary = error { distrust() }
      throw error
    }
  }

  private func open() throws(RedisFault) -> (connection: RedisConnection, generation: Int) {
    switch place.way {
    case .server(let address): return (try open(address, socket: nil), 0)
    case .socket(let path): return (try open(nil, socket: path), 0)
    case .sentinels:
      let (address, generation) = try askSentinels()
      return (try open(address, socket: nil), generation)
    }
  }

  private func open(_ address: RedisPlace.Address?, socket: String?) throws(RedisFault) -> RedisConnection {
    let connection = try RedisConnection(address, socket: socket)
    if let password { try connection.authenticate(user: place.user, password.bytes) }
    if place.database != 0 { try connection.call(["SELECT", .number(Int64(place.database))]) }
    let role = try connection.call(["ROLE"]).value[0].text
    guard role == "master" else { throw .notPrimary("\(address?.description ?? place.description) is a \(role)") }
    return connection
  }

  /// The primary that the first sentinel names that answers. That one is asked first from then on.
  private func askSentinels() throws(RedisFault) -> (address: RedisPlace.Address, generation: Int) {
    guard case .sentinels(_, let name) = place.way else { throw .notPrimary("no sentinels") }
    var last = RedisFault.notPrimary("no sentinel knows \(name)")
    for sentinel in state.withLock({ $0.sentinels }) {
      do throws(RedisFault) {
        let connection = try RedisConnection(sentinel)
        if let sentinelPassword { try connection.authenticate(user: nil, sentinelPassword.bytes) }
        let reply = try connection.call(["SENTINEL", "get-master-addr-by-name", .text(name)]).value
        if reply.isNull { continue }
        guard let port = decimal(try reply[1].text), port <= UInt16.max else { throw .garbled }
        let address = RedisPlace.Address(host: try reply[0].text, port: Int(port))
        let generation = state.withLock { state in
          state.sentinels.removeAll { $0 == sentinel }
          state.sentinels.insert(sentinel, at: 0)
          if state.primary != address {
            state.primary = address
            state.generation += 1
          }
          return state.generation
        }
        return (address, generation)
      } catch { last = error }
    }
    throw last
  }

  /// Whom the first sentinel named is no primary, or one without replicas: it may be parted from the others and not
  /// know, so the others are asked before it.
  private func distrust() {
    state.withLock { state in
      guard state.sentinels.count > 1 else { return }
      state.sentinels.append(state.sentinels.removeFirst())
    }
  }

  /// Asks the sentinels whether the primary is still the same, unless that was just done; others first if what the
  /// first one said seems to be wrong.
  func lookAgain(distrusting isDoubtful: Bool = false) {
    guard place.isBehindSentinels else { return }
    let mayLook = state.withLock { state in
      let now = ContinuousClock.now
      if let last = state.lastLook, now - last < .milliseconds(500) { return false }
      state.lastLook = now
      return true
    }
    guard mayLook else { return }
    if isDoubtful { distrust() }
    _ = try? askSentinels()
  }
}

final class SharedSecret: Sendable {
  let bytes: SecretBytes
  init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
}

/// A pause after a failure, which grows from about 50 milliseconds to 2 seconds with each.
struct RetryPause: Sendable {
  private var failures = 0
  private var ends: ContinuousClock.Instant?

  func mayTry(at now: ContinuousClock.Instant) -> Bool { ends.map { $0 <= now } ?? true }

  mutating func succeeded() { self = RetryPause() }

  /// An attempt that began then failed. Several at once are one failure.
  mutating func failed(since start: ContinuousClock.Instant) {
    if let ends, ends > start { return }
    failures = min(failures + 1, 10)
    let longest = min(2000, 25 << failures)
    ends = .now + .milliseconds(Int.random(in: longest / 2...longest))
  }
}
