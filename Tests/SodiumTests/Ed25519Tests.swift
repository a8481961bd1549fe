import Sodium
import Testing

@Suite("Ed25519")
struct Ed25519Tests {
  /// RFC 8032, section 7.1: seed and public key of TEST 1, 2, 3 and SHA(abc). Its messages aren't 32 bytes long, so the
  /// signatures here are over digests and were made with OpenSSL through Python's `cryptography`.
  static let keys = [
    (
      "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    ),
    (
      "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
      "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
    ),
    (
      "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
      "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025"
    ),
    (
      "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
      "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf"
    ),
  ]
  static let signatures = [
    "00c1db988bb12fd7351a6054ae3fac90fab7e4fc56b1651c7181f5f55f896f663933d3a90605d9058e9d0ac45950ee2d3c9c9b14857415587179fe0ccac35f09",
    "fea685b27f52e21f9f736a88fdfdd443f328eaf64cac302fb82162127c2a35d3bc37c8daf6faccc16657329b2f907f4660d8c6f7edad8da6c9c1ff353223e408",
  ]

  private func publicKey(_ seed: borrowing SecretBytes) throws -> [UInt8] {
    let expanded = try Ed25519.expand(seed)
    return expanded.withUnsafeBytes { Array($0[Ed25519.seedByteCount...]) }
  }

  @Test("has RFC 8032's public keys", arguments: keys)
  func publicKeys(seed: String, expected: String) throws {
    #expect(hexadecimal(try publicKey(secret(hex: seed))) == expected)
    try Ed25519.validate(publicKey: hex(expected))
  }

  @Test("makes the signatures that OpenSSL makes, and accepts them")
  func knownSignatures() throws {
    let digests = [try Digest(Array(0..<32)), try Digest([UInt8](repeating: 255, count: 32))]
    for (index, digest) in digests.enumerated() {
      let signature = try Ed25519.sign(digest, expanded: Ed25519.expand(secret(hex: Self.keys[index].0)))
      #expect(hexadecimal(signature) == Self.signatures[index])
      try Ed25519.verify(signature, of: digest, by: hex(Self.keys[index].1))
    }
  }

  @Test("refuses a signature, digest or key with any bit changed")
  func changed() throws {
    let digest = try Digest(Array(0..<32))
    let signature = try hex(Self.signatures[0])
    let publicKey = try hex(Self.keys[0].1)
    for position in 0..<64 {
      var bad = signature
      bad[position] ^= 1 << UInt8.random(in: 0...7)
      #expect(throws: SodiumError.verificationFailed) { try Ed25519.verify(bad, of: digest, by: publicKey) }
    }
    for position in 0..<32 {
      var bytes = digest.bytes
      bytes[position] ^= 1
      let other = try Digest(bytes)
      #expect(throws: SodiumError.verificationFailed) { try Ed25519.verify(signature, of: other, by: publicKey) }
      var key = publicKey
      key[position] ^= 1
      #expect(throws: SodiumError.verificationFailed) { try Ed25519.verify(signature, of: digest, by: key) }
    }
  }

  @Test("refuses the same signature with the group order added to its scalar")
  func malleability() throws {
    var signature = try hex(Self.signatures[0])
    let order = try hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
    var carry = 0
    for index in 0..<32 {
      carry += Int(signature[32 + index]) + Int(order[index])
      signature[32 + index] = UInt8(carry & 255)
      carry >>= 8
    }
    #expect(throws: SodiumError.verificationFailed) {
      try Ed25519.verify(signature, of: Digest(Array(0..<32)), by: hex(Self.keys[0].1))
    }
  }

  @Test(
    "refuses public keys of small order or not in canonical form",
    arguments: [
      String(repeating: "00", count: 32), "01" + String(repeating: "00", count: 31),
      "ec" + String(repeating: "ff", count: 30) + "7f", "ed" + String(repeating: "ff", count: 30) + "7f",
      "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05", String(repeating: "ff", count: 32),
    ])
  func badPublicKeys(key: String) {
    #expect(throws: SodiumError.invalidPoint) { try Ed25519.validate(publicKey: hex(key)) }
    #expect(throws: SodiumError.verificationFailed) {
      try Ed25519.verify(hex(Self.signatures[0]), of: Digest(Array(0..<32)), by: hex(key))
    }
  }

  @Test("refuses other lengths")
  func lengths() throws {
    let digest = try Digest(Array(0..<32))
    #expect(throws: SodiumError.invalidLength(expected: 32, actual: 31)) {
      try Ed25519.sign(digest, expanded: Ed25519.expand(secret([UInt8](repeating: 1, count: 31))))
    }
    #expect(throws: SodiumError.invalidLength(expected: 64, actual: 63)) {
      try Ed25519.verify([UInt8](repeating: 1, count: 63), of: digest, by: hex(Self.keys[0].1))
    }
    #expect(throws: SodiumError.invalidLength(expected: 32, actual: 33)) {
      try Ed25519.verify([UInt8](repeating: 1, count: 64), of: digest, by: [UInt8](repeating: 1, count: 33))
    }
    #expect(throws: SodiumError.invalidLength(expected: 32, actual: 0)) { try Ed25519.validate(publicKey: []) }
  }
}
