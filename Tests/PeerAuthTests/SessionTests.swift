import Sodium
import Testing
import WireCodec

@testable import PeerAuth

@Suite("A session") struct SessionTests {
  @Test("proves both cards, names itself alike on both sides, and carries messages both ways") func happyPath()
    async throws
  {
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
      let last = try await bob.receive { _ in nil }.kind
      #expect(last == .goodbye)
    }
  }
}
