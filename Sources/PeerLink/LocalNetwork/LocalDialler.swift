package import Concurrency
package import LocalNames
package import PeerAuth
import Synchronization
import SystemBus

/// Finds peers on the networks of this device, for the whole program. It looks from the first question on, and then goes on looking; in the daemon,
/// which looks all the time, it only remembers.
package final class LocalDialler: Sendable {
  private struct Search {
    /// Since when somebody looks.
    var since: Int64?
    /// When somebody has begun the last time.
    var begunAt: Int64?
    /// Whether the daemon sees to it.
    var isAttended = false
  }

  /// Milliseconds after which everybody who is there has answered.
  static let patience: Int64 = 1500
  /// Milliseconds before it is tried again where nobody could look.
  static let pause: Int64 = 10_000

  package let room = LocalRoom()
  private let now: @Sendable () -> Int64
  private let monotonic: @Sendable () -> Int64
  private let sleep: @Sendable (Duration) async throws -> Void
  private let way: @Sendable () throws(LocalNamesError) -> any LocalNames
  private let dial: @Sendable (LocalAddress, UInt16) async throws(TransportError) -> any PeerTransport
  private let search = Mutex(Search())

  /// `now` gives milliseconds since 1970, `monotonic` those of a clock that never jumps; `way` may wait.
  package init(
    now: @escaping @Sendable () -> Int64,
    monotonic: @escaping @Sendable () -> Int64 = { Monotonic.milliseconds() },
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    way: @escaping @Sendable () throws(LocalNamesError) -> any LocalNames = { () throws(LocalNamesError) in
      guard LocalWay.isOnNetwork else { throw .noNetwork }
      return LocalWay.find()
    },
    dial: @escaping @Sendable (LocalAddress, UInt16) async throws(TransportError) -> any PeerTransport = {
      (address, port) async throws(TransportError) in
      try await TCPConnector(connectTimeout: .seconds(3)).connect(address, port: port)
    }
  ) {
    self.now = now
    self.monotonic = monotonic
    self.sleep = sleep
    self.way = way
    self.dial = dial
  }

  /// Where the device with this beacon key may be. Empty if it isn't heard within a while after the looking began.
  package func places(of key: BeaconKey) async -> [LocalPlace] {
    guard let tags = try? key.tags(at: now()) else { return [] }
    begin()
    while !Task.isCancelled {
      let seen = room.pulse.count
      let found = room.places(of: tags, at: monotonic())
      guard found.isEmpty else { return found.map(place) }
      guard let since = search.withLock({ $0.since }) else { return [] }
      let left = since + Self.patience - monotonic()
      guard left > 0 else { return [] }
      await wait(since: seen, milliseconds: left)
    }
    return []
  }

  private func wait(since seen: UInt64, milliseconds: Int64) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [room] in try? await room.pulse.wait(since: seen) }
      group.addTask { [sleep] in try? await sleep(.milliseconds(milliseconds)) }
      await group.next()
      group.cancelAll()
    }
  }

  private func place(_ sighting: LocalSighting) -> LocalPlace {
    let address = sighting.key.address
    return LocalPlace(
      Self.text(address, sighting.port),
      connect: { [room, monotonic, dial] () async throws(TransportError) in
        guard room.beginCall(address, sighting.port, at: monotonic()) else {
          throw .unreachable("too many calls on this network within a minute")
        }
        return try await dial(address, sighting.port)
      },
      reached: { [room] in room.reached(address, sighting.port) })
  }

  /// Where others on the same networks may reach a port of this device.
  package static func ownPlaces(port: Int) -> [String] {
    UInt16(exactly: port).map { port in LocalWay.addresses.map { text($0, port) } } ?? []
  }

  static func text(_ address: LocalAddress, _ port: UInt16) -> String {
    (try? address.socketAddress(port: port)).flatMap { SystemReason.address($0) }?.description ?? "this network"
  }

  // MARK: - Looking

  /// From now on somebody calls ``look(offer:until:ready:)`` whenever that can be: a question begins nothing.
  package func attend() { search.withLock { $0.isAttended = true } }

  /// Has a thread of its own look, unless somebody does, or nobody could a moment ago.
  private func begin() {
    let now = monotonic()
    let isDue = search.withLock { search in
      guard !search.isAttended, search.since == nil, search.begunAt.map({ now - $0 >= Self.pause }) ?? true else {
        return false
      }
      (search.since, search.begunAt) = (now, now)
      return true
    }
    guard isDue else { return }
    guard let stop = StopSignal(), BackgroundThread.start({ [self] in try? look(offer: nil, until: stop) }) else {
      return search.withLock { $0.since = nil }
    }
  }

  /// Looks, and offers something, until `stop`: the daemon's part. It waits. Throws when that can't be, or not any more.
  package func look(
    offer: LocalOffer?, until stop: StopSignal, ready: (String) -> Void = { _ in }
  ) throws(LocalNamesError) {
    search.withLock { $0.since = monotonic() }
    defer {
      search.withLock { $0.since = nil }
      room.clear()
      room.pulse.strike()
    }
    let way = try self.way()
    try way.run(
      offer, type: LocalServiceType("vault-peer"), until: stop, ready: { ready(way.name) }, heard: { room.note($0) })
  }
}
