import Foundation
import Sodium
import Synchronization
import Testing
import WireCodec

@testable import PeerAuth

/// Regenerates the example in `docs/formats/peerauth.md` and compares it with the text there.
@Suite("The walked example in the documentation") struct WalkedExampleTests {
  private func lines(_ title: String, _ bytes: [UInt8]) -> String {
    let text = hexadecimal(bytes)
    var result = title + "\n"
    var rest = text[...]
    while !rest.isEmpty {
      result += "  " + rest.prefix(96) + "\n"
      rest = rest.dropFirst(96)
    }
    return result
  }

  @Test("is what the code makes of the same inputs") func example() async throws {
    let alice = try fixedIdentity(0x01)
    let bob = try fixedIdentity(0x11)
    let aliceCard = try alice.card(
      label: "Alice", addresses: [.parse("192.0.2.1"), .parse("alice.example.org:4800")], serial: 1,
      beaconKey: [UInt8](repeating: 0x41, count: 16))
    let bobCard = try bob.card(label: "Bob", addresses: [.parse("[2001:db8::7]:4721")], serial: 2)
    var example = "Cards\n"
    example += lines("Alice's card digest", alice.keys.digest.bytes)
    example += "Alice's fingerprint\n  \(alice.keys.fingerprint)\n"
    example += lines("Alice's card, with beacon key and signature", aliceCard.encoding)
    example += "Alice's published text\n  \(aliceCard.text())\n"
    example += "Alice's QR text\n  \(aliceCard.qrText())\n"
    example += lines("Bob's card digest", bob.keys.digest.bytes)

    let writes = Mutex<[(from: String, bytes: [UInt8])]>([])
    func recorder(_ name: String) -> InMemoryTransport.Filter {
      { bytes in
        writes.withLock { $0.append((name, bytes)) }
        return bytes
      }
    }
    let ends = InMemoryTransport.pair(firstFilter: recorder("Alice"), secondFilter: recorder("Bob"))
    async let dialled = PeerSession.dial(
      ends.first, identity: alice, peer: bob.keys, ownCard: aliceCard,
      randomness: .init(ephemeral: keyPair(0x21), fresh: keyPair(0x22)))
    async let answered = PeerSession.answer(
      ends.second, identity: bob, ownCard: bobCard, randomness: .init(ephemeral: keyPair(0x31), fresh: keyPair(0x32))
    ) { $0 == alice.keys.noise ? alice.keys : nil }
    let (one, two) = try await (dialled, answered)
    try await one.send(3, Array("hello".utf8))
    #expect(try await two.receive() == (3, Array("hello".utf8)))
    await one.close()
    example += "Session\n"
    example += lines("Handshake hash", one.handshakeHash.bytes)
    let names = [
      "message 1", "message 2, with fresh key", "message 3; fresh key and card proof",
      "verdict: accepted, card proof and card", "card", "a message of type 3, \"hello\"", "goodbye",
    ]
    let recorded = writes.withLock { $0 }
    #expect(recorded.count == names.count)
    for (write, name) in zip(recorded, names) { example += lines("\(write.from): \(name)", write.bytes) }

    let document = String(decoding: try repositoryFile("../../docs/formats/peerauth.md"), as: UTF8.self)
    #expect(document.contains("```\n" + example + "```\n"), "the example should read:\n\(example)")
  }
}
