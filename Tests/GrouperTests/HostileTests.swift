import Sodium
import Testing

@testable import Grouper

/// Members and servers that lie.
@Suite struct HostileTests {
  private func asked(_ effects: [MulticastEffect]) -> [NodeID: SequenceTable] {
    var tables: [NodeID: SequenceTable] = [:]
    for case .request(let table, from: let node) in effects { tables[node] = table }
    return tables
  }

  @Test func aLyingConfirmLeadsToQuestionsAndNothingElse() throws {
    let group = try PaperGroup(4)
    var machine = group.multicast(1)
    let limit = SequenceSet.numberLimit
    let lie = Dictionary(uniqueKeysWithValues: group.streams.map { ($0, limit) })
    _ = machine.receive(try group.confirm(by: 3, lie), at: 1)
    #expect(machine.nextSequence == 1)
    #expect(machine.missingCount <= 4 * 1024)
    #expect(machine.kept(of: group.streams[0]).known == 0)
    let questions = asked(machine.due(at: 2, jitter: 1))
    #expect(!questions.isEmpty)
    for table in questions.values { #expect(table.count <= 1024) }
    // What is really sent is delivered as ever.
    let effects = machine.receive(try group.message(.update, by: 0, 1), at: 3)
    #expect(effects.contains(.deliver(group.streams[0], 1...1)))
  }

  @Test func nobodyIsMadeToOverlookWhatHeDidNotAskForThere() throws {
    let group = try PaperGroup(4)
    var machine = group.multicast(1)
    _ = machine.receive(try group.message(.update, by: 0, 3), at: 1)
    let questions = asked(machine.due(at: 2, jitter: 1))
    #expect(questions.keys.contains(group.nodes[0]) && questions.count == 1)
    let skipped = [group.streams[0]: SequenceSet(1...2)]
    #expect(machine.receive(try group.skip(by: 3, skipped, to: [group.nodes[1]]), at: 3).isEmpty)
    #expect(machine.contiguous(of: group.streams[0]) == 0)
    let effects = machine.receive(try group.skip(by: 0, skipped, to: [group.nodes[1]]), at: 4)
    #expect(effects == [.deliver(group.streams[0], 1...3)])
  }

  @Test func whoTakesAWordForASkipLearnsWhatTookItsPlace() throws {
    let group = try PaperGroup(4)
    var machine = group.multicast(1)
    _ = machine.receive(try group.confirm(by: 2, [group.streams[0]: 2]), at: 1)
    #expect(asked(machine.due(at: 2, jitter: 1)).keys.sorted() == [group.nodes[2]])
    let skip = try group.skip(
      by: 2, [group.streams[0]: SequenceSet(1...2)], to: [group.nodes[1]], having: [group.streams[3]: 7])
    _ = machine.receive(skip, at: 3)
    let questions = asked(machine.due(at: 4, jitter: 1))
    #expect(questions.values.contains { $0.rows[group.streams[3]] == SequenceSet(1...7) })
  }

  @Test func twoWhoNeverAnswerDontKeepAThirdFromBeingAsked() throws {
    let group = try PaperGroup(5)
    var machine = group.multicast(1, ttl: 1000)
    for number in [2, 3, 4] { _ = machine.receive(try group.confirm(by: number, [group.streams[0]: 1]), at: 1) }
    var targets: Set<NodeID> = []
    for round in UInt64(0)..<12 { targets.formUnion(asked(machine.due(at: 10 + round * 5000, jitter: 1)).keys) }
    #expect(targets == Set([0, 2, 3, 4].map { group.nodes[$0] }))
  }

  @Test func whatWaitsForNumbersOfAnEndedCountingIsDelivered() throws {
    let group = try PaperGroup()
    var machine = group.multicast(1)
    #expect(machine.receive(try group.message(.update, by: 0, 3), at: 1).count == 1)
    let effects = machine.receive(try group.confirm(by: 0, [:], incarnation: 2), at: 2)
    #expect(effects == [.deliver(group.streams[0], 3...3)])
  }

  @Test func noiseUnderAFutureKeyIsKeptInBounds() async throws {
    let world = try World()
    let devices = try await world.group(2)
    let state = try #require(await devices[1].grouper.state)
    let place = state.links[0].server
    let count = try await devices[1].grouper.takeNoise(200, from: place)
    #expect(count == 64)
  }

  @Test func aMadeUpBlobUnderAnothersDealingSpoilsNothing() async throws {
    let world = try World(servers: 3)
    let devices = try await world.group(3)
    try await world.settle(devices)
    try await devices[0].write("a", "honest")
    try await devices[0].grouper.upload()
    // A member reads a blob at one server and puts a false one under its dealing at another, before it is read there.
    let state = try #require(await devices[1].grouper.state)
    let blob = try #require(world.servers[0].seen.last)
    try await devices[2].grouper.takeForged(blob, state.links[1].server)
    try await world.settle(devices)
    #expect(try devices[2].text("a") == "honest")
  }
}

extension Grouper {
  /// Hands over random bytes under a key that isn't here; says how many are kept.
  func takeNoise(_ count: Int, from place: RosterServer) throws -> Int {
    try change { transaction, state in
      for _ in 0..<count {
        let noise = try [1, 0, 0, 0, 2] + Randomness.bytes(100)
        try take(noise, from: place, transaction, &state)
        try take([1, 0, 1, 0, 0] + noise.dropFirst(5), from: place, transaction, &state)
      }
      return try transaction.takeUnopened(2).count + transaction.takeUnopened(65536).count
    }
  }

  /// Takes a blob that a member has made up after this one, as if from another server.
  func takeForged(_ blob: [UInt8], _ place: RosterServer) throws {
    try change { transaction, state in
      let key = state.current.key
      let opened = try GroupBlob.open(blob, key: key)
      let common = opened.header.common
      let fragment = [UInt8](repeating: 7, count: opened.fragment.count)
      var digests = common.fragmentDigests
      digests[1] = try GroupBlob.digest(of: fragment, group: key.group, dealing: common.dealing, index: 2)
      let false2 = BlobHeader(
        BlobHeader.Common(
          dealing: common.dealing, scheme: common.scheme, ciphertextByteCount: common.ciphertextByteCount,
          commitments: common.commitments, fragmentDigests: digests),
        index: 2)
      let share = opened.takeShare()
      let forged = try GroupBlob.seal(
        header: false2, share: share, fragment: fragment, nonce: Randomness.bytes(24), key: key)
      try take(forged, from: place, transaction, &state)
    }
  }
}
