import ChatServers
import Foundation
import Sodium
import Synchronization
import TestTime
import Testing

@testable import ShareServer

/// What holds when a primary fails, a clock is set, or Redis is full.
@Suite struct RedisPromiseTests {
  private struct Info: Decodable {
    let time: Int64
    let newest: Int
  }

  private func store(_ url: String, replicas: Int? = nil, key: String? = nil) throws -> RedisStore {
    var options = RedisOptions(store: url)
    options.replicas = replicas
    options.keyStore = key
    return try RedisStore(options, limits: ServerLimits(), clock: nil, board: WaitingBoard(), log: quietLogger)
  }

  /// A group in a store, as its owner.
  private func makeGroup(_ store: RedisStore) async throws -> Caller {
    let (id, owner) = (try Identifier.fresh(), try Identifier.fresh())
    let master = try StoredKey(try ServerKey(drawing: .master), group: id, user: nil)
    let access = try StoredKey(try ServerKey(drawing: .access), group: id, user: owner)
    try await store.makeGroup(id, ttl: 60, owner: owner, master: master, access: access)
    return Caller(group: RedisStore.number(id), groupID: id, ttl: 60, seat: Caller.ownerSeat, tag: access.tag)
  }

  @Test func `what was deleted, but not acknowledged, is not called gone before the replicas know`() async throws {
    let primary = try await RedisProcess.start(port: try Loopback.freePort())
    let follow = ["--replicaof", "127.0.0.1 \(primary.port)", "--port", "0"]
    var replica = try await RedisProcess.start(follow)
    let service = try await Service.start(try Folder(), redis: "redis://127.0.0.1:\(primary.port)") {
      $0.redis?.replicas = 1
    }
    try await eventually("the replica has what is written") {
      try await service.ask("GET", "/health").status == 200
    }
    let (group, other) = (try await service.makeGroup(), try await service.makeGroup())
    let (user, renewed) = (try await group.addUser(at: service.place), try await group.addUser(at: service.place))
    struct NewKey: Decodable { let accessKey: String }
    let key: NewKey = try await service.ask(
      "POST", "\(group.path)/users/\(renewed.user)/key", key: group.masterKey
    ).json()
    let share = freshID()
    // So many that each thread of the service has a connection.
    for number in 0..<20 {
      let id = number == 0 ? share : freshID()
      try await group.keep([1], as: group.ownUser, id: id, at: service.place)
    }
    replica.end()
    try await eventually("the replica is gone") {
      try await primary.ask(["INFO", "replication"]).contains("connected_slaves:0")
    }
    let asks: [(method: String, path: String, key: String, last: Int)] = [
      ("DELETE", "\(group.path)/users/\(user.user)", group.masterKey, 404),
      ("DELETE", "\(group.path)/shares/\(share)", group.accessKey, 404),
      ("DELETE", other.path, other.masterKey, 401), ("GET", group.path, key.accessKey, 200),
    ]
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for ask in asks {
        tasks.addTask {
          for _ in 0..<3 {
            let answer = try await service.ask(ask.method, ask.path, key: ask.key)
            #expect(answer.status == 503, "\(ask.method) \(ask.path): \(answer.text)")
          }
        }
      }
      try await tasks.waitForAll()
    }
    replica = try await RedisProcess.start(follow)
    for ask in asks {
      try await eventually("it is settled") {
        try await service.ask(ask.method, ask.path, key: ask.key).status == ask.last
      }
    }
    await service.stop()
    withExtendedLifetime(replica) {}
  }

  @Test func `a share isn't kept under keys that were drawn before another primary took over`() async throws {
    let (redis, url, database) = try await SharedRedis.database()
    let store = try store(url)
    defer { store.close() }
    let caller = try await makeGroup(store)
    let share = NewShare(id: try Identifier.fresh(), bytes: [1, 2, 3], recipients: nil)
    let expires = store.time.now + 60_000
    let pair = try await store.keys.draw(group: caller.groupID, ttl: 60, expires: expires)
    // The new one never heard of these keys.
    try await redis.ask(["HINCRBY", "vs:meta", "epoch", "1"], database: database)
    let all = [UInt8(ascii: "*")]
    #expect(try await store.put(caller, share, all, expires: expires, replacing: 0, under: pair) == nil)
    let receipt = try await store.put(caller, share)
    #expect(!receipt.isRepeated)
    #expect(try await store.share(caller, share.id) == [1, 2, 3])
  }

  @Test func `cursors that a new primary begins with are shown to nobody before replicas know of it`() async throws {
    let (redis, url, database) = try await SharedRedis.database()
    let first = try store(url)
    let caller = try await makeGroup(first)
    func put(_ store: RedisStore) async throws -> Int64 {
      try await store.put(caller, NewShare(id: try Identifier.fresh(), bytes: [1], recipients: nil)).cursor
    }
    for _ in 0..<3 { _ = try await put(first) }
    func look(_ store: RedisStore, after: Int64) async throws -> Int64 {
      try await store.page(caller, PageRequest(after: after, limit: 10)) { _, _ in }.next
    }
    #expect(try await look(first, after: 0) == 3)
    first.close()
    try await redis.ask(["HSET", "vs:meta", "identity", "another"], database: database)
    let parted = try store(url, replicas: 1)
    #expect(try await look(parted, after: 0) == 3)
    #expect(try await parted.info(caller).newest == 3)
    // Somebody may know a later one, of a share that is lost: he need not begin again, nor go back.
    #expect(try await look(parted, after: 4) == 4)
    await #expect(throws: RedisFault.self) { try await put(parted) }
    #expect(try await look(parted, after: 0) == 3)
    parted.close()
    let whole = try store(url)
    defer { whole.close() }
    let cursor = try await put(whole)
    #expect(cursor > 1 << 20)
    #expect(try await look(whole, after: 0) == cursor)
  }

  @Test func `where a clock was set back time goes on, also while nothing is written`() async throws {
    let (redis, _, database) = try await SharedRedis.database()
    // As if it had been an hour later before.
    let mark = ClockSources.machine.wall() + 3_600_000
    let times = try await offTheCooperativePool {
      let connection = try RedisConnection(nil, socket: redis.socket)
      try connection.call(["SELECT", .number(Int64(database))])
      try connection.call(["HSET", "vs:meta", "mark", .number(mark)])
      let nobody = RedisArgument.bytes([UInt8](repeating: 0, count: 16))
      return try (0..<2).map { _ in
        try connection.letPass(milliseconds: 50)
        return try connection.run(RedisScripts.sweep, ["0", "news", nobody, "500"]).value[1].integer
      }
    }
    #expect(times[0] >= mark && times[1] >= times[0] + 50)
  }

  @Test func `how far an old primary's time was ahead of its clock is nothing to the new one`() async throws {
    let (redis, url, database) = try await SharedRedis.database()
    let now = ClockSources.machine.wall()
    try await redis.ask(
      ["HSET", "vs:meta", "identity", "another", "ahead", "3600000", "mark", "\(now)"], database: database)
    let service = try await Service.start(try Folder(), redis: url)
    let group = try await service.makeGroup()
    let info: Info = try await service.ask("GET", group.path, key: group.accessKey).json()
    #expect((now...ClockSources.machine.wall()).contains(info.time))
    await service.stop()
  }

  @Test func `where Redis is full, what makes room works, and so does reading`() async throws {
    let redis = try await RedisProcess.start()
    let url = "redis+unix://\(redis.socket)"
    var service = try await Service.start(try Folder(), redis: url)
    let group = try await service.makeGroup()
    let user = try await group.addUser(at: service.place)
    let renewed = try await group.addUser(at: service.place)
    let (one, two) = (freshID(), freshID())
    for id in [one, two] {
      try await group.keep([1], as: group.ownUser, id: id, at: service.place)
    }
    try await redis.ask(["CONFIG", "SET", "maxmemory", "1"])
    await service.stop()
    service = try await Service.start(try Folder(), redis: url)
    let refused = try await group.put([1], as: group.ownUser, at: service.place)
    #expect(refused.status == 507 && refused.code == "full")
    #expect(try await group.put([1], as: group.ownUser, id: two, at: service.place).status == 200)
    #expect(try await group.list(as: user, at: service.place).shares.count == 2)
    #expect(try await service.ask("DELETE", "\(group.path)/shares/\(one)", key: group.accessKey).status == 204)
    #expect(try await service.ask("DELETE", "\(group.path)/users/\(user.user)", key: group.masterKey).status == 204)
    struct NewKey: Decodable { let accessKey: String }
    let key: NewKey = try await service.ask(
      "POST", "\(group.path)/users/\(renewed.user)/key", key: group.masterKey
    ).json()
    #expect(try await service.ask("GET", group.path, key: key.accessKey).status == 200)
    #expect(try await service.ask("GET", group.path, key: renewed.accessKey).status == 401)
    #expect(try await service.ask("DELETE", group.path, key: group.masterKey).status == 204)
    try await eventually("it is swept") { service.store.totals.groups == 0 && service.store.totals.shares == 0 }
    try await eventually("nothing of it is left") { try await redis.ask(["KEYS", "vs:l*"]) == "" }
    await service.stop()
  }

  @Test func `a key store has as many replicas as its own place says, not that of the shares`() async throws {
    let (data, keys) = (
      try await RedisProcess.start(port: try Loopback.freePort()), try await RedisProcess.start()
    )
    let sentinel = try FakeSentinel(primary: data.port)
    let store = try store("redis+sentinel://\(sentinel.address)/shares", key: "redis+unix://\(keys.socket)")
    defer { store.close() }
    #expect(store.replicas == 1 && store.keys.replicas == 0)
  }

  @Test func `health is found out once a second, however many ask`() async throws {
    let url = try await SharedRedis.database().url
    let store = try store(url)
    defer { store.close() }
    let clock = TestClock()
    let health = HealthCheck(store, uptime: clock.sources.uptime)
    func scripts() -> Int {
      Int(store.gauges.first { $0.name == "redis_scripts_total" }?.value ?? "") ?? -1
    }
    for _ in 0..<2 {
      let before = scripts()
      await withTaskGroup(of: Void.self) { tasks in
        for _ in 0..<300 { tasks.addTask { #expect(await health.isHealthy) } }
      }
      #expect(scripts() == before + 1)
      clock.advance(by: .seconds(1))
    }
  }

  /// As docs/SERVER.md lists them.
  private func documentedCommands() throws -> [String] {
    let path =
      URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().path + "/docs/SERVER.md"
    let line = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").first {
      $0.contains("ACL SETUSER vault ")
    }
    return try #require(line).split(separator: " ").map(String.init).filter { $0.hasPrefix("+") }
  }

  @Test func `a user of Redis who may do what is documented is enough`() async throws {
    let folder = try Folder()
    let rules = ["on", ">right", "~vs:*", "&vs:*"] + (try documentedCommands())
    let redis = try await RedisProcess.start(["--user", "default", "off", "--user", "vault"] + rules)
    let keys = try await RedisProcess.start(["--user", "default", "off", "--user", "vault"] + rules)
    try "right\n".write(toFile: folder.path + "/password", atomically: true, encoding: .utf8)
    let service = try await Service.start(folder, redis: "redis+unix://vault@\(redis.socket)?db=3") {
      $0.redis?.keyStore = "redis+unix://vault@\(keys.socket)"
      $0.redis?.passwordFile = folder.path + "/password"
      $0.redis?.keyPasswordFile = folder.path + "/password"
      $0.redis?.replicas = 0
    }
    let group = try await service.makeGroup()
    let user = try await group.addUser(at: service.place)
    async let waited = group.list("wait=60", as: user, at: service.place)
    try await eventually("somebody waits") { service.store.board.count == 1 }
    let id = freshID()
    let text = "\(user.user),\(group.owner)"
    #expect(
      try await group.put([1], as: group.ownUser, id: id, recipients: text, at: service.place).status == 201)
    #expect(try await group.put([1], as: group.ownUser, id: id, recipients: text, at: service.place).status == 200)
    #expect(try await waited.shares.count == 1)
    #expect(try await service.ask("GET", "/health").status == 200)
    #expect(try await service.ask("GET", "\(group.path)/shares/\(id)", key: user.accessKey).status == 200)
    struct NewKey: Decodable { let accessKey: String }
    let key: NewKey = try await service.ask(
      "POST", "\(group.path)/users/\(user.user)/key", key: group.masterKey
    ).json()
    #expect(try await service.ask("GET", group.path, key: key.accessKey).status == 200)
    #expect(try await service.ask("DELETE", "\(group.path)/users/\(user.user)", key: group.masterKey).status == 204)
    #expect(try await service.ask("DELETE", "\(group.path)/shares/\(id)", key: group.accessKey).status == 204)
    _ = try await group.put([2], as: group.ownUser, at: service.place)
    #expect(try await service.ask("DELETE", group.path, key: group.masterKey).status == 204)
    try await service.store.sweep()
    try await service.store.destroyKeys()
    #expect(service.store.totals.groups == 0 && service.store.totals.shares == 0)
    await service.stop()
  }

  @Test func `a key store that doesn't tell whether it writes to a disk is refused`() async throws {
    let keys = try await RedisProcess.start(["--user", "default", "on", "nopass", "~*", "&*", "+@all", "-config"])
    let url = try await SharedRedis.database().url
    let error = #expect(throws: ServerError.self) { try store(url, key: "redis+unix://\(keys.socket)") }
    #expect(error?.hint?.contains("CONFIG GET") == true)
  }
}
