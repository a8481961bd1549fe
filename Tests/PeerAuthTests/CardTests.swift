import Sodium
import Testing
import WireCodec

@testable import PeerAuth

@Suite("A card") struct CardTests {
  let identity: Identity
  let card: PeerCard

  init() throws {
    identity = try .generate()
    card = try identity.card(
      label: "Ålice's phone 📱",
      addresses: [.parse("192.0.2.7:4000"), .parse("[2001:db8::7]"), .parse("alice.example.org:1")], serial: 12,
      beaconKey: [UInt8](repeating: 5, count: 16))
  }

  @Test("comes back from its bytes as it was") func roundTrip() throws {
    let bytes = try card.encoded()
    #expect(bytes.count == card.encodedByteCount)
    let decoded = try PeerCard.decode(bytes, limit: PeerCard.byteLimit)
    #expect(decoded == card)
    #expect(try decoded.encoded() == bytes)
    #expect(throws: Never.self) { try decoded.verify() }
  }

  @Test("every truncation and every extension of its bytes is refused") func lengths() throws {
    let bytes = try card.encoded()
    for count in 0..<bytes.count {
      #expect(throws: WireError.self) { try PeerCard.decode(Array(bytes.prefix(count)), limit: PeerCard.byteLimit) }
    }
    #expect(throws: WireError.trailingBytes(count: 1)) { try PeerCard.decode(bytes + [0], limit: PeerCard.byteLimit) }
  }

  @Test("a changed byte is refused, or the signature no longer holds, the beacon key aside") func everyByteCounts()
    throws
  {
    let published = card.published
    let bytes = try published.encoded()
    for index in bytes.indices {
      var changed = bytes
      changed[index] ^= 0x04
      guard let other = try? PeerCard.decode(changed, limit: PeerCard.byteLimit) else { continue }
      #expect(throws: CardError.self, "byte \(index)") { try other.verify() }
    }
  }

  @Test("random bytes are refused without a trap") func garbage() throws {
    var generator = SeededGenerator(state: 1)
    for _ in 0..<500 {
      let bytes = generator.bytes(Int.random(in: 0...300, using: &generator))
      #expect(throws: WireError.self) { try PeerCard.decode(bytes, limit: PeerCard.byteLimit) }
      let framed = [1, bytes.first ?? 0] + identity.keys.signing + identity.keys.noise + identity.keys.box + bytes
      _ = try? PeerCard.decode(framed, limit: PeerCard.byteLimit)
    }
  }

  @Test("a must-understand extension is refused, another one is kept and signed over") func extensions() throws {
    var known = Extensions()
    known[7] = [1, 2, 3]
    let unsigned = try PeerCard(keys: identity.keys, label: "A", serial: 1, extensions: known)
    let signed = unsigned.signed(with: try identity.sign(unsigned.signedDigest()))
    #expect(try PeerCard.decode(signed.encoded(), limit: 2048).extensions == known)
    #expect(throws: Never.self) { try signed.verify() }
    known[7] = [1, 2, 4]
    let changed = try PeerCard(
      keys: identity.keys, label: "A", serial: 1, signature: signed.signature, extensions: known)
    #expect(throws: CardError.wrongSignature) { try changed.verify() }
    known[8] = []
    let foreign = try PeerCard(keys: identity.keys, label: "A", serial: 1, extensions: known)
    #expect(throws: WireError.unsupported(field: "extension", value: 8)) {
      try PeerCard.decode(foreign.encoded(), limit: 2048)
    }
  }

  @Test(
    "control, line and bidirectional characters are no label",
    arguments: ["a\nb", "\u{0}", "\u{7f}", "\u{85}", "\u{202e}evil", "\u{2066}", "\u{200f}", "\u{2028}", "\u{61c}"])
  func labels(label: String) throws {
    #expect(throws: CardError.invalidLabel) { try identity.card(label: label, serial: 1) }
    var bytes = try identity.card(label: String(repeating: "x", count: label.utf8.count), serial: 1).encoded()
    bytes.replaceSubrange(99..<(99 + label.utf8.count), with: Array(label.utf8))
    #expect(throws: WireError.invalidValue(field: "label")) { try PeerCard.decode(bytes, limit: 2048) }
  }

  @Test("limits: 64 bytes of label, 8 addresses, 16 bytes of beacon key, no port 0") func limits() throws {
    #expect(throws: Never.self) { try identity.card(label: String(repeating: "é", count: 32), serial: 1) }
    #expect(throws: CardError.invalidLabel) { try identity.card(label: String(repeating: "é", count: 33), serial: 1) }
    let address = try PeerAddress.parse("192.0.2.1")
    #expect(throws: Never.self) {
      try identity.card(label: "", addresses: Array(repeating: address, count: 8), serial: 1)
    }
    #expect(throws: CardError.tooManyAddresses(limit: 8)) {
      try identity.card(label: "", addresses: Array(repeating: address, count: 9), serial: 1)
    }
    #expect(throws: CardError.invalidBeaconKey) { try identity.card(label: "", serial: 1, beaconKey: [1]) }
    let anyPort = try PeerAddress(host: "192.0.2.1", port: 0, allowsAnyPort: true)
    #expect(throws: CardError.invalidAddress) { try identity.card(label: "", addresses: [anyPort], serial: 1) }
    let name = Array(repeating: String(repeating: "a", count: 61), count: 4).joined(separator: ".")
    let long = try PeerAddress(host: name)
    #expect(throws: CardError.tooLong(limit: 2048)) {
      try identity.card(label: "", addresses: Array(repeating: long, count: 8), serial: 1)
    }
  }

  @Test("text that isn't UTF-8 is refused as a label") func invalidText() throws {
    var bytes = try identity.card(label: "ab", serial: 1).encoded()
    bytes[99] = 0xff
    #expect(throws: WireError.invalidValue(field: "label")) { try PeerCard.decode(bytes, limit: 2048) }
  }

  @Test("only the same keys, signed, with a higher serial are an update") func updates() throws {
    let older = try identity.card(label: "old", serial: 11)
    let newer = try identity.card(label: "new", serial: 13)
    #expect(try newer.isUpdate(of: card))
    #expect(try !older.isUpdate(of: card))
    #expect(try !card.isUpdate(of: card))
    #expect(try card.isUpdate(of: card.unsigned))
    #expect(throws: CardError.missingSignature) { try newer.unsigned.isUpdate(of: card) }
    let other = try Identity.generate().card(label: "new", serial: 14)
    #expect(throws: CardError.otherKeys) { try other.isUpdate(of: card) }
    let forged = try PeerCard(
      keys: identity.keys, label: "evil", serial: 99, signature: Identity.generate().sign(newer.signedDigest()))
    #expect(throws: CardError.wrongSignature) { try forged.isUpdate(of: card) }
  }
}

@Suite("Card keys") struct CardKeysTests {
  let one: CardKeys
  let two: CardKeys

  init() throws {
    one = try Identity.generate().keys
    two = try Identity.generate().keys
  }

  @Test("that are not canonical or of small order are refused") func invalidKeys() throws {
    let zeros = [UInt8](repeating: 0, count: 32)
    var identityPoint = zeros
    identityPoint[0] = 1
    // p + 9 and 2^255 + 9 are other names for the point 9; p itself is another name for 0.
    var aboveField = [UInt8](repeating: 0xff, count: 32)
    aboveField[0] = 0xf6
    aboveField[31] = 0x7f
    var topBit = zeros
    topBit[0] = 9
    topBit[31] = 0x80
    for key in [zeros, identityPoint, aboveField, topBit, [], Array(one.noise.dropLast())] {
      #expect(throws: CardError.invalidKey(.noise)) { try CardKeys(signing: one.signing, noise: key, box: one.box) }
      #expect(throws: CardError.invalidKey(.box)) { try CardKeys(signing: one.signing, noise: one.noise, box: key) }
      #expect(throws: CardError.invalidKey(.signing)) { try CardKeys(signing: key, noise: one.noise, box: one.box) }
      let bytes = [1, 0] + one.signing + one.noise + key + [UInt8](repeating: 0, count: 12)
      if key.count == 32 {
        #expect(throws: WireError.invalidValue(field: "box key")) { try PeerCard.decode(bytes, limit: 2048) }
      }
    }
  }

  @Test("must be three different ones") func distinct() throws {
    #expect(throws: CardError.keysNotDistinct) {
      try CardKeys(signing: one.signing, noise: one.noise, box: one.noise)
    }
  }

  @Test("have a digest that depends on each key and its place") func digest() throws {
    let swapped = try CardKeys(signing: one.signing, noise: one.box, box: one.noise)
    #expect(swapped.digest != one.digest)
    #expect(try CardKeys(signing: two.signing, noise: one.noise, box: one.box).digest != one.digest)
    #expect(try CardKeys(signing: one.signing, noise: one.noise, box: one.box) == one)
  }

  @Test("that share one with another card are noticed, in whatever place") func shared() throws {
    let mixed = try CardKeys(signing: two.signing, noise: two.noise, box: one.noise)
    #expect(mixed.sharesKey(with: one))
    #expect(!one.sharesKey(with: two))
  }

  @Test("have a fingerprint of 5×5 digits that only they have") func fingerprint() throws {
    let text = one.fingerprint.description
    let groups = text.split(separator: " ")
    #expect(groups.count == 5)
    #expect(groups.allSatisfy { $0.count == 5 && $0.allSatisfy { "0123456789".contains($0) } })
    #expect(one.fingerprint.digits.count == 25)
    #expect(try Fingerprint(of: one.digest).description == text)
    #expect(two.fingerprint != one.fingerprint)
  }

  @Test("a known card digest has a known fingerprint") func fixedFingerprint() throws {
    let keys = try fixedIdentity(1).keys
    #expect(keys.digest.description == "c3ee19188ce523f1ee74816f10407054eaf115b441e0c0f3f5655f9b387e0220")
    #expect(keys.fingerprint.description == "00577 72590 65196 44555 12410")
  }
}

@Suite("An identity") struct IdentityTests {
  @Test("comes back from what it stores, and signs and opens as before") func storing() throws {
    let identity = try Identity.generate()
    let stored = try identity.stored()
    let count = stored.count
    #expect(count == Identity.storedByteCount)
    let restored = try Identity(stored: stored)
    #expect(restored.keys == identity.keys)
    let digest = try Digest([UInt8](repeating: 1, count: 32))
    #expect(try restored.sign(digest) == identity.sign(digest))
    #expect(throws: Never.self) { try Ed25519.verify(restored.sign(digest), of: digest, by: identity.keys.signing) }
    let sealed = try X25519.seal(secret([1, 2, 3]), to: identity.keys.box)
    let opened = try restored.openBox(sealed.span.bytes).withUnsafeBytes { Array($0) }
    #expect(opened == [1, 2, 3])
    let other = try AgreementKeyPair.generate()
    let agreed = try restored.boxSharedSecret(with: other.publicKey).matches(
      other.sharedSecret(with: identity.keys.box))
    #expect(agreed)
  }

  @Test("refuses stored bytes of another length or version") func invalidStorage() throws {
    let short = try secret([UInt8](repeating: 1, count: 96))
    #expect(throws: CardError.malformed(.invalidValue(field: "identity"))) { try Identity(stored: short) }
    let other = try secret([UInt8](repeating: 2, count: 97))
    #expect(throws: CardError.malformed(.invalidValue(field: "identity"))) { try Identity(stored: other) }
    let empty = try secret([])
    #expect(throws: CardError.malformed(.invalidValue(field: "identity"))) { try Identity(stored: empty) }
    let same = try secret([UInt8](repeating: 1, count: 97))
    #expect(throws: CardError.keysNotDistinct) { try Identity(stored: same) }
  }

  @Test("doesn't open a box made for another") func foreignBox() throws {
    let sealed = try X25519.seal(secret([1]), to: Identity.generate().keys.box)
    let identity = try Identity.generate()
    #expect(throws: SodiumError.verificationFailed) { _ = try identity.openBox(sealed.span.bytes).count }
  }
}
