@testable import PeerAuth
import WireCodec

/// Cards in all their forms, addresses, and what is stored of an identity.
enum CardTargets {
  static let all = [
    FuzzTarget("extensions", upTo: 5000) { bytes in
      let extensions = try canonical(Extensions.self, bytes, limit: Extensions.byteLimit + 2)
      return (try? extensions.require()) != nil
    },
    FuzzTarget("card", upTo: 3000) { bytes in
      let card = try canonical(PeerCard.self, bytes, limit: PeerCard.byteLimit)
      require(card.encoding == bytes, "a card's two encoders agree")
      let isRight = card.signature == nil || (try? card.verify()) != nil
      for text in [card.fileText(), card.fileText().uppercased()] {
        let again = try? PeerCard.parse(text: text)
        require(again == (isRight ? card : nil), "a card's text is read as the card, if its signature is right")
      }
      let shown = try? PeerCard.parse(text: card.qrText())
      require(shown == card.unsigned, "a card's QR text is read as the unsigned card")
      return true
    },
    FuzzTarget("card-text", upTo: 5000) { try readText(String(decoding: $0, as: UTF8.self)) },
    // The same with a right checksum, which no fuzzer finds by itself.
    FuzzTarget("card-checksum", upTo: 4000) { groups in
      try readText(Bech32m.encode(prefix: PeerCard.textPrefix, groups: groups.map { $0 & 31 }))
    },
    FuzzTarget("card-update", upTo: 6000) { bytes in
      var tape = Tape(bytes)
      let first = try PeerCard.decode(tape.bytes(), limit: PeerCard.byteLimit)
      let second = try PeerCard.decode(tape.remainder(), limit: PeerCard.byteLimit)
      let updates = try second.isUpdate(of: first)
      require(first.keys == second.keys && second.signature != nil, "only a signed card of the same keys is an update")
      return updates
    },
    FuzzTarget("address", upTo: 400) { bytes in
      let text = String(decoding: bytes, as: UTF8.self)
      let listening = try PeerAddress.parse(text, allowsAnyPort: true)
      require(
        (try? PeerAddress.parse(listening.description, allowsAnyPort: true)) == listening, "an address reads itself")
      let address = try PeerAddress.parse(text)
      require((try? PeerAddress.decode(encoding(of: address), limit: 300)) == address, "an address has one encoding")
      return true
    },
    FuzzTarget("address-wire", upTo: 300) { bytes in
      let address = try canonical(PeerAddress.self, bytes, limit: 300)
      require((try? PeerAddress.parse(address.description)) == address, "an address's text is read as the address")
      return true
    },
    FuzzTarget("identity", upTo: 120) { bytes in
      let stored = try secret(bytes)
      let identity = try Identity(stored: stored)
      let again = try identity.stored()
      require(exposed(again) == bytes, "an identity stores what it was read from")
      let card = prepared { try identity.card(label: "", serial: 0) }
      require((try? card.verify()) != nil, "an identity's own card verifies")
      return true
    },
  ]

  private static func readText(_ text: String) throws -> Bool {
    let card = try PeerCard.parse(text: text)
    let isSpace: (UInt8) -> Bool = { $0 == 32 || 9...13 ~= $0 }
    let letters = text.lowercased().utf8.filter { !isSpace($0) }
    require(Array(card.fileText().utf8) == letters, "a card has one text")
    require(card.signature == nil || (try? card.verify()) != nil, "a wrong signature is refused")
    return true
  }
}
