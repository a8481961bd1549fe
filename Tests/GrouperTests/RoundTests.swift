import Testing

@testable import Grouper

/// What a round says of servers that don't do as they should.
@Suite struct RoundTests {
  @Test func `a full server is called full, although it answers`() async throws {
    let world = try World(waits: true)
    let devices = try await world.group(2, sufficient: 3)
    try await world.settle(devices, rounds: 2)
    world.servers[1].set(.full)
    try await devices[0].write("a", "text")
    _ = try await devices[0].grouper.round(isFirst: false, isForced: true)
    let status = try await devices[0].grouper.status()
    #expect(status.servers[1].lastError == nil && status.servers[1].refusal?.contains("it is full") == true)
    #expect(status.servers[0].refusal == nil && status.outbox.unsent > 0)
    world.servers[1].set()
    _ = try await devices[0].grouper.sync()
    #expect(try await devices[0].grouper.status().servers[1].refusal == nil)
  }

  @Test func `a server that keeps silent is left behind once enough have answered, by who is in a hurry`() async throws
  {
    let world = try World(waits: true)
    let devices = try await world.group(2)
    try await world.settle(devices, rounds: 2)
    world.servers[2].set(.silent)
    let report = try await devices[0].grouper.round(isFirst: true, isForced: true, isHurried: true)
    #expect(report.success && report.answered == 2)
    let error = try await devices[0].grouper.status().servers[2].lastError
    #expect(error?.contains("keeps silent") == true)
    world.servers[2].set()
    #expect(try await devices[0].grouper.round(isFirst: true, isForced: true, isHurried: true).answered == 3)
  }

  @Test func `that there is no room is told once, for all servers and rounds, until there is some`() async throws {
    let world = try World(waits: true)
    let devices = try await world.group(2)
    try await world.settle(devices, rounds: 2)
    let told = { world.events.withLock { $0 }.count { $0 == .storeFailed(reason: "\(GroupError.noRoom)") } }
    for times in 1...2 {
      world.hasRoom.withLock { $0 = false }
      for _ in 0..<3 {
        await #expect(throws: GroupError.self) { try await devices[0].grouper.round(isFirst: false, isForced: true) }
      }
      #expect(told() == times)
      world.hasRoom.withLock { $0 = true }
      _ = try await devices[0].grouper.round(isFirst: false, isForced: true)
    }
  }

  @Test func `what can't be kept here is no server's fault`() async throws {
    let world = try World(waits: true)
    let devices = try await world.group(2)
    try await world.settle(devices, rounds: 2)
    try await devices[1].write("a", "text")
    _ = try await devices[1].grouper.sync()
    // As on a full disk: nothing that comes can be kept.
    try await devices[0].grouper.store.write { transaction in
      try transaction.db.execute(
        sql: "CREATE TRIGGER full BEFORE INSERT ON pieces BEGIN SELECT RAISE(FAIL, 'disk is full'); END")
    }
    await #expect(throws: GroupError.self) { try await devices[0].grouper.round(isFirst: false, isForced: true) }
    for server in try await devices[0].grouper.status().servers { #expect(server.lastError == nil) }
  }
}
