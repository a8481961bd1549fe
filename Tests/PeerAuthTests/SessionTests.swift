import Sodium
import Synchronization
import TestTime
import Testing
import WireCodec

@testable import PeerAuth

@Suite("A session", .timeLimit(.minutes(5))) struct SessionTests {
  @Test("proves both cards, names itself alike on both sides, and carries messages both ways")
  func happyPath() async throws {
    let pair = try Pair()
    let (alice, bob) = try await pair.sessions()
    #expect(alice.peerKeys == pair.bob.keys)
    #expect(bob.peerKeys == pair.alice.keys)
    #expect(alice.peerCard == pair.bobCard)
    #expect(bob.peerCard == pair.aliceCard)
    #expect(alice.handshakeHash == bob.handshakeHash)
    #expect(alice.role == .initiator)
    #expect(bob.role == .responder)
    try await alice.send(0x102, [1, 2, 3])
    #expect(try await bob.receive() == (0x102, [1, 2, 3]))
    try await bob.send(9, [4])
    #expect(try await alice.receive() == (9, [4]))
    await alice.close()
    for _ in 0..<2 {
      let last = try await bob.receive { _ in nil }
      let isGoodbye = last.isGoodbye
      #expect(isGoodbye)
    }
    #expect(await failure { () async throws(SessionError) in try await alice.send(1, []) } == .transport(.closed))
  }

  @Test("still answers what was asked before the goodbye, and sends nothing behind its own") func earlyGoodbye()
    async throws
  {
    let (alice, bob) = try await Pair().sessions()
    try await alice.send(1, [1])
    try await alice.endSending()
    try await alice.endSending()
    #expect(await failure { () async throws(SessionError) in try await alice.send(1, []) } == .transport(.closed))
    #expect(try await bob.receive() == (1, [1]))
    let last = try await bob.receive { _ in nil }
    let isGoodbye = last.isGoodbye
    #expect(isGoodbye)
    try await bob.send(2, [2])
    #expect(try await alice.receive() == (2, [2]))
    await bob.close()
    let answer = try await alice.receive { _ in nil }
    let isAnswered = answer.isGoodbye
    #expect(isAnswered)
    await alice.close()
    #expect(await failure { () async throws(SessionError) in try await alice.endSending() } == .transport(.closed))
  }

  @Test("behind the peer's goodbye it says goodbye, and waits for the peer to close") func closingBehindPeer()
    async throws
  {
    let (pair, ends) = (try Pair(), InMemoryTransport.pair())
    let watched = ObservedTransport(ends.second)
    async let dialled = PeerSession.dial(ends.first, identity: pair.alice, peer: pair.bob.keys, ownCard: pair.aliceCard)
    async let answered = PeerSession.answer(watched, identity: pair.bob, ownCard: pair.bobCard) { _ in pair.alice.keys }
    let (alice, bob) = try await (dialled, answered)
    try await alice.endSending()
    let heard = try await bob.receive { _ in nil }
    let isGoodbye = heard.isGoodbye
    #expect(isGoodbye)
    var calls = watched.calls().makeAsyncIterator()
    let closing = Task { await bob.closeBehindPeer() }
    let answer = try await alice.receive { _ in nil }
    let isAnswered = answer.isGoodbye
    #expect(isAnswered)
    // He reads, and there is nothing to read before alice ends her side.
    #expect(await calls.next() == .write)
    #expect(await calls.next() == .read)
    await alice.close()
    await closing.value
    #expect(await calls.next() == .close)
  }

  @Test("says goodbye once, though it is said early") func oneGoodbye() async throws {
    let sent = Mutex(0)
    let ends = InMemoryTransport.pair(firstFilter: { bytes in
      sent.withLock { $0 += 1 }
      return bytes
    })
    let (alice, bob) = try await Pair().sessions(over: ends)
    let before = sent.withLock { $0 }
    try await alice.endSending()
    await alice.close()
    #expect(sent.withLock { $0 } == before + 1)
    await bob.close()
  }

  @Test("two sessions of the same peers have different names") func fresh() async throws {
    let pair = try Pair()
    let one = try await pair.sessions()
    let two = try await pair.sessions()
    #expect(one.alice.handshakeHash != two.alice.handshakeHash)
  }

  @Test(
    "carries messages of any length, over as many frames as they need",
    arguments: [0, 1, 1000, 65512, 65513, 65514, 65519, 65536, 131_031, 131_032, 131_033, 3_000_000])
  func lengths(count: Int) async throws {
    let (alice, bob) = try await Pair().sessions()
    var generator = SeededGenerator(state: 4)
    let sent = generator.bytes(count)
    async let sending: Void = alice.send(7, sent)
    let received = try await bob.receive()
    try await sending
    #expect(received.type == 7)
    #expect(received.bytes == sent)
    try await bob.send(8, [1])
    #expect(try await alice.receive() == (8, [1]))
  }

  @Test("keeps the order of messages, and messages of several senders whole") func order() async throws {
    let (alice, bob) = try await Pair().sessions(over: InMemoryTransport.pair(capacity: 1000))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for sender in 0..<8 {
        group.addTask {
          for number in 0..<5 {
            try await alice.send(UInt16(sender + 1), [UInt8](repeating: UInt8(number), count: 70_000))
          }
        }
      }
      group.addTask {
        var next = [Int](repeating: 0, count: 9)
        for _ in 0..<40 {
          let (type, bytes) = try await bob.receive()
          #expect(bytes == [UInt8](repeating: UInt8(next[Int(type)]), count: 70_000))
          next[Int(type)] += 1
        }
      }
      try await group.waitForAll()
    }
  }

  @Test("carries both directions at once, with buffers far smaller than the messages") func fullDuplex() async throws {
    let (alice, bob) = try await Pair().sessions(over: InMemoryTransport.pair(capacity: 100))
    let large = [UInt8](repeating: 7, count: 300_000)
    async let one: Void = alice.send(1, large)
    async let two: Void = bob.send(2, large)
    async let three = alice.receive()
    async let four = bob.receive()
    _ = try await (one, two)
    #expect(try await three == (2, large))
    #expect(try await four == (1, large))
  }

  @Test("rekeys each direction after the same number of messages", arguments: [1, 2, 3, 5] as [UInt64])
  func rekeying(interval: UInt64) async throws {
    let (alice, bob) = try await Pair().sessions(rekeyInterval: interval)
    for number in 0..<12 {
      try await alice.send(1, [UInt8](repeating: UInt8(number), count: number * 20_000))
      #expect(try await bob.receive().bytes == [UInt8](repeating: UInt8(number), count: number * 20_000))
    }
    try await bob.send(1, [1])
    #expect(try await alice.receive().bytes == [1])
  }

  @Test("fails when only one side rekeys: the interval matters") func differentIntervals() async throws {
    let pair = try Pair()
    let ends = InMemoryTransport.pair()
    async let dialled = PeerSession.dial(
      ends.first, identity: pair.alice, peer: pair.bob.keys, ownCard: pair.aliceCard, randomness: randomness(5))
    async let answered = PeerSession.answer(
      ends.second, identity: pair.bob, ownCard: pair.bobCard, randomness: randomness(100)
    ) { _ in pair.alice.keys }
    let (alice, bob) = try await (dialled, answered)
    // Three frames of each side have gone already.
    var outcomes: [SessionError?] = []
    for _ in 0..<4 {
      _ = await failure { () async throws(SessionError) in try await alice.send(1, [1]) }
      outcomes.append(await failure { () async throws(SessionError) in try await bob.receive() })
    }
    #expect(outcomes.contains(.malformed(.invalidValue(field: "frame"))))
  }

  @Test("refuses a message over its type's limit before its body is sent") func tooLarge() async throws {
    let (alice, bob) = try await Pair().sessions(over: InMemoryTransport.pair(capacity: 70_000))
    // Ten megabytes never fit in the transport: only the first frame can have arrived.
    async let sending = failure { () async throws(SessionError) in
      try await alice.send(5, [UInt8](repeating: 0, count: 10_000_000))
    }
    let error = await failure { () async throws(SessionError) in
      try await bob.receive { $0 == 5 ? 9_999_999 : nil }.type
    }
    #expect(error == .messageTooLarge(type: 5, limit: 9_999_999))
    #expect(await sending != nil)
    #expect(await failure { () async throws(SessionError) in try await bob.receive() } == error)
  }

  @Test("skips a message of an unknown type and goes on; a large one ends the session") func unknownTypes() async throws
  {
    let (alice, bob) = try await Pair().sessions()
    try await alice.send(5, [UInt8](repeating: 1, count: 65536))
    try await alice.send(6, [2])
    let skipped = try await bob.receive { _ in nil }
    let (kind, type, count) = (skipped.kind, skipped.type, skipped.body.count)
    #expect(kind == .unknown)
    #expect(type == 5)
    #expect(count == 0)
    #expect(try await bob.receive() == (6, [2]))
    try await alice.send(7, [UInt8](repeating: 1, count: 65537))
    #expect(
      await failure { () async throws(SessionError) in try await bob.receive { _ in nil }.type }
        == .messageTooLarge(type: 7, limit: 65536))
  }

  @Test("sends nothing of a message that its writer gives up or gets wrong") func failingWriter() async throws {
    let (alice, bob) = try await Pair().sessions()
    #expect(
      await failure { () async throws(SessionError) in
        try await alice.send(type: 1, count: 4) { (writer) throws(WireError) in try writer.u64(1) }
      } == .malformed(.capacityExceeded))
    #expect(
      await failure { () async throws(SessionError) in
        try await alice.send(type: 1, count: 4) { (writer) throws(WireError) in try writer.u8(1) }
      } == .malformed(.capacityExceeded))
    #expect(
      await failure { () async throws(SessionError) in try await alice.send(0, [1]) }
        == .malformed(.invalidValue(field: "message type")))
    #expect(
      await failure { () async throws(SessionError) in
        try await alice.send(type: 1, count: -1) { (_) throws(WireError) in }
      } == .malformed(.limitExceeded(field: "message", limit: Int(UInt32.max))))
    try await alice.send(2, [3])
    #expect(try await bob.receive() == (2, [3]))
  }

  @Test("a peer that ends without a goodbye is cut off, between and within messages") func cutOff() async throws {
    let ends = InMemoryTransport.pair()
    let (_, bob) = try await Pair().sessions(over: ends)
    await ends.first.close()
    #expect(await failure { () async throws(SessionError) in try await bob.receive() } == .cutOff)
    #expect(await failure { () async throws(SessionError) in try await bob.send(1, []) } == .cutOff)

    // Alice ends amid her message, behind the first of its parts.
    let (first, second) = InMemoryTransport.pair(capacity: 1 << 22)
    let ending = EndingTransport(first)
    let pair = try Pair()
    async let dialled = PeerSession.dial(ending, identity: pair.alice, peer: pair.bob.keys, ownCard: pair.aliceCard)
    async let answered = PeerSession.answer(second, identity: pair.bob, ownCard: pair.bobCard) { _ in pair.alice.keys }
    let (alice, other) = try await (dialled, answered)
    ending.end(afterWrites: 1)
    async let receiving = failure { () async throws(SessionError) in try await other.receive() }
    let sent = await failure { () async throws(SessionError) in
      try await alice.send(1, [UInt8](repeating: 0, count: 1_000_000))
    }
    #expect(sent == .transport(.closed))
    #expect(await receiving == .cutOff)
  }

  @Test("a line that breaks is the transport's failure on both sides") func broken() async throws {
    let ends = InMemoryTransport.pair()
    let (alice, bob) = try await Pair().sessions(over: ends)
    ends.first.cut()
    #expect(await failure { () async throws(SessionError) in try await bob.receive() } == .transport(.io("cut")))
    #expect(await failure { () async throws(SessionError) in try await alice.send(1, []) } == .transport(.io("cut")))
  }

  @Test("closing ends a pending receive") func closing() async throws {
    let (alice, bob) = try await Pair().sessions()
    let stage = Stage()
    let pending = Task(executorPreference: stage) {
      await failure { () async throws(SessionError) in try await alice.receive() }
    }
    await stage.rests()
    await alice.close()
    await alice.close()
    #expect(await pending.value == .transport(.closed))
    let last = try await bob.receive { _ in nil }.kind
    #expect(last == .goodbye)
  }

  @Test("a cancelled receive returns promptly and closes the transport") func cancellation() async throws {
    let ends = InMemoryTransport.pair()
    let (alice, bob) = try await Pair().sessions(over: ends)
    let stage = Stage()
    let pending = Task(executorPreference: stage) {
      await failure { () async throws(SessionError) in try await alice.receive() }
    }
    await stage.rests()
    pending.cancel()
    #expect(await pending.value == .transport(.closed))
    #expect(await failure { () async throws(SessionError) in try await bob.receive() } == .cutOff)
  }

  @Test("a cancelled send returns promptly, and so does one that waits its turn") func cancelledSends() async throws {
    let (alice, bob) = try await Pair().sessions(over: InMemoryTransport.pair(capacity: 100))
    let stage = Stage()
    let senders = (0..<3).map { _ in
      Task(executorPreference: stage) {
        await failure { () async throws(SessionError) in try await alice.send(1, [UInt8](repeating: 0, count: 100_000))
        }
      }
    }
    await stage.rests()
    for sender in senders.reversed() { sender.cancel() }
    for sender in senders { #expect(await sender.value == .transport(.closed)) }
    #expect(await failure { () async throws(SessionError) in try await bob.receive() } == .cutOff)
  }
}
