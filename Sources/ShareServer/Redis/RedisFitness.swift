import Logging

enum RedisFitness {
  static func line(_ name: String, of section: String, _ connection: RedisConnection) throws(RedisFault) -> String {
    let text = try connection.call(["INFO", .text(section)]).value.text
    for line in text.split(whereSeparator: \.isNewline) where line.hasPrefix(name + ":") {
      return String(line.dropFirst(name.count + 1))
    }
    throw .garbled
  }

  /// Refuses a Redis that throws away what it is to keep, and warns of one that forgets it when it ends.
  static func checkStore(_ locator: RedisLocator, _ log: Logger) throws {
    let connection = try check(locator, log)
    if connection.setting("appendonly") == "no" {
      log.warning(
        "this Redis has no append-only file: what it has is only in memory of its machines (set appendonly yes)",
        metadata: ["store": "\(locator.place)"])
    }
  }

  /// Refuses also one that writes to a disk.
  static func checkKeyStore(_ locator: RedisLocator, _ log: Logger) throws {
    let connection = try check(locator, log)
    let hint = "set save \"\" and appendonly no there, also for its replicas"
    guard let appending = connection.setting("appendonly"), let snapshots = connection.setting("save") else {
      throw ServerError(
        "whether the key store, \(locator.place), writes keys to its disk could not be asked (CONFIG GET)",
        hint: "allow its user the command CONFIG GET")
    }
    if appending != "no" || !snapshots.isEmpty {
      throw ServerError("the key store, \(locator.place), writes keys to its disk, where they stay", hint: hint)
    }
    if connection.setting("slowlog-max-len") != "0", connection.setting("slowlog-log-slower-than") != "-1" {
      log.warning(
        "the key store may keep keys in its log of slow commands (set slowlog-max-len 0)",
        metadata: ["store": "\(locator.place)"])
    }
    if connection.setting("repl-diskless-sync") == "no" {
      throw ServerError(
        "the key store, \(locator.place), writes keys to its disk for its replicas",
        hint: "set repl-diskless-sync yes there, and repl-diskless-load on-empty-db at its replicas")
    }
  }

  private static func check(_ locator: RedisLocator, _ log: Logger) throws -> RedisConnection {
    let connection: RedisConnection
    do { connection = try locator.connect().connection } catch {
      throw ServerError("\(locator.place) can't be used: \(error)", hint: "start it, or mend --store")
    }
    let version = try line("redis_version", of: "server", connection)
    let numbers = version.split(separator: ".").map { Int($0) ?? 0 }
    guard numbers.lexicographicallyPrecedes([6, 2]) == false else {
      throw ServerError("\(locator.place) has version \(version); at least 6.2 is needed")
    }
    // It says that also to who may not ask for its settings.
    switch (try? line("maxmemory_policy", of: "memory", connection)) ?? connection.setting("maxmemory-policy") {
    case nil:
      log.warning(
        "whether this Redis keeps what it has could not be asked; it needs maxmemory-policy noeviction",
        metadata: ["store": "\(locator.place)"])
    case "noeviction"?: break
    case let policy?:
      throw ServerError(
        "\(locator.place) throws away what doesn't fit into its memory (maxmemory-policy \(policy))",
        hint: "set maxmemory-policy noeviction")
    }
    return connection
  }
}
