import Testing

@testable import Grouper

/// What members say of others' messages, and that it shuts nobody out.
@Suite struct HearsayTests {
  private let group: PaperGroup

  init() throws { group = try PaperGroup(4) }

  /// Streams of a member that nobody counts.
  private func invented(_ number: Int, _ incarnations: ClosedRange<UInt64>) -> [StreamID: UInt64] {
    Dictionary(uniqueKeysWithValues: incarnations.map { (StreamID(node: group.nodes[number], incarnation: $0), 7) })
  }

  @Test func `of streams that are only spoken of, one member brings few`() throws {
    var machine = group.multicast(1)
    _ = machine.receive(try group.confirm(by: 2, invented(0, 2...1000)), at: 1)
    #expect(machine.progress.count == Multicast.hearsayLimit)
    // What another one says has a place of its own.
    _ = machine.receive(try group.confirm(by: 3, [group.streams[0]: 5]), at: 2)
    #expect(machine.progress[group.streams[0]]?.rumoured == 5)
  }

  @Test func `who says that invented messages mean nothing gains no more room by that`() throws {
    var machine = group.multicast(1)
    var now: UInt64 = 1
    for turn in UInt64(0)..<4 {
      let vector = invented(0, (2 + 8 * turn)...(9 + 8 * turn))
      _ = machine.receive(try group.confirm(by: 2, vector), at: now)
      now += 60_000
      for case .request(let table, from: let node) in machine.due(at: now, jitter: 1) where node == group.nodes[2] {
        _ = machine.receive(try group.skip(by: 2, table.rows, to: [group.nodes[1]], having: vector), at: now)
      }
    }
    #expect(machine.progress.count == Multicast.hearsayLimit)
    #expect(machine.progress.values.contains { $0.contiguous > 0 })
  }

  @Test func `what its only witness doesn't say any more isn't asked for`() throws {
    var machine = group.multicast(1)
    _ = machine.receive(try group.confirm(by: 2, invented(0, 2...3)), at: 1)
    #expect(machine.missingCount == 14)
    _ = machine.receive(try group.confirm(by: 3, invented(0, 3...3)), at: 2)
    _ = machine.receive(try group.confirm(by: 2, [group.streams[3]: 1]), at: 3)
    #expect(Set(machine.progress.keys) == [StreamID(node: group.nodes[0], incarnation: 3), group.streams[3]])
  }

  @Test func `streams that are only spoken of make room for one that speaks`() throws {
    var machine = group.multicast(1)
    for number in UInt64(1)...UInt64(StreamID.limit) {
      var row = StreamProgress()
      row.holders[group.nodes[2]] = 1
      machine.progress[StreamID(node: group.nodes[0], incarnation: 100 + number)] = row
    }
    let effects = machine.receive(try group.message(by: 3, 1), at: 1)
    #expect(effects.contains(.deliver(group.streams[3], 1...1)))
    #expect(machine.progress.count == StreamID.limit)
  }

  @Test func `what a device counts itself makes room for nothing`() throws {
    let own = group.streams[1]
    let settings = MulticastSettings(ttl: 3_600_000, grace: 0)
    var machine = Multicast(own: own, settings: settings, kept: [own: Multicast.Kept(contiguous: 7)])
    machine.setMembers(group.roster)
    for number in UInt64(1)..<UInt64(StreamID.limit) {
      var row = StreamProgress()
      row.known = 1
      machine.progress[StreamID(node: group.nodes[0], incarnation: 100 + number)] = row
    }
    #expect(machine.receive(try group.message(by: 3, 1), at: 1).isEmpty, "there is no room")
    #expect(machine.nextSequence == 8)
  }

  @Test func `who counts anew again and again leaves room for the others`() throws {
    var machine = group.multicast(1)
    for number in UInt64(1)...UInt64(Multicast.countingLimit + 1) {
      _ = machine.receive(try group.message(by: 0, 1, incarnation: 100 + number), at: 1)
    }
    #expect(machine.progress.count == Multicast.countingLimit)
    #expect(!machine.receive(try group.message(by: 3, 1), at: 2).isEmpty)
  }
}
