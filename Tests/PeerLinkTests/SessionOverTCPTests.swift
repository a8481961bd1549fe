import Concurrency
import PeerAuth
import Sodium
import Synchronization
import TestTime
import Testing
import WireCodec

@testable import PeerLink

@Suite("A session over TCP", .timeLimit(.minutes(5))) struct SessionOverTCPTests {
  let alice: Identity
  let bob: Identity

  init() throws {
    alice = try .generate()
    bob = try .generate()
  }

  /// A peer that sends every message back until the other says goodbye.
  private func echo(_ transport: any PeerTransport, trusting known: CardKeys?) async throws {
    let session = try await PeerSession.answer(
      transport, identity: bob, ownCard: bob.card(label: "Bob", serial: 1)
    ) { $0 == known?.noise ? known : nil }
    while true {
      let message = try await session.receive { _ in 1 << 24 }
      if message.isGoodbye { return await session.close() }
      try await session.send(type: message.type, count: message.body.count) { (writer) throws(WireError) in
        try writer.bytes(message.body.bytes)
      }
    }
  }

  private func dial(_ listener: TCPListener) async throws -> PeerSession {
    try await PeerSession.dial(
      TCPConnector().connect(listener.address), identity: alice, peer: bob.keys,
      ownCard: alice.card(label: "Alice", serial: 1))
  }

  @Test("proves cards, echoes messages of many sizes, and says goodbye") func echoes() async throws {
    let listener = try await TCPListener.bind(host: "127.0.0.1", port: 0)
    let answering = Task {
      for await transport in listener.incoming { return try await echo(transport, trusting: alice.keys) }
    }
    let session = try await dial(listener)
    for count in [0, 1, 65_519, 70_000, 2_000_000] {
      let sent = [UInt8](repeating: UInt8(truncatingIfNeeded: count), count: count)
      async let sending: Void = session.send(type: 3, count: count) { (writer) throws(WireError) in
        try writer.bytes(sent)
      }
      let received = try await session.receive { _ in 1 << 24 }
      try await sending
      let bytes = received.body.withUnsafeBytes { Array($0) }
      #expect(bytes == sent)
    }
    await session.close()
    try await answering.value
  }

  @Test("an unknown key is refused with a reason that the dialler sees") func unknownKey() async throws {
    let listener = try await TCPListener.bind(host: "127.0.0.1", port: 0)
    let answering = Task { () -> SessionError? in
      for await transport in listener.incoming {
        do { try await echo(transport, trusting: nil) } catch { return error as? SessionError }
      }
      return nil
    }
    await #expect(throws: SessionError.refusedUnknownKey) { try await dial(listener) }
    #expect(await answering.value == .unknownPeer)
  }

  @Test("a listener that never answers is left when the deadline passes") func deadline() async throws {
    let listener = try await TCPListener.bind(host: "127.0.0.1", port: 0)
    let clock = TestClock()
    let passing = Task { () -> (any PeerTransport)? in
      for await transport in listener.incoming {
        await clock.passOnce(.seconds(8))
        return transport
      }
      return nil
    }
    let error = await #expect(throws: SessionError.self) {
      try await withDeadline(.seconds(8), sleeper: { try await clock.sleep(for: $0) }) {
        () async throws(SessionError) in
        let transport: any PeerTransport
        do throws(TransportError) { transport = try await TCPConnector().connect(listener.address) } catch {
          throw SessionError.transport(error)
        }
        let card: PeerCard
        do { card = try alice.card(label: "Alice", serial: 1) } catch { throw SessionError.wrongCard }
        return try await PeerSession.dial(transport, identity: alice, peer: bob.keys, ownCard: card)
      }
    }
    #expect(error == .timedOut)
    #expect(await passing.value != nil)
  }

  @Test("many sessions at once, to one listener") func many() async throws {
    let listener = try await TCPListener.bind(host: "127.0.0.1", port: 0)
    let served = Counter()
    let answering = Task {
      await withTaskGroup(of: Void.self) { group in
        for await transport in listener.incoming {
          group.addTask {
            try? await echo(transport, trusting: alice.keys)
            served.add()
          }
        }
      }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<20 {
        group.addTask {
          let session = try await dial(listener)
          try await session.send(type: 1, count: 1) { (writer) throws(WireError) in try writer.u8(UInt8(number)) }
          let echoed = try await session.receive { _ in 10 }.body.withUnsafeBytes { Array($0) }
          #expect(echoed == [UInt8(number)])
          await session.close()
        }
      }
      try await group.waitForAll()
    }
    await listener.close()
    await answering.value
    #expect(served.value == 20)
  }
}
