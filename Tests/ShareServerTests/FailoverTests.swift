import ChatServers
import Foundation
import Glibc
import Synchronization
import Testing

@testable import ShareServer

@Suite struct FailoverTests {
  /// What was acknowledged, and how often that was refused.
  private final class Log: Sendable {
    private struct State {
      var shares: [String: String] = [:]
      var refusals: [Int: Int] = [:]
      var isOver = false
    }

    private let state = Mutex(State())

    var shares: [String: String] { state.withLock { $0.shares } }
    var refusals: [Int: Int] { state.withLock { $0.refusals } }
    func add(_ id: String, _ text: String) { state.withLock { $0.shares[id] = text } }
    /// Whether enough has been put.
    var isOver: Bool { state.withLock { $0.isOver } }
    func end() { state.withLock { $0.isOver = true } }
    func refused(_ status: Int) { state.withLock { $0.refusals[status, default: 0] += 1 } }
  }

  @Test func `what was acknowledged is there after the primary was killed while shares came, and no reader misses any`()
    async throws
  {
    let primary = try await RedisProcess.start(port: try Loopback.freePort())
    var replicas: [RedisProcess] = []
    for _ in 0..<2 {
      replicas.append(
        try await RedisProcess.start(
          port: try Loopback.freePort(), ["--replicaof", "127.0.0.1 \(primary.port)"]))
    }
    try await eventually("both replicas follow") {
      try await primary.ask(["INFO", "replication"]).components(separatedBy: "state=online").count == 3
    }
    let sentinel = try await RedisProcess.sentinel(port: try Loopback.freePort(), primary: primary.port)
    try await eventually("the sentinel knows both replicas") {
      try await sentinel.ask(["INFO", "sentinel"]).contains("slaves=2")
    }
    let url = "redis+sentinel://127.0.0.1:\(sentinel.port)/shares"
    // Both replicas must have what is acknowledged: the sentinel promotes either of them.
    let options = ["--key-rate", "0", "--address-rate", "0", "--redis-replicas", "2"]
    let servers = [
      try await ServerProcess.start(try Folder(), store: url, options),
      try await ServerProcess.start(try Folder(), store: url, options),
    ]
    // A replica that has just come shows that it has something only a second later.
    for server in servers {
      try await eventually("both replicas have what is written") {
        try await Ask(path: "/health").send(to: server.place).status == 200
      }
    }
    let group = try await Group.make(at: servers[0].place, ttl: 3600)
    var users: [User] = []
    for _ in 0..<4 { users.append(try await group.addUser(at: servers[1].place)) }
    let log = Log()
    let reader = Reader(group: group, places: servers.map(\.place))
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for (number, user) in users.enumerated() {
        tasks.addTask {
          while !log.isOver {
            let id = freshID()
            let text = "\(number) \(id)"
            // Until it is acknowledged: to a service that says that it can't now one comes again, as clients do.
            while !log.isOver {
              let place = servers[Int.random(in: 0...1)].place
              let answer = try await group.put(Array(text.utf8), as: user, id: id, at: place)
              if answer.status == 201 || answer.status == 200 {
                log.add(id, text)
                break
              }
              log.refused(answer.status)
              #expect(answer.headers["retry-after"] != nil, "\(answer.status) \(answer.text)")
              try await Task.sleep(for: .milliseconds(50))
            }
          }
        }
      }
      tasks.addTask { while !log.isOver { _ = try await reader.read(wait: 1) } }
      try await eventually("some are kept") { log.shares.count > 60 }
      primary.end()
      let before = log.shares.count
      // In place of the one that is gone another comes: until then nothing can be acknowledged.
      var next = primary.port
      try await eventually("a replica is promoted", within: 120) {
        let words = try await sentinel.ask(["SENTINEL", "get-master-addr-by-name", "shares"])
        next = try #require(words.split(separator: "\n").last.flatMap { Int($0) })
        return next != primary.port
      }
      replicas.append(
        try await RedisProcess.start(port: try Loopback.freePort(), ["--replicaof", "127.0.0.1 \(next)"]))
      try await eventually("it goes on with another primary", within: 120) { log.shares.count > before + 100 }
      log.end()
      try await tasks.waitForAll()
    }
    while try await reader.read(wait: 0) {}
    let (kept, read) = (log.shares, reader.found)
    #expect(kept.allSatisfy { read[$0.key] == $0.value })
    #expect(Set(log.refusals.keys) == [503])
    withExtendedLifetime((replicas, sentinel)) {}
  }

  /// Reads what is new as a member does, now from the one and now from the other service.
  private final class Reader: Sendable {
    private struct State {
      var found: [String: String] = [:]
      var after = 0
    }

    private let group: Group
    private let places: [String]
    private let state = Mutex(State())

    init(group: Group, places: [String]) {
      self.group = group
      self.places = places
    }

    var found: [String: String] { state.withLock { $0.found } }

    /// Says whether there may be more.
    func read(wait: Int) async throws -> Bool {
      let after = state.withLock { $0.after }
      let ask = Ask(
        path: "\(group.path)/shares?after=\(after)&limit=500&wait=\(wait)",
        headers: ["Authorization": "Bearer " + group.accessKey])
      let answer = try await ask.send(to: places.randomElement() ?? "")
      guard answer.status == 200 else {
        try await Task.sleep(for: .milliseconds(50))
        return true
      }
      let page: Listing = try answer.json()
      #expect(page.next >= after, "cursors don't go back")
      state.withLock { state in
        for share in page.shares { state.found[share.share] = String(decoding: share.data, as: UTF8.self) }
        state.after = page.next
      }
      return page.more
    }
  }
}
