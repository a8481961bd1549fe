import Foundation
import Logging
import ServiceLifecycle
import TestTime
import Testing

@testable import ShareServer

/// A folder that is removed with this value.
final class Folder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/vault-server-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var data: String { path + "/data" }

  func contents(_ name: String) throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: data + "/" + name))
  }

  /// Names of the files that hold these bytes.
  func files(with bytes: [UInt8]) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: data).filter {
      try contents($0).range(of: Data(bytes)) != nil
    }
  }
}

extension TestClock {
  var sources: ClockSources {
    ClockSources(
      wall: { self.now }, uptime: { 5_000 + Int64(self.monotonic.rounded()) }, sleep: { try await self.sleep(for: $0) })
  }

  /// For what asks how time passes.
  var instants: @Sendable () -> ContinuousClock.Instant {
    let beginning = ContinuousClock.now
    return { beginning + .milliseconds(self.monotonic) }
  }

  func advance(milliseconds: Int64) { advance(by: .milliseconds(milliseconds)) }
}

/// The service, in this process, on a socket of loopback.
struct Service: Sendable {
  let place: String
  let store: any ShareStore
  /// Memory for bodies under way.
  let budget: MemoryBudget
  private let group: ServiceGroup
  private let running: Task<Void, any Error>

  /// Starts it. Its limits are those of operators, unless `adjust` says otherwise.
  static func start(
    _ folder: Folder, redis: String? = nil, clock: TestClock? = nil, _ adjust: (inout ServerOptions) -> Void = { _ in }
  ) async throws -> Service {
    var options = redis.map { ServerOptions(redis: RedisOptions(store: $0)) } ?? ServerOptions(data: folder.data)
    options.port = 0
    options.limits.freeBytes = 0
    adjust(&options)
    let (places, source) = AsyncStream<String>.makeStream()
    let service = try ShareService(options, clock: clock?.sources, log: quietLogger) { source.yield($0) }
    let group = ServiceGroup(configuration: .init(services: [service], logger: quietLogger))
    let running = Task { try await group.run() }
    var iterator = places.makeAsyncIterator()
    let place = try #require(await iterator.next())
    return Service(place: place, store: service.store, budget: service.budget, group: group, running: running)
  }

  /// Runs a test against a service, and stops it.
  static func run(
    _ keeping: Keeping = .sqlite, clock: TestClock? = nil, _ adjust: (inout ServerOptions) -> Void = { _ in },
    _ body: (Service, Folder) async throws -> Void
  ) async throws {
    let folder = try Folder()
    let redis = keeping == .redis ? try await SharedRedis.database().url : nil
    let service = try await start(folder, redis: redis, clock: clock, adjust)
    do { try await body(service, folder) } catch {
      await service.stop()
      throw error
    }
    await service.stop()
  }

  /// The store in a folder.
  var files: ServerStore { get throws { try #require(store as? ServerStore) } }

  func stop() async {
    await group.triggerGracefulShutdown()
    _ = await running.result
  }

  func ask(
    _ method: String, _ path: String, key: String? = nil, headers: [String: String] = [:], body: [UInt8]? = nil
  ) async throws -> Answer {
    var ask = Ask(method: method, path: path, headers: headers, body: body)
    if let key { ask.headers["Authorization"] = "Bearer " + key }
    return try await ask.send(to: place)
  }

  func makeGroup(ttl: Int = 3600) async throws -> Group { try await Group.make(at: place, ttl: ttl) }
}

let quietLogger: Logger = {
  var logger = Logger(label: "test")
  logger.logLevel = .critical
  return logger
}()

/// A group as its owner knows it.
struct Group: Sendable, Decodable {
  let group: String
  let owner: String
  let masterKey: String
  let accessKey: String
  let ttl: Int

  var path: String { "/v1/groups/" + group }

  static func make(at place: String, ttl: Int = 3600) async throws -> Group {
    let ask = Ask(
      method: "POST", path: "/v1/groups", headers: ["Content-Type": "application/json"],
      body: Array("{\"ttl\": \(ttl)}".utf8))
    return try await made(at: place, by: ask).json()
  }

  func addUser(at place: String) async throws -> User {
    let ask = Ask(method: "POST", path: path + "/users", headers: ["Authorization": "Bearer " + masterKey])
    return try await Self.made(at: place, by: ask).json()
  }

  private static func made(at place: String, by ask: Ask) async throws -> Answer {
    let answer = try await insistently { try await ask.send(to: place) }
    try #require(answer.status == 201, "\(answer.text)")
    return answer
  }

  /// The same again and again while the service is unavailable: a Redis or a replica that gets no turn for a second and a
  /// half is away for so long.
  private static func insistently(_ send: () async throws -> Answer) async throws -> Answer {
    var answer: Answer?
    try await eventually("an answer other than 503") {
      answer = try await send()
      return answer?.status != 503
    }
    return try #require(answer)
  }

  /// The owner as one of the users.
  var ownUser: User { User(user: owner, accessKey: accessKey) }

  func put(
    _ bytes: [UInt8], as user: User, id: String = freshID(), recipients: String? = nil, at place: String
  ) async throws -> Answer {
    var ask = Ask(method: "PUT", path: "\(path)/shares/\(id)", body: bytes)
    ask.headers = ["Authorization": "Bearer " + user.accessKey, "Content-Type": "application/octet-stream"]
    ask.headers["Recipients"] = recipients
    return try await ask.send(to: place)
  }

  /// As clients do, until the service has it.
  func keep(_ bytes: [UInt8], as user: User, id: String = freshID(), at place: String) async throws {
    let answer = try await Self.insistently { try await put(bytes, as: user, id: id, at: place) }
    try #require([200, 201].contains(answer.status), "\(answer.text)")
  }

  func list(_ query: String = "", as user: User, at place: String) async throws -> Listing {
    let ask = Ask(path: "\(path)/shares?\(query)", headers: ["Authorization": "Bearer " + user.accessKey])
    let answer = try await ask.send(to: place)
    try #require(answer.status == 200, "\(answer.text)")
    return try answer.json()
  }
}

struct User: Sendable, Decodable {
  let user: String
  let accessKey: String
}

struct Receipted: Decodable {
  let cursor: Int
  let expires: Int64
}

struct Listing: Sendable, Decodable {
  struct Share: Sendable, Decodable {
    let share: String
    let cursor: Int
    let sender: String
    let expires: Int64
    let data: Data
  }

  let shares: [Share]
  let next: Int
  let more: Bool

  var texts: [String] { shares.map { String(decoding: $0.data, as: UTF8.self) } }
}

func freshID() -> String { UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased() }
