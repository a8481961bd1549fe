import Sodium
import Testing

@Suite("X25519")
struct X25519Tests {
  @Test(
    "gives RFC 7748's values, section 5.2",
    arguments: [
      [
        "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
        "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
        "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
      ],
      [
        "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
        "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
        "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
      ],
    ])
  func multiplication(vector: [String]) throws {
    let shared = try X25519.sharedSecret(secret(hex: vector[0]), with: hex(vector[1]))
    #expect(hexadecimal(copied(shared)) == vector[2])
  }

  @Test("gives RFC 7748's values after one and a thousand iterations")
  func iterations() throws {
    var scalar = [9] + [UInt8](repeating: 0, count: 31)
    var point = scalar
    for iteration in 1...1000 {
      let result = try X25519.sharedSecret(secret(scalar), with: point)
      point = scalar
      scalar = copied(result)
      if iteration == 1 {
        #expect(hexadecimal(scalar) == "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079")
      }
    }
    #expect(hexadecimal(scalar) == "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51")
  }

  @Test("gives both sides RFC 7748's shared secret, section 6.1")
  func exchange() throws {
    let alice = try secret(hex: "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
    let bob = try secret(hex: "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
    let alicePublic = try X25519.publicKey(of: alice)
    let bobPublic = try X25519.publicKey(of: bob)
    #expect(hexadecimal(alicePublic) == "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
    #expect(hexadecimal(bobPublic) == "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
    let one = try X25519.sharedSecret(alice, with: bobPublic)
    let two = try X25519.sharedSecret(bob, with: alicePublic)
    #expect(hexadecimal(copied(one)) == "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
    #expect(copied(one) == copied(two))
  }

  /// The canonical encodings of all points of small order on the curve and its twist.
  @Test(
    "refuses keys of small order",
    arguments: [
      String(repeating: "00", count: 32), "01" + String(repeating: "00", count: 31),
      "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
      "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
      "ec" + String(repeating: "ff", count: 30) + "7f",
    ])
  func smallOrder(key: String) {
    #expect(throws: SodiumError.smallOrderKey) { try X25519.validate(publicKey: hex(key)) }
    #expect(throws: SodiumError.smallOrderKey) {
      _ = try X25519.sharedSecret(SecretBytes(random: 32), with: hex(key)).count
    }
    #expect(throws: SodiumError.smallOrderKey) { try X25519.seal(SecretBytes(random: 10), to: hex(key)) }
  }

  @Test(
    "refuses keys that aren't in canonical form",
    arguments: [
      "ed" + String(repeating: "ff", count: 30) + "7f", "ee" + String(repeating: "ff", count: 30) + "7f",
      "f6" + String(repeating: "ff", count: 30) + "7f", String(repeating: "ff", count: 32),
      "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1ccc",
      "09" + String(repeating: "00", count: 30) + "80",
    ])
  func nonCanonical(key: String) {
    #expect(throws: SodiumError.invalidPoint) { try X25519.validate(publicKey: hex(key)) }
    #expect(throws: SodiumError.invalidPoint) { try X25519.seal(SecretBytes(random: 10), to: hex(key)) }
  }

  @Test("accepts keys of its own making, and the largest canonical ones")
  func accepted() throws {
    for _ in 0..<20 { try X25519.validate(publicKey: X25519.publicKey(of: SecretBytes(random: 32))) }
    try X25519.validate(publicKey: hex("eb" + String(repeating: "ff", count: 30) + "7f"))
  }

  @Test("sealed boxes open for their recipient only, once per bit", arguments: [0, 1, 112, 5000])
  func sealedBoxes(count: Int) throws {
    let recipient = try SecretBytes(random: 32)
    let publicKey = try X25519.publicKey(of: recipient)
    let message = try SecretBytes(random: count)
    let sealed = try X25519.seal(message, to: publicKey)
    let again = try X25519.seal(message, to: publicKey)
    #expect(sealed.count == count + X25519.sealOverhead)
    #expect(sealed != again)
    let opened = try X25519.open(sealed.span.bytes, publicKey: publicKey, secret: recipient)
    #expect(copied(opened) == copied(message))

    for position in [0, 31, 32, 47, sealed.count - 1] {
      var bad = sealed
      bad[position] ^= 0x10
      #expect(throws: SodiumError.verificationFailed) {
        _ = try X25519.open(bad.span.bytes, publicKey: publicKey, secret: recipient).count
      }
    }
    let stranger = try SecretBytes(random: 32)
    let strangersKey = try X25519.publicKey(of: stranger)
    #expect(throws: SodiumError.verificationFailed) {
      _ = try X25519.open(sealed.span.bytes, publicKey: strangersKey, secret: stranger).count
    }
    for short in [0, 47] {
      #expect(throws: SodiumError.verificationFailed) {
        _ = try X25519.open(sealed.span.extracting(first: short).bytes, publicKey: publicKey, secret: recipient).count
      }
    }
  }

  @Test("refuses other lengths")
  func lengths() {
    #expect(throws: SodiumError.invalidLength(expected: 32, actual: 31)) {
      try X25519.publicKey(of: SecretBytes(random: 31))
    }
    #expect(throws: SodiumError.invalidLength(expected: 32, actual: 33)) {
      _ = try X25519.sharedSecret(SecretBytes(random: 32), with: [UInt8](repeating: 9, count: 33)).count
    }
    #expect(throws: SodiumError.invalidLength(expected: 32, actual: 0)) { try X25519.validate(publicKey: []) }
  }
}
