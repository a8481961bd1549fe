import Sodium
import Synchronization

/// Finds the primary, and connects to it.
///
/// Behind sentinels the primary changes: whoever connects asks them who it is, and then asks the server itself, since they
/// may be late (the protocol for clients of Redis Sentinel). After a failure nobody tries for a moment that grows from 50
/// milliseconds to 2 seconds.
final class RedisLocator: Sendable {
  /// A password, or none.
  final class Password: Sendable {
    let bytes: SecretBytes
    init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
  }

  private struct State {
    var sentinels: [RedisPlace.Address] = []
    var primary: RedisPlace.Address?
    var generation = 0
    var failures = 0
    var pauseEnds: ContinuousClock.Instant?
    var lastLook: ContinuousClock.Instant?
  }

  let place: RedisPlace
  private let password: Password?
  private let sentinelPassword: Password?
  private let state: Mutex<State>
  private let connected: @Sendable () -> Void

  init(
    _ place: RedisPlace, password: Password?, sentinelPassword: Password?, connected: @escaping @Sendable () -> Void
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

  /// A connection to the primary, ready to be used.
  func connect() throws(RedisFault) -> RedisConnection {
    let now = ContinuousClock.now
    let mayTry = state.withLock { state in state.pauseEnds.map { $0 <= now } ?? true }
    guard mayTry else { throw .pausing }
    do throws(RedisFault) {
      let connection = try open()
      state.withLock { state in (state.failures, state.pauseEnds) = (0, nil) }
      connected()
      return connection
    } catch {
      state.withLock { state in
        // Several threads may have failed at once: that is one failure.
        if let end = state.pauseEnds, end > now { return }
        state.failures = min(state.failures + 1, 10)
        let longest = min(2000, 25 << state.failures)
        state.pauseEnds = .now + .milliseconds(Int.random(in: longest / 2...longest))
      }
      throw error
    }
  }

  private func open() throws(RedisFault) -> RedisConnection {
    switch place.way {
    case .server(let address): return try open(address, socket: nil)
    case .socket(let path): return try open(nil, socket: path)
    case .sentinels:
      let address = try askSentinels()
      return try open(address, socket: nil)
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
  private func askSentinels() throws(RedisFault) -> RedisPlace.Address {
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
        state.withLock { state in
          state.sentinels.removeAll { $0 == sentinel }
          state.sentinels.insert(sentinel, at: 0)
          if state.primary != address {
            state.primary = address
            state.generation += 1
          }
        }
        return address
      } catch { last = error }
    }
    throw last
  }

  /// Asks the sentinels whether the primary is still the same, unless that was just done.
  func lookAgain() {
    guard place.isBehindSentinels else { return }
    let mayLook = state.withLock { state in
      let now = ContinuousClock.now
      if let last = state.lastLook, now - last < .milliseconds(500) { return false }
      state.lastLook = now
      return true
    }
    if mayLook { _ = try? askSentinels() }
  }
}
