import Sodium
import Testing
import WireCodec

@testable import PeerAuth

@Suite("A memory of cards") struct CardMemoryTests {
  let memory = CardMemory()

  @Test("gives the card that its bytes say, again and again") func decoding() throws {
    let cards = try (1...3).map { try Identity.generate().card(label: "phone \($0)", serial: UInt64($0)) }
    for _ in 0..<2 {
      for card in cards {
        #expect(try memory.decode(card.encoding) == card)
        #expect(throws: Never.self) { try memory.verify(card) }
      }
    }
    #expect(memory.count == 3)
  }

  @Test("refuses a wrong signature whatever it has verified before, every time") func forgery() throws {
    let identity = try Identity.generate()
    let card = try identity.card(label: "phone", serial: 1)
    try memory.verify(card)
    let other = try identity.card(label: "tablet", serial: 1)
    let forged = card.signed(with: try #require(other.signature))
    for _ in 0..<2 {
      #expect(try memory.decode(forged.encoding) == forged)
      #expect(throws: CardError.wrongSignature) { try memory.verify(forged) }
      #expect(throws: CardError.missingSignature) { try memory.verify(card.unsigned) }
      #expect(throws: Never.self) { try memory.verify(card) }
    }
  }

  @Test("refuses bytes that are no card, and keeps nothing of them") func garbage() throws {
    for bytes in [[], [1], [UInt8](repeating: 1, count: 3000)] {
      for _ in 0..<2 { #expect(throws: WireError.self) { try memory.decode(bytes) } }
    }
    #expect(memory.count == 0)
  }

  @Test("forgets rather than grow") func bounds() throws {
    let identity = try Identity.generate()
    for serial in 0...UInt64(CardMemory.limit) {
      _ = try memory.decode(try PeerCard(keys: identity.keys, label: "phone", serial: serial).encoding)
    }
    #expect(memory.count == 1)
  }
}
