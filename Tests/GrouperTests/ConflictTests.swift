import Synchronization
import Testing

@testable import Grouper

/// Changes of one object that didn't know of each other.
@Suite struct ConflictTests {
  /// Decides by a rule, and remembers what it was asked.
  final class Judge: ConflictHandler {
    let asked = Mutex<[ObjectConflict]>([])
    let rule: @Sendable (ObjectConflict) -> ConflictDecision
    init(_ rule: @escaping @Sendable (ObjectConflict) -> ConflictDecision) { self.rule = rule }
    func decide(_ conflict: ObjectConflict) async -> ConflictDecision {
      asked.withLock { $0.append(conflict) }
      return rule(conflict)
    }
  }

  @Test func theNewestWinsEverywhereAlike() async throws {
    let world = try World()
    let devices = try await world.group(3)
    try await world.settle(devices)
    try await devices[1].write("a", "earlier")
    world.clock.advance(seconds: 5)
    try await devices[2].write("a", "later")
    try await world.settle(devices)
    for device in devices { #expect(try device.text("a") == "later") }
  }

  @Test func clocksApartConvergeAndAnEditAfterwardsWins() async throws {
    let world = try World()
    let owner = try await world.group(1)[0]
    // Three days ahead, and an hour behind.
    let (ahead, behind) = (
      try await world.device("ahead", clockOffset: 259_200), try await world.device("behind", clockOffset: -3600)
    )
    for device in [ahead, behind] { try await world.join(device, owner) }
    let devices = [owner, ahead, behind]
    try await world.settle(devices)
    try await ahead.write("a", "from the future")
    try await behind.write("a", "from the past")
    try await world.settle(devices)
    for device in devices { #expect(try device.text("a") == "from the future") }
    // Who has seen it and changes it, wins, whatever the clock says.
    try await behind.write("a", "seen and changed")
    try await world.settle(devices)
    for device in devices { #expect(try device.text("a") == "seen and changed") }
    // And the wrong clock hasn't spread to other objects.
    try await owner.write("b", "one")
    world.clock.advance(seconds: 1)
    let time = await owner.grouper.state?.clock.milliseconds ?? 0
    #expect(time < world.clock.now + 300_001)
  }

  @Test func conflictsAreKeptAndDecidedByTheApplication() async throws {
    let world = try World()
    let judge = Judge { conflict in
      let texts = conflict.candidates.compactMap(\.content).map { String(decoding: $0, as: UTF8.self) }
      return .replace(
        Array(#"{"attachments":[],"objectID":"a","text":"both of \#(texts.count)"}"#.utf8), files: [])
    }
    let devices = try await world.group(2, policy: .keepConflicts(Judge { _ in .later }))
    let third = try await world.device("judge", policy: .keepConflicts(judge))
    try await world.join(third, devices[0])
    let all = devices + [third]
    try await world.settle(all)
    try await devices[0].write("a", "mine")
    try await devices[1].write("a", "yours")
    for device in devices { _ = try await device.grouper.sync() }
    _ = try await devices[0].grouper.sync()
    #expect(try await devices[0].grouper.openConflicts() == [ObjectName(className: "Note", objectID: "a")])
    try await world.settle(all)
    #expect(judge.asked.withLock { $0.count } >= 1)
    for device in all {
      #expect(try device.text("a") == "both of 2")
      #expect(try await device.grouper.openConflicts().isEmpty)
    }
  }

  /// Everybody else would refuse it.
  @Test func aDecisionIsNoLargerThanAnyObject() async throws {
    let world = try World()
    let judge = Judge { _ in .replace([UInt8](repeating: 0x20, count: 64 << 20 | 1), files: []) }
    let devices = try await world.group(2, policy: .keepConflicts(judge))
    try await world.settle(devices)
    for (device, text) in zip(devices, ["mine", "yours"]) { try await device.write("a", text) }
    let failure = await #expect(throws: GroupError.self) {
      for device in devices + devices { _ = try await device.grouper.sync() }
    }
    guard case .invalid = failure else { throw try #require(failure) }
    #expect(judge.asked.withLock { !$0.isEmpty })
  }

  @Test func whoWritesTheSameDoesntDisagree() async throws {
    let world = try World()
    let judge = Judge { _ in .keep(0) }
    let devices = try await world.group(2, policy: .keepConflicts(judge))
    try await world.settle(devices)
    for device in devices { try await device.write("a", "the same") }
    try await world.settle(devices)
    #expect(judge.asked.withLock { $0.isEmpty })
  }

  @Test func aDeletionAndAChangeAreAConflictToo() async throws {
    let world = try World()
    let judge = Judge { conflict in
      conflict.candidates.firstIndex { $0.content != nil }.map { .keep($0) } ?? .later
    }
    let devices = try await world.group(2, policy: .keepConflicts(judge))
    try await devices[0].write("a", "first")
    try await world.settle(devices)
    try await devices[0].grouper.sender.delete(Note(objectID: "a", text: ""))
    try await devices[1].write("a", "changed")
    try await world.settle(devices)
    for device in devices { #expect(try device.text("a") == "changed") }
  }
}
