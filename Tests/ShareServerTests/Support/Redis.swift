import Foundation
import Glibc
import Synchronization
import Testing

@testable import ShareServer

/// What keeps things for a service under test.
enum Keeping: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case sqlite
  case redis

  var testDescription: String { rawValue }
}

/// A Redis of Debian's package, as a process of its own that ends with the tests whatever happens to them: a shell beside it
/// waits for the end of a pipe that only the tests hold.
final class RedisProcess: @unchecked Sendable {
  private let process = Process()
  private let life = Pipe()
  let folder: Folder
  private(set) var port = 0

  /// The program under its name. Debian's package redis-tools has it under another; the name decides what it does.
  private static func program(_ folder: Folder) throws -> String {
    if access("/usr/bin/redis-server", X_OK) == 0 { return "/usr/bin/redis-server" }
    try #require(
      access("/usr/bin/redis-check-rdb", X_OK) == 0, "install Debian's package redis-tools (scripts/setup redis-cli)")
    let path = folder.path + "/redis-server"
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/usr/bin/redis-check-rdb")
    return path
  }

  var socket: String { folder.path + "/redis.sock" }
  var log: String { (try? String(contentsOfFile: folder.path + "/log", encoding: .utf8)) ?? "" }

  private init(_ arguments: [String]) throws {
    folder = try Folder()
    let program = try Self.program(folder)
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    // It waits for nothing after that: SIGCHLD may be blocked in whatever the tests start.
    process.arguments = ["-c", "\"$@\" </dev/null & p=$!; read -r line; kill -9 $p", "sh", program]
    // Its own place, wherever it keeps its files.
    let socket = folder.path + "/redis.sock"
    process.arguments? += arguments.map { $0 == "redis.sock" ? socket : $0 }
    process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
    process.standardInput = life
    _ = FileManager.default.createFile(atPath: folder.path + "/log", contents: nil)
    process.standardOutput = FileHandle(forWritingAtPath: folder.path + "/log")
    process.standardError = process.standardOutput
    try process.run()
  }

  deinit { end() }

  /// Kills it.
  func end() { try? life.fileHandleForWriting.close() }

  /// Starts one and returns when it answers. Without a port it has only a socket.
  static func start(port: Int = 0, _ arguments: [String] = []) async throws -> RedisProcess {
    let common = [
      "--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--port", "\(port)", "--unixsocket", "redis.sock",
      "--databases", "512", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
    ]
    let redis = try RedisProcess(common + arguments)
    redis.port = port
    try await redis.awaitAnswer()
    return redis
  }

  /// Starts a sentinel for the primary at a port.
  static func sentinel(port: Int, primary: Int) async throws -> RedisProcess {
    let folder = try Folder()
    let path = folder.path + "/sentinel.conf"
    try """
    port \(port)
    bind 127.0.0.1
    sentinel monitor shares 127.0.0.1 \(primary) 1
    sentinel down-after-milliseconds shares 1500
    sentinel failover-timeout shares 4000
    """.write(toFile: path, atomically: true, encoding: .utf8)
    let redis = try RedisProcess([path, "--sentinel"])
    redis.port = port
    redis.kept.withLock { $0.append(folder) }
    try await redis.awaitAnswer()
    return redis
  }

  private let kept = Mutex<[Folder]>([])

  private func awaitAnswer() async throws {
    try await eventually("Redis answers") {
      do {
        try await ask(["PING"])
        return true
      } catch RedisFault.answered {
        // Perhaps that it wants a password.
        return true
      } catch is RedisFault { return false }
    }
  }

  /// What it answers to a command, as a text; parts of an array in lines.
  @discardableResult
  func ask(_ words: [String], database: Int = 0) async throws -> String {
    try await offTheCooperativePool { [self] in
      let connection =
        access(socket, F_OK) == 0
        ? try RedisConnection(nil, socket: socket) : try RedisConnection(.init(host: "127.0.0.1", port: port))
      if database != 0 { try connection.call(["SELECT", .number(Int64(database))]) }
      return try Self.text(try connection.call(words.map { .text($0) }).value)
    }
  }

  private static func text(_ value: RedisValue) throws -> String {
    if value.isNull { return "" }
    if let items = try? value.items { return try items.map { try text($0) }.joined(separator: "\n") }
    return try (try? value.integer).map { "\($0)" } ?? value.text
  }
}

/// One Redis for all tests that need just some, with a database for each.
enum SharedRedis {
  private static let starting = Task { try await RedisProcess.start() }
  private static let next = Mutex(0)

  /// An empty database.
  static func database() async throws -> (redis: RedisProcess, url: String, number: Int) {
    let redis = try await starting.value
    let number = next.withLock { next in
      next += 1
      return next
    }
    return (redis, "redis+unix://\(redis.socket)?db=\(number)", number)
  }
}

extension RedisConnection {
  /// Returns when so much time has passed on Redis's own clock.
  func letPass(milliseconds: Int64) throws {
    let beginning = try time()
    while try time() < beginning + 1000 * milliseconds {}
  }

  /// Microseconds.
  private func time() throws -> Int64 {
    let reply = try call(["TIME"]).value
    let (seconds, rest) = (try #require(Int64(reply[0].text)), try #require(Int64(reply[1].text)))
    return seconds * 1_000_000 + rest
  }
}
