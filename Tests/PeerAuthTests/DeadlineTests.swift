import Concurrency
import Sodium
import Synchronization
import TestTime
import Testing

@testable import PeerAuth

@Suite("A deadline", .timeLimit(.minutes(5))) struct DeadlineTests {
  /// By a clock that stands still.
  private static let never: @Sendable (Duration) async throws -> Void = { try await TestClock().sleep(for: $0) }
  private static let atOnce: @Sendable (Duration) async throws -> Void = { _ in }

  @Test("lets a result through that comes before it") func result() async throws {
    let value = try await withDeadline(.seconds(1), sleeper: Self.never) { () async throws(SessionError) in 5 }
    #expect(value == 5)
  }

  @Test("lets results through that can't be copied") func noncopyable() async throws {
    let memory = try await withDeadline(.seconds(1), sleeper: Self.never) { () async throws(SessionError) in
      do throws(SodiumError) { return try SecretBytes(zeros: 3) } catch { throw SessionError.sodium(error) }
    }
    let count = memory.count
    #expect(count == 3)
  }

  @Test("lets an error through that comes before it") func error() async throws {
    await #expect(throws: SessionError.wrongCard) {
      try await withDeadline(.seconds(1), sleeper: Self.never) { () async throws(SessionError) in
        throw SessionError.wrongCard
      }
    }
  }

  @Test("passes its duration to the sleeper") func duration() async throws {
    let clock = TestClock()
    let value = try await withDeadline(.seconds(42), sleeper: { try await clock.sleep(for: $0) }) {
      () async throws(SessionError) in
      await clock.isAwaited(.seconds(42))
      return 1
    }
    #expect(value == 1)
  }

  @Test("ends a read that nobody answers, closes its transport, and says so") func pendingRead() async throws {
    let ends = InMemoryTransport.pair()
    await #expect(throws: TransportError.timedOut) {
      try await withDeadline(.seconds(1), sleeper: Self.atOnce) { () async throws(TransportError) in
        try await ends.first.read(atMost: 1)
      }
    }
    #expect(try await ends.second.read(atMost: 1) == [])
  }

  @Test("ends a handshake with a peer that says nothing") func silentPeer() async throws {
    let pair = try Pair()
    let ends = InMemoryTransport.pair()
    await #expect(throws: SessionError.timedOut) {
      try await withDeadline(.seconds(1), sleeper: Self.atOnce) { () async throws(SessionError) in
        try await PeerSession.dial(ends.first, identity: pair.alice, peer: pair.bob.keys, ownCard: pair.aliceCard)
      }
    }
  }

  @Test("is not to blame when the surrounding task is cancelled") func cancelled() async throws {
    let ends = InMemoryTransport.pair()
    let stage = Stage()
    let task = Task(executorPreference: stage) {
      await failure { () async throws(TransportError) in
        try await withDeadline(.seconds(1), sleeper: Self.never) { () async throws(TransportError) in
          try await ends.first.read(atMost: 1)
        }
      }
    }
    await stage.rests()
    task.cancel()
    #expect(await task.value == .closed)
  }
}

@Suite("The transport in memory", .timeLimit(.minutes(5))) struct InMemoryTransportTests {
  @Test("carries bytes in order through a small buffer") func order() async throws {
    let ends = InMemoryTransport.pair(capacity: 3)
    let sent = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }
    async let writing: Void = ends.first.write(sent)
    var received: [UInt8] = []
    while received.count < sent.count { received += try await ends.second.read(atMost: 7) }
    try await writing
    #expect(received == sent)
  }

  @Test("delivers what was written before the end") func end() async throws {
    let ends = InMemoryTransport.pair()
    try await ends.first.write([1, 2])
    await ends.first.close()
    #expect(try await ends.second.read(atMost: 9) == [1, 2])
    #expect(try await ends.second.read(atMost: 9) == [])
    await #expect(throws: TransportError.io("the other end has closed")) { try await ends.second.write([1]) }
    await #expect(throws: TransportError.closed) { try await ends.first.read(atMost: 1) }
  }

  @Test("loses everything when it is cut") func cut() async throws {
    let ends = InMemoryTransport.pair()
    try await ends.first.write([1])
    ends.second.cut()
    await #expect(throws: TransportError.io("cut")) { try await ends.second.read(atMost: 1) }
    await #expect(throws: TransportError.io("cut")) { try await ends.first.write([1]) }
  }
}
