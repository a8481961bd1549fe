import Sodium
import Testing
import WireCodec

@testable import PeerAuth

@Suite("The text of a card") struct CardTextTests {
  let identity: Identity
  let card: PeerCard

  init() throws {
    identity = try .generate()
    card = try identity.card(
      label: "a label of 20 bytes!", addresses: [.parse("255.255.255.255:65535")], serial: .max,
      beaconKey: [UInt8](repeating: 255, count: 16))
  }

  @Test("to publish is lower case, signed, and without the beacon key") func published() throws {
    let text = card.text()
    #expect(text.hasPrefix("vaultpeer1"))
    #expect(text == text.lowercased())
    let parsed = try PeerCard.parse(text: text)
    #expect(parsed == card.published)
    #expect(parsed.beaconKey == nil)
    #expect(throws: Never.self) { try parsed.verify() }
    #expect(try PeerCard(text: text.uppercased()) == parsed)
  }

  @Test("for a file is signed and has the beacon key") func file() throws {
    #expect(try PeerCard.parse(text: card.fileText()) == card)
    #expect(try PeerCard.parse(text: " \r\n\t" + card.fileText() + "\n") == card)
  }

  @Test("for a QR code is upper case, unsigned, has the beacon key, and fits version 8-L") func qr() throws {
    let text = card.qrText()
    #expect(text == text.uppercased())
    #expect(text.utf8.count <= 279)
    #expect(try PeerCard.parse(text: text) == card.unsigned)
    #expect(try PeerCard.parse(text: text.lowercased()).beaconKey == card.beaconKey)
    #expect(throws: CardError.missingSignature) { try PeerCard.parse(text: text).verify() }
  }

  @Test("of the largest card there may be still parses") func largest() throws {
    let name = Array(repeating: String(repeating: "a", count: 50), count: 4).joined(separator: ".")
    let card = try identity.card(
      label: String(repeating: "x", count: 64), addresses: Array(repeating: .init(host: name), count: 8), serial: 1)
    #expect(card.encodedByteCount > 1800)
    #expect(try PeerCard.parse(text: card.text()) == card)
  }

  @Test("every single wrong character is caught") func singleErrors() throws {
    let text = try Array(identity.card(label: "", serial: 1).unsigned.text().utf8)
    let alphabet = Array("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)
    for index in 10..<text.count {
      for other in alphabet where other != text[index] {
        var wrong = text
        wrong[index] = other
        #expect(throws: CardError.wrongChecksum) { try Bech32m.decode(prefix: "vaultpeer", wrong) }
      }
    }
    for index in 0..<10 {
      var wrong = text
      wrong[index] = UInt8(ascii: "q")
      #expect(throws: CardError.notACard) { try Bech32m.decode(prefix: "vaultpeer", wrong) }
    }
  }

  @Test("lost, doubled and swapped characters are caught") func otherErrors() throws {
    let text = card.text()
    for index in stride(from: 10, to: text.utf8.count - 1, by: 7) {
      var letters = Array(text)
      letters.remove(at: index)
      #expect(throws: CardError.self) { try PeerCard.parse(text: String(letters)) }
      letters = Array(text)
      letters.insert(letters[index], at: index)
      #expect(throws: CardError.self) { try PeerCard.parse(text: String(letters)) }
      letters = Array(text)
      guard letters[index] != letters[index + 1] else { continue }
      letters.swapAt(index, index + 1)
      #expect(throws: CardError.wrongChecksum) { try PeerCard.parse(text: String(letters)) }
    }
  }

  @Test("mixed case, other prefixes, other alphabets and over-long texts are refused") func refusals() throws {
    let text = card.text()
    let mixed = text.prefix(40) + text.dropFirst(40).uppercased()
    #expect(throws: CardError.mixedCase) { try PeerCard.parse(text: String(mixed)) }
    #expect(throws: CardError.mixedCase) { try PeerCard.parse(text: "V" + text.dropFirst()) }
    #expect(throws: CardError.notACard) { try PeerCard.parse(text: "") }
    #expect(throws: CardError.notACard) { try PeerCard.parse(text: "vaultpeer1") }
    #expect(throws: CardError.notACard) { try PeerCard.parse(text: "age1" + text.dropFirst(10)) }
    #expect(throws: CardError.invalidCharacter) { try PeerCard.parse(text: text + "b") }
    #expect(throws: CardError.invalidCharacter) { try PeerCard.parse(text: text + "é") }
    #expect(throws: CardError.tooLong(limit: 4096)) {
      try PeerCard.parse(text: String(repeating: " ", count: 4096) + text)
    }
    let otherPrefix = Bech32m.encode(prefix: "vaultitem", card.encoding)
    #expect(throws: CardError.notACard) { try PeerCard.parse(text: otherPrefix) }
    let bech32m = Bech32m.encode(prefix: "vaultpeer", [])
    #expect(throws: CardError.malformed(.truncated(field: "card version"))) { try PeerCard.parse(text: bech32m) }
  }

  @Test("a text with a wrong signature is refused at once") func wrongSignature() throws {
    let forged = try PeerCard(
      keys: identity.keys, label: "evil", serial: 99, signature: [UInt8](repeating: 1, count: 64))
    #expect(throws: CardError.wrongSignature) { try PeerCard.parse(text: forged.text()) }
  }

  @Test("BIP 350's examples hold for the encoding beneath") func bip350() throws {
    #expect(try Bech32m.decode(prefix: "a", Array("a1lqfn3a".utf8)) == [])
    #expect(try Bech32m.decode(prefix: "a", Array("A1LQFN3A".utf8)) == [])
    let changed = Array("a1lqfn3q".utf8)
    #expect(throws: CardError.wrongChecksum) { try Bech32m.decode(prefix: "a", changed) }
    // The same text with the checksum of plain Bech32 (BIP 173) is refused.
    #expect(throws: CardError.wrongChecksum) { try Bech32m.decode(prefix: "a", Array("a12uel5l".utf8)) }
    // "split1checkupstagehandshakeupstreamerranterredcaperredlc445v" is BIP 350's; its 48 groups are exactly 30 bytes.
    let split = "split1checkupstagehandshakeupstreamerranterredcaperredlc445v"
    let bytes = try Bech32m.decode(prefix: "split", Array(split.utf8))
    #expect(bytes.count == 30)
    #expect(Bech32m.encode(prefix: "split", bytes) == split)
  }

  @Test("unused bits that are not zero, and a needless last group, are refused") func padding() throws {
    // One byte takes two groups with two unused bits; the texts are made with a checksum of their own.
    let good = Bech32m.encode(prefix: "a", [0xff])
    #expect(try Bech32m.decode(prefix: "a", Array(good.utf8)) == [0xff])
    for groups in [[31, 31], [31, 28, 0], [31]] as [[UInt8]] {
      let text = Bech32m.encode(prefix: "a", groups: groups)
      #expect(throws: CardError.malformed(.invalidValue(field: "padding"))) {
        try Bech32m.decode(prefix: "a", Array(text.utf8))
      }
    }
  }
}

@Suite("An address") struct AddressTests {
  @Test(
    "is read and shown in one form",
    arguments: [
      ("192.0.2.1:80", "192.0.2.1:80"), ("192.0.2.1", "192.0.2.1:4721"), ("[2001:DB8:0:0::7]:80", "[2001:db8::7]:80"),
      ("[::1]", "[::1]:4721"), ("::1", "[::1]:4721"), ("Alice.Example.ORG:65535", "alice.example.org:65535"),
      ("localhost", "localhost:4721"), ("a_b-c.d1:1", "a_b-c.d1:1"),
      ("xn--bcher-kva.example", "xn--bcher-kva.example:4721"),
    ])
  func forms(text: String, shown: String) throws {
    let address = try PeerAddress.parse(text)
    #expect(address.description == shown)
    #expect(try PeerAddress(parsing: shown) == address)
    let bytes = try address.encoded()
    #expect(bytes.count == address.encodedByteCount)
    #expect(try PeerAddress.decode(bytes, limit: 300) == address)
  }

  @Test(
    "without a usable host or port is refused",
    arguments: [
      "", ":80", "a:", "a:0", "a:65536", "a:-1", "a:+1", "a:99999", "a:1e3", "a b", "a\n", "a\u{0}b", "a/b", "[::1",
      "[::1]80",
      "[::1]:", "[a]:80", "[192.0.2.1]:80", "1.2.3", "1.2.3.256", "0x7f.1", "127.1", "0x7f", "2130706433", "a..b", ".a",
      "a.", "-a",
      "a-", "bücher.example", "::1%eth0", "a:b:c", "\u{202e}a", "user@host", "١:80", "a:٨٠", "\u{212a}.example",
      "[::1]\u{301}",
    ])
  func refusals(text: String) {
    #expect(throws: CardError.invalidAddress) { try PeerAddress.parse(text) }
  }

  @Test(
    "whoever has an address is known by it, or by the network of an IPv6 address",
    arguments: [
      ("192.0.2.1:5", "192.0.2.1"), ("Example.org:5", "example.org"), ("[2001:db8::1]:5", "2001:db8::/64"),
      ("[2001:db8::ffff:1]:6", "2001:db8::/64"), ("[2001:db8:0:1::1]:5", "2001:db8:0:1::/64"),
      ("[::ffff:192.0.2.1]:5", "192.0.2.1"),
    ])
  func places(text: String, place: String) throws { #expect(try PeerAddress(parsing: text).place == place) }

  @Test("has limits that are checked first") func limits() throws {
    #expect(throws: CardError.tooLong(limit: 300)) { try PeerAddress.parse(String(repeating: "a", count: 301)) }
    #expect(throws: CardError.tooLong(limit: 253)) { try PeerAddress(host: String(repeating: "a.", count: 127)) }
    #expect(throws: CardError.invalidAddress) { try PeerAddress(host: String(repeating: "a", count: 64)) }
  }

  @Test("may have port 0 only to listen at") func anyPort() throws {
    let address = try PeerAddress.parse("127.0.0.1:0", allowsAnyPort: true)
    #expect(address.port == 0)
    #expect(throws: WireError.invalidValue(field: "port")) { try address.encoded() }
  }

  @Test(
    "in bytes has one form only",
    arguments: [
      [4, 1, 2, 3, 4, 0, 0], [1, 1, 2, 3, 4, 0, 1], [0, 0, 0, 80], [0, 1, 65, 0, 80],
      [0, 7] + Array("1.2.3.4".utf8) + [0, 80],
      [0, 3] + Array("::1".utf8) + [0, 80], [0, 1, 0xff, 0, 80], [0, 254], [4, 1, 2, 3], [6, 1], [], [0, 1, 97, 0],
    ] as [[UInt8]])
  func bytes(bytes: [UInt8]) {
    #expect(throws: WireError.self) { try PeerAddress.decode(bytes, limit: 300) }
  }
}
