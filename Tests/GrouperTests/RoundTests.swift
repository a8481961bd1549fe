import Testing

@testable import Grouper

/// What a round says of servers that don't do as they should.
@Suite(.timeLimit(.minutes(5))) struct RoundTests {
  /// A round for somebody who waits, while one server keeps silent: the two seconds pass that it is given once the others have answered.
  private func hurriedRound(of device: Device, in world: World) async throws -> ReceiveReport {
    async let report = device.grouper.round(isFirst: true, isForced: true, isHurried: true)
    await world.clock.passOnce(.seconds(2))
    return try await report
  }

  @Test func `a full server is called full, although it answers`() async throws {
    let world = try World()
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
    let world = try World()
    let devices = try await world.group(2)
    try await world.settle(devices, rounds: 2)
    world.servers[2].set(.silent)
    let report = try await hurriedRound(of: devices[0], in: world)
    #expect(report.success && report.answered == 2)
    let error = try await devices[0].grouper.status().servers[2].lastError
    #expect(error?.contains("keeps silent") == true)
    world.servers[2].set()
    #expect(try await devices[0].grouper.round(isFirst: true, isForced: true, isHurried: true).answered == 3)
  }

  @Test func `a silent server holds up no removal and nobody who is told of it, and is left alone then`()
    async throws
  {
    let world = try World()
    let devices = try await world.group(3)
    try await world.settle(devices, rounds: 2)
    world.servers[0].set(.silent)
    let removed = try #require(await devices[2].grouper.ownCard).node
    async let removal: Void = devices[0].grouper.remove(removed)
    await world.clock.passOnce(.seconds(2))
    try await removal
    #expect(world.servers.map(\.userCount) == [3, 2, 2])
    #expect(world.servers.map(\.tasks) == [1, 3, 3])
    let status = try await devices[0].grouper.status()
    #expect(status.unfinishedTasks == 3 && status.servers[0].lastError?.contains("keeps silent") == true)
    _ = try await hurriedRound(of: devices[0], in: world)
    #expect(world.servers[0].tasks == 1)
    _ = try await hurriedRound(of: devices[1], in: world)
    #expect(try await devices[1].grouper.status().epoch == 2)
    world.servers[0].set()
    world.clock.advance(seconds: 700)
    _ = try await devices[0].grouper.round(isFirst: false)
    #expect(try await devices[0].grouper.status().unfinishedTasks == 0)
    #expect(world.servers[0].userCount == 2)
  }

  @Test func `what is missing is known only while somebody was heard within the time to live, and there is room`()
    async throws
  {
    let world = try World()
    let devices = try await world.group(2, ttl: 60)
    try await world.settle(devices)
    let device = devices[1].grouper
    #expect(try await device.status().isMissingKnown)
    world.hasRoom.withLock { $0 = false }
    #expect(try await !device.status().isMissingKnown)
    world.hasRoom.withLock { $0 = true }
    #expect(try await device.status().isMissingKnown)
    world.clock.advance(seconds: 75)
    #expect(try await !device.status().isMissingKnown)
    _ = try await device.sync()
    #expect(try await !device.status().isMissingKnown)
    try await world.settle(devices, rounds: 3)
    #expect(try await device.status().isMissingKnown)
  }

  @Test func `that there is no room is told once, for all servers and rounds, until there is some`() async throws {
    let world = try World()
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
    let world = try World()
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
