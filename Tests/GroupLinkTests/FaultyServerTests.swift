import Foundation
import Grouper
import Testing

/// Groups on real servers that are slow, full, lie, have wrong clocks, or are killed again and again.
@Suite(.serialized, .timeLimit(.minutes(5))) struct FaultyServerTests {
  /// Nothing that anybody was told is durable is missing anywhere.
  private func expectAlike(_ group: RealGroup, _ expected: [String: String]) throws {
    for member in group.members { #expect(try member.texts() == expected, "\(member.name)") }
  }

  /// Servers of their own, each behind somebody who can change its answers.
  private func covered(_ count: Int) throws -> [(server: ServerProcess, way: Intermediary)] {
    try (0..<count).map { _ in
      let server = try ServerProcess()
      let port = try #require(server.address.split(separator: ":").last.flatMap { Int($0) })
      return (server, try Intermediary(before: port))
    }
  }

  @Test func `five servers that lie don't keep two honest ones from serving, and are named`() async throws {
    let servers = try covered(7)
    let addresses = servers.map(\.way.address)
    let group = try await RealGroup(3, on: addresses, threshold: 2, sufficient: 7)
    let manners: [Intermediary.Manner] = [.damages, .exchanges, .withholds, .runsAhead, .babbles]
    for (server, manner) in zip(servers, manners) { server.way.set(manner) }
    var expected: [String: String] = [:]
    for (number, member) in group.members.enumerated() {
      for place in 0..<3 {
        let id = "object \(number)-\(place)"
        try await member.write(id, "by \(member.name)")
        expected[id] = "by \(member.name)"
      }
    }
    try await group.settle()
    try expectAlike(group, expected)
    for member in group.members {
      #expect(member.log.damaging == [addresses[0], addresses[1]])
      for (place, server) in try await member.grouper.status().servers.enumerated() {
        #expect((server.damagedShares > 0) == (place < 2))
      }
      let malformed = member.log.failing { if case .malformed = $0 { true } else { false } }
      #expect(malformed == [addresses[3], addresses[4]])
      // Who withholds can't be told from one whom nobody has given anything.
      #expect(member.log.failing { _ in true } == malformed)
    }

    // Once they are honest again, any two of them do.
    for server in servers { server.way.set(.honest) }
    try await group.members[0].write("object", "to all of them")
    expected["object"] = "to all of them"
    _ = try await group.members[0].grouper.sync()
    for server in servers[5...] { server.server.kill() }
    try await group.settle()
    try expectAlike(group, expected)
  }

  @Test func `a server that keeps silent, and one that dawdles, hold nobody up`() async throws {
    let frozen = try ServerProcess()
    let slow = try covered(1)[0]
    let others = try (0..<2).map { _ in try ServerProcess() }
    let group = try await RealGroup(
      2, on: [frozen.address, slow.way.address] + others.map(\.address), threshold: 2, sufficient: 2,
      // The silent one never counts as away: whoever waited for it would wait longer than this test may.
      patience: .seconds(86_400))
    var reports: [AsyncStream<ReceiveReport>] = []
    for member in group.members { reports.append(await member.grouper.receiver.reports()) }
    let tasks = group.members.map(\.grouper).map { grouper in Task { try await grouper.run() } }
    var expected: [String: String] = [:]
    for number in 0..<7 {
      let member = group.members[number % 2]
      expected["object \(number)"] = "by \(member.name)"
      try await member.write("object \(number)", "by \(member.name)")
      // Each only after the one before it has come: none waits for the silent one.
      for await _ in reports[(number + 1) % 2] where try group.members[(number + 1) % 2].texts() == expected { break }
      slow.way.move()
      // When the first has come all are at work.
      if number == 0 {
        frozen.freeze()
        slow.way.set(.dawdles)
      }
    }
    try expectAlike(group, expected)
    for member in group.members { #expect(!member.log.failing { _ in true }.contains(frozen.address)) }
    frozen.wake()
    slow.way.set(.honest)
    for task in tasks { task.cancel() }
    for task in tasks { _ = await task.result }

    // What it has missed it gets.
    try await group.settle()
    for member in group.members { #expect(try await member.grouper.status().outbox.parcels == 0) }
    try await group.add("late")
    for server in others { server.kill() }
    try await group.settle()
    try expectAlike(group, expected)
  }

  @Test func `a full server is done without until there is room again`() async throws {
    let full = try ServerProcess(["--group-shares", "8"], secondsAhead: 0)
    let others = try (0..<3).map { _ in try ServerProcess(secondsAhead: 0) }
    let servers = [full] + others
    let group = try await RealGroup(2, on: servers.map(\.address), threshold: 2, sufficient: 3, ttl: 120)
    var expected: [String: String] = [:]
    for number in 0..<12 {
      try await group.members[0].write("object \(number)", "text")
      expected["object \(number)"] = "text"
    }
    try await group.settle()
    try expectAlike(group, expected)
    let log = group.members[0].log
    #expect(log.failing { $0 == .quota } == [full.address])
    var outbox = try await group.members[0].grouper.status().outbox
    #expect(outbox.unsent == 0 && outbox.parcels > 0)

    // Shares there expire, and the rest finds room, as much at a time as there is.
    var rounds: Int64 = 0
    while outbox.parcels > 0 {
      rounds += 1
      for server in servers { try server.setClock(ahead: rounds * 121) }
      // It erases them a moment after their time.
      let before = outbox.parcels
      try await eventually {
        try await group.settle(rounds: 1)
        outbox = try await group.members[0].grouper.status().outbox
        return outbox.parcels != before
      }
    }
    #expect(outbox.unsent == 0 && outbox.parcels == 0)
    try expectAlike(group, expected)
  }

  @Test func `with all clocks hours apart, who has seen a version replaces it, and all end alike`() async throws {
    let servers = try [7200, -86_400, 0].map { try ServerProcess(secondsAhead: $0) }
    let group = try await RealGroup(3, on: servers.map(\.address), threshold: 2, sufficient: 3)
    let (early, late, right) = (group.members[0], group.members[1], group.members[2])
    early.log.advance(seconds: 3 * 3600)
    late.log.advance(seconds: -5 * 3600)
    try await early.write("object", "from the future")
    try await group.settle()
    try await late.write("object", "edited in the past")
    try await late.write("other", "of the past")
    try await group.settle()
    try expectAlike(group, ["object": "edited in the past", "other": "of the past"])
    // A server's clock is put right, which it doesn't follow back, and a member's.
    try servers[0].setClock(ahead: 0)
    late.log.advance(seconds: 5 * 3600)
    try await right.write("other", "of today")
    try await early.grouper.sender.delete(Entry(objectID: "object", text: ""))
    try await group.settle(rounds: 3)
    try expectAlike(group, ["other": "of today"])
  }

  @Test(arguments: [1, 2])
  func `whatever servers do in turn, members end alike and nothing acknowledged is lost`(_ seed: UInt64) async throws {
    var chance = SeededChance(seed)
    let servers = try covered(4)
    let group = try await RealGroup(3, on: servers.map(\.way.address), threshold: 2, sufficient: 3)
    let manners: [Intermediary.Manner] = [.honest, .damages, .exchanges, .withholds, .runsAhead, .babbles]
    var expected: [String: String] = [:]
    for step in 0..<18 {
      let server = servers[Int.random(in: 0..<4, using: &chance)]
      switch Int.random(in: 0..<3, using: &chance) {
      case 0: server.server.kill()
      case 1: server.way.set(manners[Int.random(in: 0..<manners.count, using: &chance)])
      default: try server.server.startIfEnded()
      }
      let member = group.members[Int.random(in: 0..<3, using: &chance)]
      try await member.write("object \(step)", "by \(member.name)")
      expected["object \(step)"] = "by \(member.name)"
      if Bool.random(using: &chance) { _ = try await member.grouper.sync() }
      member.log.advance(seconds: Int64.random(in: 0..<600, using: &chance))
    }
    for server in servers {
      server.way.set(.honest)
      try server.server.startIfEnded()
    }
    try await group.settle(rounds: 4)
    try expectAlike(group, expected)
    for member in group.members {
      let status = try await member.grouper.status()
      #expect(status.missing == 0 && status.outbox.unsent == 0)
    }
  }
}

/// Numbers by a fixed rule, so that a failure comes again.
private struct SeededChance: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ (state >> 29)
  }
}
