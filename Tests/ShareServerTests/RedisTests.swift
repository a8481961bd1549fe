import ChatServers
import Foundation
import Sodium
import Synchronization
import Testing

@testable import ShareServer

@Suite struct RedisTests {
  private func put(_ group: Group, _ text: String, id: String = freshID(), at place: String) async throws -> Answer {
    try await group.put(Array(text.utf8), as: group.ownUser, id: id, at: place)
  }

  @Test func `a share is readable until the millisecond in which it expires, and Redis ends it then by itself`()
    async throws
  {
    let (redis, url, database) = try await SharedRedis.database()
    let store = try RedisStore(
      RedisOptions(store: url), limits: ServerLimits(), clock: nil, board: WaitingBoard(), log: quietLogger)
    defer { store.close() }
    let (id, owner) = (try Identifier.fresh(), try Identifier.fresh())
    let master = try ServerKey(drawing: .master)
    let access = try ServerKey(drawing: .access)
    let stored = try StoredKey(access, group: id, user: owner)
    try await store.makeGroup(
      id, ttl: 3, owner: owner, master: try StoredKey(master, group: id, user: nil), access: stored)
    let caller = Caller(group: RedisStore.number(id), groupID: id, ttl: 3, seat: Caller.ownerSeat, tag: stored.tag)
    func now() -> Int64 { ClockSources.machine.wall() }
    // Where nobody here or there gets a turn for three seconds, it is over before the first look.
    var reads = 0
    for _ in 0..<5 where reads == 0 {
      let share = try Identifier.fresh()
      let receipt = try await store.put(caller, NewShare(id: share, bytes: [1, 2, 3], recipients: nil))
      while now() < receipt.expires + 300 {
        let before = now()
        do {
          #expect(try await store.share(caller, share) == [1, 2, 3])
          reads += 1
          #expect(before < receipt.expires)
        } catch let refusal as Refusal {
          #expect(refusal == .busy || refusal == .notFound && now() >= receipt.expires)
        }
      }
    }
    #expect(reads > 0)
    // Nothing was swept: what is gone, Redis itself has ended.
    let names = try await redis.ask(["KEYS", "vs:*"], database: database)
    #expect(names.contains("vs:m") && !names.contains("vs:d"))
    try await eventually("the key's slot is over, too") {
      try await !redis.ask(["KEYS", "vs:slot:*"], database: database).contains("vs:slot:")
    }
    try await store.sweep()
    try await store.destroyKeys()
    #expect(store.totals.shares == 0 && store.totals.bytes == 0 && store.slotCount == 0)
    #expect(try await redis.ask(["ZCARD", "vs:slots"], database: database) == "0")
  }

  @Test func `who waits at one service is answered when a share comes to another of the same Redis`() async throws {
    let url = try await SharedRedis.database().url
    let services = [
      try await Service.start(try Folder(), redis: url), try await Service.start(try Folder(), redis: url),
    ]
    let group = try await services[0].makeGroup()
    let user = try await group.addUser(at: services[1].place)
    async let listing = group.list("wait=60", as: user, at: services[1].place)
    try await eventually("somebody waits") { services[1].store.board.count == 1 }
    #expect(try await put(group, "across", at: services[0].place).status == 201)
    #expect(try await listing.texts == ["across"])
    async let answer = services[1].ask("GET", group.path + "/shares?after=1&wait=60", key: user.accessKey)
    try await eventually("somebody waits") { services[1].store.board.count == 1 }
    let removal = try await services[0].ask("DELETE", "\(group.path)/users/\(user.user)", key: group.masterKey)
    #expect(removal.status == 204)
    #expect(try await answer.status == 401)
    for service in services { await service.stop() }
  }

  @Test func `what too few replicas have isn't acknowledged, and the same again is a repetition when they have it`()
    async throws
  {
    let primary = try await RedisProcess.start(port: try Loopback.freePort())
    let follow = ["--replicaof", "127.0.0.1 \(primary.port)", "--port", "0"]
    var replica = try await RedisProcess.start(follow)
    try await eventually("the replica follows") {
      try await primary.ask(["INFO", "replication"]).contains("state=online")
    }
    let service = try await Service.start(try Folder(), redis: "redis://127.0.0.1:\(primary.port)") {
      $0.redis?.replicas = 1
    }
    struct Counts: Decodable { let shares: Int }
    let group = try await service.makeGroup()
    // So many that each thread of the service has a connection.
    for number in 0..<20 { try await group.keep(Array("\(number)".utf8), as: group.ownUser, at: service.place) }
    replica.end()
    try await eventually("the replica is gone") {
      try await primary.ask(["INFO", "replication"]).contains("connected_slaves:0")
    }
    let id = freshID()
    try await eventually("the primary alone has it", within: 120) {
      let answer = try await put(group, "last", id: id, at: service.place)
      #expect(answer.status == 503 && answer.code == "unavailable" && answer.headers["retry-after"] != nil)
      let counts: Counts = try await service.ask("GET", group.path, key: group.accessKey).json()
      return counts.shares == 21
    }
    try await eventually("it is ill") { try await service.ask("GET", "/health").status == 503 }
    replica = try await RedisProcess.start(follow)
    var last: Answer?
    try await eventually("it is acknowledged") {
      last = try await put(group, "last", id: id, at: service.place)
      return last?.status != 503
    }
    let receipt: Receipted = try #require(last).json()
    #expect(last?.status == 200 && receipt.cursor == 21)
    try await eventually("it is healthy") { try await service.ask("GET", "/health").status == 200 }
    await service.stop()
  }

  @Test func `cursors jump when another primary has taken over, and no reader misses what comes then`() async throws {
    let (redis, url, database) = try await SharedRedis.database()
    let service = try await Service.start(try Folder(), redis: url)
    let group = try await service.makeGroup()
    let reader = try await group.addUser(at: service.place)
    for text in ["one", "two", "lost"] { _ = try await put(group, text, at: service.place) }
    let page = try await group.list(as: reader, at: service.place)
    #expect(page.next == 3)
    // As if the last had been in the old primary only: the new one has another name, and never heard of it.
    let raw = try #require(bytes(hexadecimal: Substring(group.group)))
    try await offTheCooperativePool {
      let connection = try RedisConnection(nil, socket: redis.socket)
      try connection.call(["SELECT", .number(Int64(database))])
      try connection.call(["HSET", .bytes(Array("vs:g".utf8) + raw), "cursor", "2"])
      let last = try connection.call(["ZRANGE", .bytes(Array("vs:l".utf8) + raw), "2", "2"]).value[0].bytes
      try connection.call(["ZREM", .bytes(Array("vs:l".utf8) + raw), .bytes(last)])
      try connection.call(["HSET", "vs:meta", "identity", "another"])
    }
    await service.stop()
    let next = try await Service.start(try Folder(), redis: url)
    let empty = try await group.list("after=3", as: reader, at: next.place)
    #expect(empty.shares.isEmpty && empty.next >= 3)
    let receipt: Receipted = try await put(group, "new", at: next.place).json()
    #expect(receipt.cursor > 3 && receipt.cursor > empty.next)
    for after in [3, empty.next] {
      #expect(try await group.list("after=\(after)", as: reader, at: next.place).texts == ["new"])
    }
    #expect(try await group.list(as: reader, at: next.place).texts == ["one", "two", "new"])
    await next.stop()
  }

  @Test func `where a primary's clock is behind, time runs on from where it had come`() async throws {
    struct Info: Decodable { let time: Int64 }
    let (redis, url, database) = try await SharedRedis.database()
    let mark = ClockSources.machine.wall() + 3_600_000
    try await redis.ask(["HSET", "vs:meta", "mark", "\(mark)"], database: database)
    let service = try await Service.start(try Folder(), redis: url)
    let group = try await service.makeGroup()
    let first: Info = try await service.ask("GET", group.path, key: group.accessKey).json()
    try await offTheCooperativePool { try RedisConnection(nil, socket: redis.socket).letPass(milliseconds: 50) }
    let second: Info = try await service.ask("GET", group.path, key: group.accessKey).json()
    #expect(first.time >= mark && second.time >= first.time + 50)
    let receipt: Receipted = try await put(group, "x", at: service.place).json()
    #expect(receipt.expires >= second.time + 3_600_000)
    // Redis ends it by its own clock after its time to live, not an hour after that.
    let raw = try #require(bytes(hexadecimal: Substring(group.group)))
    let left = try await offTheCooperativePool {
      let connection = try RedisConnection(nil, socket: redis.socket)
      try connection.call(["SELECT", .number(Int64(database))])
      let share = try connection.call(["ZRANGE", .bytes(Array("vs:l".utf8) + raw), "0", "0"]).value[0].bytes
      return try connection.call(["PTTL", .bytes(Array("vs:d".utf8) + raw + share)]).value.integer
    }
    #expect((1...3_600_000).contains(left))
    await service.stop()
  }

  @Test func `without Redis requests are put off, and go on when it is back`() async throws {
    let folder = try Folder()
    let port = try Loopback.freePort()
    let lasting = ["--appendonly", "yes", "--appendfsync", "always", "--dir", folder.path]
    var redis = try await RedisProcess.start(port: port, lasting)
    let service = try await Service.start(try Folder(), redis: "redis://127.0.0.1:\(port)")
    let group = try await service.makeGroup()
    let reader = try await group.addUser(at: service.place)
    _ = try await put(group, "before", at: service.place)
    async let waited = service.ask("GET", "\(group.path)/shares?after=1&wait=60", key: reader.accessKey)
    try await eventually("somebody waits") { service.store.board.count == 1 }
    redis.end()
    try await eventually("nothing works") { try await put(group, "no", at: service.place).status == 503 }
    let answer = try await service.ask("GET", group.path, key: group.accessKey)
    #expect(answer.status == 503 && answer.headers["retry-after"] != nil)
    #expect(try await service.ask("GET", "/health").status == 503)
    redis = try await RedisProcess.start(port: port, lasting)
    // A request may be under way when Redis comes back; who waits is answered by what comes then, or was put off before.
    try await eventually("it works again") { try await put(group, "after", at: service.place).status == 201 }
    // Each thread of the service finds its own way back.
    var listing: Listing?
    try await eventually("lists work again") {
      listing = try? await group.list(as: reader, at: service.place)
      return listing != nil
    }
    // What went before Redis was gone has been kept.
    #expect(try #require(listing).texts.filter { $0 != "no" }.prefix(2) == ["before", "after"])
    #expect([200, 503].contains(try await waited.status))
    try await eventually("it is healthy") { try await service.ask("GET", "/health").status == 200 }
    await service.stop()
    withExtendedLifetime(redis) {}
  }

  @Test func `scripts that Redis has forgotten are sent again`() async throws {
    let redis = try await RedisProcess.start()
    let service = try await Service.start(try Folder(), redis: "redis+unix://\(redis.socket)")
    let group = try await service.makeGroup()
    for number in 0..<3 {
      try await redis.ask(["SCRIPT", "FLUSH"])
      #expect(try await put(group, "\(number)", at: service.place).status == 201)
    }
    await service.stop()
  }

  @Test func `with keys in a Redis of their own, the other's files never hold what opens a share`() async throws {
    let folder = try Folder()
    let data = try await RedisProcess.start(["--appendonly", "yes", "--appendfsync", "always", "--dir", folder.path])
    let keys = try await RedisProcess.start()
    let service = try await Service.start(try Folder(), redis: "redis+unix://\(data.socket)") {
      $0.redis?.keyStore = "redis+unix://\(keys.socket)"
    }
    let group = try await service.makeGroup()
    let reader = try await group.addUser(at: service.place)
    let text = "what a thief of the append-only file would like to read"
    _ = try await put(group, text, at: service.place)
    #expect(try await group.list(as: reader, at: service.place).texts == [text])
    let name = try await keys.ask(["KEYS", "vs:slot:*"])
    let key = try await offTheCooperativePool {
      try RedisConnection(nil, socket: keys.socket).call(["GET", .text(name)]).value.bytes
    }
    #expect(key.count == 32)
    #expect(try !folder.holds(key) && !folder.holds(Array(text.utf8)) && folder.holds(Array("vs:meta".utf8)))
    // With the keys gone, the members put their shares anew.
    try await keys.ask(["FLUSHALL"])
    #expect(try await group.list(as: reader, at: service.place).texts == [])
    #expect(try await put(group, text, at: service.place).status == 201)
    #expect(try await group.list("after=1", as: reader, at: service.place).texts == [text])
    #expect(try await service.ask("DELETE", group.path, key: group.masterKey).status == 204)
    #expect(try await keys.ask(["KEYS", "vs:key*"]) == "")
    await service.stop()
  }

  @Test func `an erased group leaves nothing in Redis`() async throws {
    let (redis, url, database) = try await SharedRedis.database()
    let service = try await Service.start(try Folder(), redis: url)
    let group = try await service.makeGroup()
    _ = try await group.addUser(at: service.place)
    for number in 0..<3 { _ = try await put(group, "\(number)", at: service.place) }
    _ = try await service.ask("DELETE", group.path, key: group.masterKey)
    try await eventually("only what is about the service is left") {
      let names = try await redis.ask(["KEYS", "*"], database: database).split(separator: "\n")
      return names.allSatisfy { ["vs:meta", "vs:slots"].contains($0) || $0.hasPrefix("vs:slot:") }
    }
    await service.stop()
  }

  @Test func `a password comes from a file, and a wrong one is refused`() async throws {
    let folder = try Folder()
    let redis = try await RedisProcess.start([
      "--user", "default", "off", "--user", "vault", "on", ">right-horse", "~*", "&*", "+@all",
    ])
    for (password, isRight) in [("right-horse", true), ("wrong-horse", false)] {
      try "\(password)\n".write(toFile: folder.path + "/password", atomically: true, encoding: .utf8)
      let server = try ServerProcess(
        folder, store: "redis+unix://vault@\(redis.socket)", ["--store-password-file", folder.path + "/password"])
      if isRight {
        try await server.ready()
        _ = try await Group.make(at: server.place)
        server.signal(SIGTERM)
        #expect(try await server.end() == 0)
      } else {
        #expect(try await server.end() == 1)
        #expect(server.log.contains("WRONGPASS") && !server.log.contains("horse"))
      }
    }
  }

  @Test(arguments: [
    (["--maxmemory-policy", "allkeys-lru"], "maxmemory-policy noeviction", false),
    (["--save", "60", "1"], "set save", true), (["--appendonly", "yes"], "set save", true),
  ])
  func `a Redis that forgets shares, or a key store that writes to a disk, is refused`(
    _ settings: [String], _ words: String, _ isKeyStore: Bool
  ) async throws {
    let unfit = try await RedisProcess.start(settings)
    let fit = try await SharedRedis.database().url
    let folder = try Folder()
    let url = "redis+unix://\(unfit.socket)"
    let server = try ServerProcess(folder, store: isKeyStore ? fit : url, isKeyStore ? ["--key-store", url] : [])
    #expect(try await server.end() == 1)
    #expect(server.log.contains(words), "\(server.log)")
  }

  @Test func `metrics tell how Redis does`() async throws {
    let url = try await SharedRedis.database().url
    let service = try await Service.start(try Folder(), redis: url)
    _ = try await service.makeGroup()
    let values = Dictionary(uniqueKeysWithValues: service.store.gauges.map { ($0.name, Int($0.value) ?? -1) })
    #expect((values["redis_connections_total"] ?? 0) > 0 && (values["redis_scripts_total"] ?? 0) > 0)
    #expect(values["redis_failures_total"] == 0 && values["redis_unreplicated_total"] == 0)
    await service.stop()
  }

  @Test(arguments: [
    ("redis://127.0.0.1:6379", "Redis at 127.0.0.1:6379", 0), ("redis://me@[::1]:1/5", "Redis at [::1]:1", 5),
    ("redis+unix:///run/redis.sock?db=3", "Redis at /run/redis.sock", 3),
    ("redis+sentinel://a:1,b:2/shares/4", "Redis shares of the sentinels at a:1, b:2", 4),
  ])
  func `a place of Redis is understood`(_ text: String, _ words: String, _ database: Int) throws {
    let place = try RedisPlace(text)
    #expect(place.description == words && place.database == database)
    #expect(place.user == (text.contains("me@") ? "me" : nil))
  }

  @Test(arguments: [
    "", "redis", "http://a:1", "redis://", "redis://a", "redis://a:0", "redis://a:70000", "redis://a:1/x",
    "redis://:secret@a:1", "redis://me:secret@a:1", "redis+unix://relative", "redis+unix:///a?x=1",
    "redis+sentinel://a:1", "redis+sentinel://a:1/", "redis+sentinel://,/x", "redis://@a:1",
  ])
  func `another text is no place of Redis, and a password in it is named as a fault`(_ text: String) {
    let error = #expect(throws: ServerError.self) { try RedisPlace(text) }
    #expect(error?.description.contains("secret") == false)
    if text.contains("secret") { #expect(error?.hint?.contains("--store-password-file") == true) }
  }
}

extension Folder {
  /// Whether a file in it, however deep, has these bytes.
  func holds(_ bytes: [UInt8]) throws -> Bool {
    try FileManager.default.subpathsOfDirectory(atPath: path).contains { name in
      (try? Data(contentsOf: URL(fileURLWithPath: path + "/" + name)))?.range(of: Data(bytes)) != nil
    }
  }
}
