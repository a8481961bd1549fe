import Testing
import WireCodec

@testable import Grouper

/// What is wrong with Algorithm 1 as printed, and that ``Multicast`` does it right.
@Suite struct AlgorithmOneTests {
  private typealias Printed = PrintedAlgorithm.Message

  private func requests(_ effects: [MulticastEffect]) -> [(NodeID, SequenceTable)] {
    effects.compactMap { if case .request(let table, from: let node) = $0 { (node, table) } else { nil } }
  }

  private func asked(_ machine: inout Multicast, _ node: StreamID, at now: UInt64 = 10) -> SequenceSet {
    let tables = requests(machine.due(at: now, jitter: 1)).map(\.1)
    return tables.reduce(into: SequenceSet()) { $0.formUnion($1.rows[node] ?? SequenceSet()) }
  }

  @Test func aConfirmAfterAControlMessageAsksOnlyForWhatIsMissing() throws {
    // As printed, lastMsg is the control message with sequence 0, so that everything is asked for again.
    var printed = PrintedAlgorithm()
    for number in 1...3 { _ = printed.onMessageReceived(Printed(type: .update, sender: 0, sequence: UInt64(number))) }
    _ = printed.onMessageReceived(Printed(type: .confirm, sender: 0, sequence: 0, content: 3))
    let again = printed.onMessageReceived(Printed(type: .confirm, sender: 0, sequence: 0, content: 4))
    #expect(again == [.init(minimum: 1, maximum: 4)])

    let group = try PaperGroup()
    var machine = group.multicast(1)
    for number in UInt64(1)...3 { _ = machine.receive(try group.message(.update, by: 0, number), at: 1) }
    _ = machine.receive(try group.confirm([group.streams[0]: 3]), at: 2)
    #expect(asked(&machine, group.streams[0]).isEmpty)
    _ = machine.receive(try group.confirm([group.streams[0]: 4]), at: 3)
    #expect(asked(&machine, group.streams[0]).ranges == [4...4])
  }

  @Test func aLateMessageAsksForNothing() throws {
    // As printed, a message that was overtaken asks for the range from the last one to itself: an inverted one.
    var printed = PrintedAlgorithm()
    _ = printed.onMessageReceived(Printed(type: .update, sender: 0, sequence: 1))
    _ = printed.onMessageReceived(Printed(type: .update, sender: 0, sequence: 3))
    let late = printed.onMessageReceived(Printed(type: .update, sender: 0, sequence: 2))
    #expect(late == [.init(minimum: 4, maximum: 2)])

    let group = try PaperGroup()
    var machine = group.multicast(1)
    _ = machine.receive(try group.message(.update, by: 0, 1), at: 1)
    _ = machine.receive(try group.message(.update, by: 0, 3), at: 1)
    _ = machine.receive(try group.message(.update, by: 0, 2), at: 1)
    #expect(asked(&machine, group.streams[0]).isEmpty)
    #expect(machine.contiguous(of: group.streams[0]) == 3)
  }

  @Test func whatHasJustComeIsNotAskedFor() throws {
    // As printed, the range ends with the very message that showed the gap.
    var printed = PrintedAlgorithm()
    _ = printed.onMessageReceived(Printed(type: .update, sender: 0, sequence: 1))
    let gap = printed.onMessageReceived(Printed(type: .update, sender: 0, sequence: 5))
    #expect(gap == [.init(minimum: 2, maximum: 5)])

    let group = try PaperGroup()
    var machine = group.multicast(1)
    _ = machine.receive(try group.message(.update, by: 0, 1), at: 1)
    _ = machine.receive(try group.message(.update, by: 0, 5), at: 1)
    #expect(asked(&machine, group.streams[0]).ranges == [2...4])
  }

  @Test func twoControlMessagesThatSayTheSameAreTwo() throws {
    // As printed, the second confirm with the same number is taken for a duplicate and dropped, though what it tells was
    // asked for in vain.
    var printed = PrintedAlgorithm()
    let confirm = Printed(type: .confirm, sender: 0, sequence: 0, content: 2)
    #expect(printed.onMessageReceived(confirm) == [.init(minimum: 1, maximum: 2)])
    #expect(printed.onMessageReceived(confirm).isEmpty)

    let group = try PaperGroup()
    var machine = group.multicast(1)
    let first = try group.confirm([group.streams[0]: 2])
    _ = machine.receive(first, at: 1)
    #expect(asked(&machine, group.streams[0], at: 10).ranges == [1...2])
    // The question was lost. Long after, the same is confirmed again, by a message of its own.
    _ = machine.receive(first, at: 4_000_000)
    _ = machine.receive(try group.confirm([group.streams[0]: 2]), at: 4_000_000)
    #expect(asked(&machine, group.streams[0], at: 4_000_001).ranges == [1...2])
  }

  @Test func updatesAreDeliveredInTheirSendersOrder() throws {
    // As printed, whatever comes is handed on at once: the older update of an object after the newer one.
    var printed = PrintedAlgorithm()
    for number in [UInt64(2), 1] {
      _ = printed.onMessageReceived(Printed(type: .update, sender: 0, sequence: number))
    }
    #expect(printed.updates == [2, 1])

    let group = try PaperGroup()
    var machine = group.multicast(1)
    let early = machine.receive(try group.message(.update, by: 0, 2), at: 1)
    #expect(!early.contains { if case .deliver = $0 { true } else { false } })
    let both = machine.receive(try group.message(.update, by: 0, 1), at: 1)
    #expect(both.contains(.deliver(group.streams[0], 1...2)))
  }

  @Test func theScenarioOfFigureFourTwo() throws {
    // Five updates; 1 and 2 come, 3 to 5 expire while the receiver is offline; confirm(5); resend 3 to 5, unicast.
    let group = try PaperGroup()
    let (sender, receiver) = (group.streams[0], group.nodes[1])
    var machine = group.multicast(1)
    let updates = try (UInt64(1)...5).map { try group.message(.update, by: 0, $0) }
    for update in updates.prefix(2) { _ = machine.receive(update, at: 1) }
    _ = machine.receive(try group.confirm([sender: 5]), at: 9_000_000)
    let due = requests(machine.due(at: 9_000_001, jitter: 1))
    #expect(due.count == 1)
    let request = try #require(due.first)
    #expect(request.0 == sender.node)
    #expect(request.1.rows == [sender: SequenceSet(3...5)])

    var sending = group.multicast(0)
    for number in UInt64(1)...5 { sending.made(number) }
    let resend = try group.message(.resend, by: 1, to: [sender.node], content: request.1.encoded())
    let answer = sending.receive(resend, at: 9_000_002)
    #expect(answer == [.answer(SequenceTable([sender: SequenceSet(3...5)]), to: receiver)])
    var delivered: [ClosedRange<UInt64>] = []
    for update in updates.dropFirst(2) {
      for case .deliver(_, let range) in machine.receive(update, at: 9_000_003) { delivered.append(range) }
    }
    #expect(delivered == [3...3, 4...4, 5...5])
    #expect(machine.missingCount == 0)
  }
}
