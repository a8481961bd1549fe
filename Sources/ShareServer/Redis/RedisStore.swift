import Logging
import Sodium
import Synchronization

/// The same store on Redis, for a provider to whom one machine is not enough: any number of services share one Redis,
/// which sentinels keep available.
///
/// Redis replicates without waiting and agrees on nothing: a change is acknowledged when `WAIT` says that so many
/// replicas have it in memory. What that promises and what not is in docs/SERVER.md.
final class RedisStore: ShareStore {
  let limits: ServerLimits
  let clock: ServiceClock
  let board: WaitingBoard
  let replicas: Int
  let keys: RedisKeys
  private let writes: RedisLane
  private let reads: RedisLane
  /// For finding out whose key a request brings: long looks of others don't keep anybody waiting at the door.
  private let door: RedisLane
  private let settling = Mutex<SharedWork?>(nil)
  private let news: RedisNews
  private let counters: RedisCounters
  let time: RedisTime
  private let totalsNow = Mutex(Totals())
  private let slotsNow = Mutex(0)
  private let channel: [UInt8]

  /// Milliseconds until replicas have to have a change.
  static let replicationTime: Int32 = 1500
  private static let threads = 8
  private static let doorThreads = 4
  private static let rounds = 100
  private static let batch = 500
  /// Shares that are looked at for a page: Redis does nothing else meanwhile.
  static let scanned = 200

  init(_ options: RedisOptions, limits: ServerLimits, clock: ClockSources?, board: WaitingBoard, log: Logger) throws {
    let place = try RedisPlace(options.store)
    self.limits = limits
    self.board = board
    self.clock = ServiceClock(clock ?? .machine, notBefore: 0)
    replicas = options.replicas ?? (place.isBehindSentinels ? 1 : 0)
    let counters = RedisCounters()
    self.counters = counters
    let time = RedisTime(fixed: clock?.wall)
    self.time = time
    channel = Array("vs:news:\(place.database)".utf8)
    let sentinelPassword = try Self.password(options.sentinelPasswordFile)
    let locator = RedisLocator(
      place, password: try Self.password(options.passwordFile), sentinelPassword: sentinelPassword,
      connected: { counters.connected() })
    let begin = Self.beginning(time, channel)
    let replicas = replicas
    let key: RedisLocator
    var keyReplicas = 0
    if let keyPlace = try options.keyStore.map({ try RedisPlace($0) }) {
      keyReplicas = options.replicas ?? (keyPlace.isBehindSentinels ? 1 : 0)
      guard keyPlace != place else {
        throw ServerError("the key store is the store itself", hint: "name another Redis, or leave --key-store away")
      }
      key = RedisLocator(
        keyPlace, password: try Self.password(options.keyPasswordFile), sentinelPassword: sentinelPassword,
        connected: { counters.connected() })
      try RedisFitness.checkKeyStore(key, log)
    } else {
      key = locator
    }
    try RedisFitness.checkStore(locator, log)
    let failed: @Sendable () -> Void = { counters.failed() }
    writes = try RedisLane(threads: Self.threads, locator, failed: failed) { [channel] connection in
      let epoch = try begin(connection)
      // Before anything is acknowledged here, others must know that cursors have jumped.
      try connection.awaitReplicas(replicas, within: Self.replicationTime)
      _ = try connection.run(RedisScripts.settle, [.text(time.text), .bytes(channel), "", .number(epoch)])
    }
    // Who only reads may do so without replicas, and sees no cursor that they don't know.
    reads = try RedisLane(threads: Self.threads, locator, failed: failed) { _ = try begin($0) }
    door = try RedisLane(threads: Self.doorThreads, locator, failed: failed) { _ = try begin($0) }
    if key === locator {
      // What comes after a key has to be replicated, and is only with what came before.
      keys = RedisKeys(writes: writes, reads: reads, locator: locator, replicas: 0)
    } else {
      keys = RedisKeys(
        writes: try RedisLane(threads: Self.threads, key, failed: failed) { _ in },
        reads: try RedisLane(threads: Self.threads, key, failed: failed) { _ in }, locator: key, replicas: keyReplicas)
    }
    news = try RedisNews(locator, channel: channel, board: board)
  }

  private static func password(_ path: String?) throws -> SharedSecret? {
    guard let path else { return nil }
    let found = try SecretLine.read(path)
    switch consume found {
    case .some(let secret): return SharedSecret(secret)
    case .none: throw ServerError("\(path) has no password of printable ASCII characters in its first line")
    }
  }

  /// What a connection to the store begins with: see ``RedisScripts/hello``. Answers the epoch.
  private static func beginning(
    _ time: RedisTime, _ channel: [UInt8]
  ) -> @Sendable (RedisConnection) throws -> Int64 {
    { connection in
      let replication = try RedisFitness.line("master_replid", of: "replication", connection)
      let process = try RedisFitness.line("run_id", of: "server", connection)
      let reply = try connection.run(
        RedisScripts.hello, [.text(time.text), .bytes(channel), "", .text("\(replication) \(process)")])
      time.saw(try reply.value[1].integer)
      return try reply.value[2].integer
    }
  }

  var totals: Totals { totalsNow.withLock { $0 } }
  var slotCount: Int { slotsNow.withLock { $0 } }
  var gauges: [Gauge] { counters.gauges }

  // MARK: - Doing something

  /// Runs a script about a group that reads, or that may be done twice.
  func read<Value: Sendable>(
    _ script: RedisScript, _ group: Identifier, _ arguments: [[UInt8]], atDoor isAtDoor: Bool = false,
    _ take: @escaping @Sendable (RedisConnection, RedisValue) throws -> Value
  ) async throws -> Value {
    try await (isAtDoor ? door : reads).run(mayRepeat: true) { [self] connection in
      try take(connection, outcome(try run(script, group, arguments, connection)))
    }
  }

  /// Runs a script about a group that changes something, and waits for the replicas if that is to be acknowledged.
  func write<Value: Sendable>(
    _ script: RedisScript, _ group: Identifier?, _ arguments: [[UInt8]], mayRepeat: Bool = false,
    isAcknowledged: @escaping @Sendable (Value) -> Bool = { _ in true },
    _ take: @escaping @Sendable (RedisValue) throws -> Value
  ) async throws -> Value {
    try await writes.run(mayRepeat: mayRepeat) { [self] connection in
      let reply = try run(script, group, arguments, connection)
      let value: Value
      do { value = try take(outcome(reply)) } catch let refusal as Refusal {
        // That there is nothing any more may be the work of an attempt that wasn't acknowledged.
        if refusal == .notFound || refusal == .unauthorized { try awaitReplicas(connection) }
        throw refusal
      }
      if isAcknowledged(value) { try awaitReplicas(connection) }
      return value
    }
  }

  private func awaitReplicas(_ connection: RedisConnection) throws(RedisFault) {
    do { try connection.awaitReplicas(replicas, within: Self.replicationTime) } catch {
      if case .replicas = error { counters.unreplicated() }
      throw error
    }
  }

  /// The same where the script answers nothing but that it is done.
  func write(
    _ script: RedisScript, _ group: Identifier?, _ arguments: [[UInt8]], mayRepeat: Bool = false
  ) async throws {
    try await write(script, group, arguments, mayRepeat: mayRepeat) { (_: RedisValue) in () }
  }

  private func run(
    _ script: RedisScript, _ group: Identifier?, _ arguments: [[UInt8]], _ connection: RedisConnection
  ) throws(RedisFault) -> RedisReply {
    counters.called()
    return try connection.run(
      script,
      [.text(time.text), .bytes(channel), .bytes(group?.bytes ?? [])] + arguments.map { .bytes($0) })
  }

  /// What a script answered, unless that was a refusal.
  private func outcome(_ reply: RedisReply) throws -> RedisValue {
    let value = reply.value
    time.saw(try value[1].integer)
    switch try value[0].text {
    case "ok", "old", "new", "again": return value
    case "unauthorized": throw Refusal.unauthorized
    case "none": throw Refusal.notFound
    case "groups": throw Refusal.quota("the service takes no more groups")
    case "users": throw Refusal.quota("the group has as many users as it may have")
    case "names": throw Refusal.names
    case "owner": throw Refusal.owner
    case "recipient": throw Refusal.noRecipient
    case "taken": throw Refusal.taken
    case "sender": throw Refusal.notSender
    case "shares": throw Refusal.quota("the group has as many shares as it may have")
    case "bytes": throw Refusal.quota("the shares of the group take all its room")
    case "cursors": throw Refusal.quota("the group has no more cursors")
    case "full": throw Refusal.diskFull
    default: throw RedisFault.garbled
    }
  }

  // MARK: - Keeping things going

  func isHealthy() async -> Bool {
    do {
      try await write(RedisScripts.health, nil, [])
      try await keys.check()
      return true
    } catch { return false }
  }

  func settle() async throws {
    let work = settling.withLock { settling in
      let work =
        settling
        ?? SharedWork { [weak self] in
          guard let self else { throw Refusal.stopping }
          try await write(RedisScripts.touch, nil, [], mayRepeat: true)
        }
      settling = work
      return work
    }
    try await work.run()
  }

  /// Redis ends keys by itself, and without anybody asking does it when it comes round to it: this makes it at once.
  func destroyKeys() async throws {
    let count = try await keys.end(at: time.now)
    slotsNow.withLock { $0 = count }
  }

  func sweep() async throws {
    for _ in 0..<Self.rounds {
      let (isMore, totals) = try await read(
        RedisScripts.sweep, Identifier.none, [digits(Int64(Self.batch))]
      ) { _, reply in
        (
          try reply[2].integer != 0,
          Totals(groups: try reply[3].integer, shares: try reply[4].integer, bytes: try reply[5].integer)
        )
      }
      totalsNow.withLock { $0 = totals }
      if !isMore { return }
    }
  }

  func close() {
    news.close()
    writes.close()
    reads.close()
    door.close()
    keys.close()
  }
}

extension Identifier {
  /// Stands where no group is meant.
  fileprivate static let none = Identifier(high: 0, low: 0)
}

func digits(_ number: Int64) -> [UInt8] { Array(String(number).utf8) }

/// The latest time that Redis was seen to have. It is shown to every script, so that time never goes back for who asks
/// here.
final class RedisTime: Sendable {
  private let seen = Mutex<(time: Int64, at: ContinuousClock.Instant)>((0, .now))
  private let fixed: (@Sendable () -> Int64)?
  private let present: @Sendable () -> ContinuousClock.Instant

  /// Tests say what time it is, or how it passes.
  init(fixed: (@Sendable () -> Int64)?, present: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.fixed = fixed
    self.present = present
  }

  var now: Int64 { fixed?() ?? seen.withLock { $0.time } }
  /// What it must be at least by now.
  var least: Int64 { fixed?() ?? seen.withLock { $0.time + Int64((present() - $0.at) / .milliseconds(1)) } }
  var text: String { (fixed == nil ? "" : "=") + String(now) }
  func saw(_ time: Int64) {
    let now = present()
    seen.withLock { seen in if time > seen.time { seen = (time, now) } }
  }
}
