import Foundation
import Testing

@testable import Grouper

/// A device whose database is older than what it has sent.
@Suite struct PutBackTests {
  /// Writes an older copy into the files that are there, as `cp -a copy/. home/` does: they stay the same files.
  private func putBack(_ world: World, _ name: String, from old: String) throws {
    let manager = FileManager.default
    for suffix in ["", "-wal", "-shm", ".lock"] {
      let (from, to) = (world.folder + "/" + old + suffix, world.folder + "/" + name + suffix)
      guard manager.fileExists(atPath: from) else {
        try? manager.removeItem(atPath: to)
        continue
      }
      let bytes = try #require(manager.contents(atPath: from))
      let opened = Foundation.FileHandle(forWritingAtPath: to)
      let file = try #require(opened)
      try file.truncate(atOffset: 0)
      try file.write(contentsOf: bytes)
      try file.close()
    }
  }

  private func copy(_ world: World, _ name: String, to old: String) throws {
    try world.copy(name, to: old)
    let lock = world.folder + "/" + old + ".lock"
    try? FileManager.default.removeItem(atPath: lock)
    try FileManager.default.copyItem(atPath: world.folder + "/" + name + ".lock", toPath: lock)
  }

  /// As on a machine that was set back as a whole: nothing beside the database tells.
  private func forgetMark(_ device: Device) async throws {
    try await device.grouper.store.write { transaction in
      try transaction.db.execute(sql: "DELETE FROM meta WHERE key = 'mark'")
    }
  }

  @Test func `a home that is put back in place counts anew, before anything is sent`() async throws {
    let world = try World()
    let owner = try await world.group(1, ttl: 600)[0]
    var member: Device? = try await world.device("member")
    if let member { try await world.join(member, owner) }
    try await member?.write("n0", "before")
    try await world.settle([owner, try #require(member)])
    member = nil
    try copy(world, "member.db", to: "member.old")
    member = try await world.device("member")
    let before = await member?.grouper.state?.stream
    for number in 1...3 { try await member?.write("n\(number)", "first \(number)") }
    try await world.settle([owner, try #require(member)])
    #expect(await member?.grouper.state?.stream == before)
    member = nil
    try putBack(world, "member.db", from: "member.old")
    let restored = try await world.device("member")
    #expect(await restored.grouper.state?.stream != before)
    #expect(world.events.withLock { $0 }.contains(.putBack))
    #expect(try await !restored.grouper.status().isMissingKnown)
    #expect(try await restored.grouper.status().putBack != nil)
    world.clock.advance(seconds: 5)
    try await restored.write("n4", "typed before anybody was heard")
    try await world.settle([restored, owner], rounds: 6)
    #expect(try await restored.grouper.status().isMissingKnown)
    #expect(try await restored.grouper.status().missing == 0)
    #expect(try await restored.grouper.status().putBack == nil, "it isn't told again when something is missing later")
    let all = [
      "n0": "before", "n1": "first 1", "n2": "first 2", "n3": "first 3", "n4": "typed before anybody was heard",
    ]
    #expect(try owner.texts() == all)
    #expect(try restored.texts() == all)
  }

  @Test func `whoever is killed before it was noted that a home was put back finds it again`() async throws {
    let world = try World()
    let owner = try await world.group(1, ttl: 600)[0]
    var member: Device? = try await world.device("member")
    if let member { try await world.join(member, owner) }
    let sealer = try await #require(member).grouper.store.sealer
    member = nil
    try copy(world, "member.db", to: "member.old")
    _ = try await world.device("member")
    try putBack(world, "member.db", from: "member.old")
    // What a start does first; the engine never gets to it.
    #expect(try GroupStore(path: world.folder + "/member.db", sealer: sealer).isPutBack)
    #expect(!world.events.withLock { $0 }.contains(.putBack))
    let restored = try await world.device("member")
    #expect(try await restored.grouper.status().putBack != nil)
    #expect(world.events.withLock { $0 }.contains(.putBack))
    await restored.grouper.store.finish()
    #expect(try !GroupStore(path: world.folder + "/member.db", sealer: sealer).isPutBack)
  }

  @Test(arguments: [false, true])
  func `a machine that is set back as a whole learns it from the others`(_ hasTyped: Bool) async throws {
    let world = try World()
    let owner = try await world.group(1, ttl: 600)[0]
    var member: Device? = try await world.device("member")
    if let member { try await world.join(member, owner) }
    try await member?.write("n0", "before")
    try await world.settle([owner, try #require(member)])
    try await forgetMark(try #require(member))
    member = nil
    try copy(world, "member.db", to: "member.old")
    member = try await world.device("member")
    let before = await member?.grouper.state?.stream
    for number in 1...3 { try await member?.write("n\(number)", "first \(number)") }
    try await world.settle([owner, try #require(member)])
    member = nil
    try putBack(world, "member.db", from: "member.old")
    world.clock.advance(seconds: 60)
    let restored = try await world.device("member")
    #expect(await restored.grouper.state?.stream == before)
    var all = ["n0": "before", "n1": "first 1", "n2": "first 2", "n3": "first 3"]
    if hasTyped {
      try await restored.write("n4", "typed")
      all["n4"] = "typed"
    }
    try await world.settle([restored, owner], rounds: 2)
    #expect(await restored.grouper.state?.stream != before)
    try await world.settle([restored, owner], rounds: 20)
    #expect(try owner.texts() == all)
    #expect(try restored.texts() == all)
  }

  @Test func `more of its own than it has made is asked for, and believed when it is signed`() throws {
    let group = try PaperGroup(3)
    var machine = group.multicast(1)
    machine.made(1)
    let own = group.streams[1]
    #expect(machine.receive(try group.confirm(by: 2, [own: 3]), at: 1).isEmpty)
    #expect(machine.own == own && machine.nextSequence == 2)
    let asked = machine.due(at: 2, jitter: 1).compactMap { effect in
      if case .request(let table, let node) = effect { (table, node) } else { nil }
    }
    #expect(asked.map(\.1) == [group.nodes[2]])
    #expect(asked.first?.0.rows[own] == SequenceSet(2...3))
    let proof = try group.message(by: 1, 3)
    #expect(machine.receive(proof, at: 3) == [.countAnew(proof: proof)])
    #expect(machine.receive(try group.message(by: 1, 1), at: 3).isEmpty)
  }

  @Test func `whoever says that he hasn't made his last message is shown it`() throws {
    let group = try PaperGroup(3)
    var machine = group.multicast(1)
    for number in UInt64(1)...3 { _ = machine.receive(try group.message(by: 0, number), at: 1) }
    let stream = group.streams[0]
    #expect(machine.receive(try group.confirm(by: 0, [stream: 3]), at: 2).isEmpty)
    #expect(
      machine.receive(try group.confirm(by: 0, [stream: 2]), at: 3)
        == [.answer(SequenceTable([stream: SequenceSet(3...3)]), to: group.nodes[0])])
  }

  @Test func `the word of one who has nothing to show is believed a few times only`() throws {
    let group = try PaperGroup(3)
    var machine = group.multicast(1)
    var now: UInt64 = 10
    var turns = 0
    for number in UInt64(2)...40 {
      _ = machine.receive(try group.confirm(by: 2, [machine.own: 5]), at: now)
      for case .request(let table, from: _) in machine.due(at: now, jitter: 1) {
        let skip = try group.skip(by: 2, table.rows, to: [group.nodes[1]], having: [machine.own: 5])
        let effects = machine.receive(skip, at: now)
        guard effects.contains(.countAnew(proof: nil)) else { continue }
        turns += 1
        machine.countAnew(as: StreamID(node: group.nodes[1], incarnation: number), at: now)
        machine.made(1)
      }
      now += 4_000_000
    }
    #expect(turns > 0 && turns <= Multicast.beliefLimit)
  }
}

/// Who is asked for what is missing.
@Suite struct AskingTests {
  private let group: PaperGroup
  private let hour: UInt64 = 3_600_000

  init() throws { group = try PaperGroup(6) }

  private func asked(_ machine: inout Multicast, at now: UInt64) -> Set<NodeID> {
    Set(
      machine.due(at: now, jitter: 1).compactMap { effect in
        if case .request(_, let node) = effect { node } else { nil }
      })
  }

  @Test func `who was heard of a moment ago is asked alone, before the sender`() throws {
    var machine = group.multicast(1)
    _ = machine.receive(try group.confirm(by: 0, [group.streams[0]: 3]), at: 1)
    _ = machine.receive(try group.confirm(by: 2, [group.streams[0]: 3]), at: 1000)
    #expect(asked(&machine, at: 2000) == [group.nodes[2]])
  }

  @Test func `when nobody was heard of just now, several are asked at once`() throws {
    var machine = group.multicast(1, ttl: hour)
    for number in 2...5 {
      _ = machine.receive(try group.confirm(by: number, [group.streams[0]: 3]), at: UInt64(number))
    }
    #expect(asked(&machine, at: hour / 2) == Set(group.nodes[3...5]))
  }

  @Test func `who comes while those who were asked keep silent for a minute is asked, too`() throws {
    var machine = group.multicast(1, ttl: hour)
    for number in 2...4 {
      _ = machine.receive(try group.confirm(by: number, [group.streams[0]: 3]), at: UInt64(number))
    }
    #expect(asked(&machine, at: hour / 2) == Set(group.nodes[2...4]))
    #expect(asked(&machine, at: hour / 2 + 1).isEmpty)
    _ = machine.receive(try group.confirm(by: 5, [group.streams[0]: 3]), at: hour / 2 + 1000)
    #expect(asked(&machine, at: hour / 2 + 1001).isEmpty)
    #expect(asked(&machine, at: hour / 2 + Multicast.promiseLimit) == [group.nodes[5]])
    #expect(asked(&machine, at: hour / 2 + Multicast.promiseLimit + 1).isEmpty)
  }

  @Test func `one who was asked and doesn't answer isn't waited for until the question expires`() throws {
    var machine = group.multicast(1, ttl: hour)
    _ = machine.receive(try group.confirm(by: 3, [group.streams[0]: 3]), at: 1)
    _ = machine.receive(try group.confirm(by: 2, [group.streams[0]: 3]), at: 1000)
    #expect(asked(&machine, at: 2000) == [group.nodes[2]])
    #expect(asked(&machine, at: 3000).isEmpty)
    #expect(asked(&machine, at: 2000 + hour / 20) == [group.nodes[3]])
  }

  @Test func `a member who counts anew is told soon, whatever comes from him first`() throws {
    var machine = group.multicast(1, ttl: hour)
    _ = machine.receive(try group.message(by: 0, 1), at: 10)
    _ = machine.due(at: 20, jitter: 1)
    machine.confirmSoon(at: 20)
    _ = machine.due(at: 30, jitter: 1)
    _ = machine.receive(try group.message(by: 0, 1, incarnation: 2), at: 40)
    let confirmed = machine.due(at: 40 + Multicast.promiseLimit, jitter: 1).contains { effect in
      if case .confirm = effect { true } else { false }
    }
    #expect(confirmed)
  }

  @Test func `a member who comes back is told soon how far the others are`() throws {
    var machine = group.multicast(1, ttl: hour)
    _ = machine.receive(try group.confirm(by: 2, [:]), at: 1)
    _ = machine.due(at: 2, jitter: 1)
    _ = machine.receive(try group.message(by: 0, 1), at: 10)
    let back = 2 * hour
    _ = machine.receive(try group.confirm(by: 3, [:]), at: back - 200)
    _ = machine.due(at: back - 100, jitter: 1)
    _ = machine.receive(try group.confirm(by: 2, [:]), at: back)
    #expect(machine.due(at: back + Multicast.promiseLimit, jitter: 1).contains(.confirm([group.streams[0]: 1].vector)))
  }
}

extension [StreamID: UInt64] {
  fileprivate var vector: VersionVector { VersionVector(self) }
}
