@testable import SealedPayload
import Sodium
import Testing

@Suite("The password layer")
struct PasswordTests {
  static let password = "p\u{e4}ssword"

  private static func sealed(_ body: [UInt8]) throws -> [UInt8] {
    try seal(body, password: PasswordLayer(password: secret(password), logarithm: 15))
  }

  @Test("a password is asked for after the first chunk, may be tried again, and then the stream goes on")
  func threeTries() throws {
    let body = pattern(200_000)
    let ciphertext = try Self.sealed(body)
    var opener = try PayloadOpener(key: testKey(), ciphertextByteCount: UInt64(ciphertext.count))
    var received: [UInt8] = []
    let neededBefore = opener.needsPassword
    #expect(!neededBefore)
    let taken = try ciphertext.withUnsafeBytes { try opener.append($0) { received += $0 } }
    let (first, needed, logarithm) = (opener.firstChunkByteCount, opener.needsPassword, opener.passwordLogarithm)
    #expect(taken == first)
    #expect(needed)
    #expect(logarithm == 15)
    #expect(throws: PayloadError.passwordRequired) {
      try ciphertext.withUnsafeBytes { try opener.append($0) { received += $0 } }
    }
    #expect(throws: PayloadError.passwordRequired) { try opener.finishUnsafe { received += $0 } }
    for wrong in ["", "password", Self.password + " "] {
      #expect(throws: PayloadError.wrongPassword) { try opener.unlock(password: secret(wrong)) }
      let stillNeeded = opener.needsPassword
      #expect(stillNeeded)
    }
    try opener.unlock(password: secret(Self.password))
    let neededAfter = opener.needsPassword
    #expect(!neededAfter)
    #expect(throws: PayloadError.passwordNotNeeded) { try opener.unlock(password: secret(Self.password)) }
    let rest = Array(ciphertext[taken...])
    #expect(try rest.withUnsafeBytes { try opener.append($0) { received += $0 } } == rest.count)
    try opener.finishUnsafe { received += $0 }
    #expect(received == body)
  }

  @Test("the ciphertext's length is known beforehand, with and without a password", arguments: [0, 1, 65_000, 200_000])
  func lengthBeforehand(count: Int) throws {
    let header = try fileHeader()
    let body = pattern(count)
    for hasPassword in [false, true] {
      let foreseen = try PayloadSealer.ciphertextByteCount(
        header: header, bodyByteCount: UInt64(count), hasPassword: hasPassword)
      let ciphertext = try hasPassword ? Self.sealed(body) : seal(body)
      #expect(foreseen == UInt64(ciphertext.count))
    }
  }

  @Test("a payload in one chunk is handed out by finish")
  func smallPayload() throws {
    let ciphertext = try Self.sealed([1, 2, 3])
    var opener = try PayloadOpener(key: testKey(), ciphertextByteCount: UInt64(ciphertext.count))
    var received: [UInt8] = []
    let taken = try ciphertext.withUnsafeBytes { try opener.append($0) { received += $0 } }
    #expect(taken == ciphertext.count)
    try opener.unlock(password: secret(Self.password))
    let early = opener.withHeader { $0.mediaType }
    #expect(early == nil)
    try opener.finishUnsafe { received += $0 }
    #expect(received == [1, 2, 3])
    let mediaType = opener.withHeader { $0.mediaType }
    #expect(mediaType == "text/plain")
  }

  @Test("damage is not taken for a wrong password")
  func damageIsNotAWrongPassword() throws {
    let ciphertext = try Self.sealed(pattern(100_000))
    for position in [0, 50, 65_551, 65_552, ciphertext.count - 1] {
      var changed = ciphertext
      changed[position] ^= 4
      #expect(throws: PayloadError.damaged) { try open(changed, password: Self.password) }
    }
  }

  @Test("damage below the layer, which only its sealer can have made, is damage too")
  func damageBelow() throws {
    let (layer, inner) = try Self.handMade(body: [1, 2, 3])
    for position in [0, 16, inner.count - 1] {
      var changed = inner
      changed[position] ^= 1
      let ciphertext = try sealRaw(layer + changed, key: testKey())
      #expect(throws: PayloadError.damaged) { try open(ciphertext, password: Self.password) }
    }
    #expect(try open(sealRaw(layer + inner, key: testKey()), password: Self.password) == [1, 2, 3])
  }

  @Test("a changed commitment, salt or cost opens under no password")
  func changedLayer() throws {
    let (layer, inner) = try Self.handMade(body: [1])
    for position in [2, 33, 34, 65] {
      var changed = layer
      changed[position] ^= 1
      let ciphertext = try sealRaw(changed + inner, key: testKey())
      #expect(throws: PayloadError.wrongPassword) { try open(ciphertext, password: Self.password) }
    }
    var costlier = layer
    costlier[1] = 16
    let ciphertext = try sealRaw(costlier + inner, key: testKey())
    #expect(throws: PayloadError.wrongPassword) { try open(ciphertext, password: Self.password) }
  }

  @Test(
    "other scrypt costs are refused before a password is asked for or memory taken", arguments: [0, 14, 21, 255])
  func refusedParameters(logarithm: UInt8) throws {
    var (layer, inner) = try Self.handMade(body: [1])
    layer[1] = logarithm
    let ciphertext = try sealRaw(layer + inner, key: testKey())
    #expect(throws: PayloadError.parametersRefused) { try open(ciphertext, password: Self.password) }
    #expect(throws: PayloadError.parametersRefused) {
      _ = try PasswordLayer(password: secret("x"), logarithm: Int(logarithm)).logarithm
    }
  }

  @Test("no ciphertext opens under two passwords: the commitment decides before the stream is looked at")
  func oneKeyOnly() throws {
    // The sealer knows both passwords and puts the second one's stream behind the first one's commitment.
    let (layer, _) = try Self.handMade(body: [1], password: "first")
    let (_, inner) = try Self.handMade(body: [2], password: "second")
    let ciphertext = try sealRaw(layer + inner, key: testKey())
    #expect(throws: PayloadError.wrongPassword) { try open(ciphertext, password: "second") }
    #expect(throws: PayloadError.damaged) { try open(ciphertext, password: "first") }
  }

  @Test("an empty password is refused when sealing")
  func emptyPassword() throws {
    #expect(throws: PayloadError.emptyPassword) { _ = try PasswordLayer(password: secret("")).logarithm }
  }

  @Test("two layers under the same password have different salts")
  func freshSalts() throws {
    let one = try PasswordLayer(password: secret("x"))
    let two = try PasswordLayer(password: secret("x"))
    let salts = (one.salt, two.salt)
    #expect(salts.0 != salts.1)
    let logarithm = one.logarithm
    #expect(logarithm == 16)
  }

  @Test("a layer without room for its stream is damaged")
  func emptyLayer() throws {
    let (layer, inner) = try Self.handMade(body: [1])
    for short in [Array(layer[..<10]), layer, layer + inner[..<16], layer + inner.dropLast()] {
      let ciphertext = try sealRaw(short, key: testKey())
      #expect(throws: PayloadError.damaged) { try open(ciphertext, password: Self.password) }
    }
  }

  @Test("unlocking what has no password layer is an error")
  func notNeeded() throws {
    var opener = try PayloadOpener(key: testKey(), ciphertextByteCount: 1041)
    #expect(throws: PayloadError.passwordNotNeeded) { try opener.unlock(password: secret("x")) }
  }

  private static func commitment(to key: borrowing SecretBytes) throws -> Digest {
    var hash = try DomainHash("vault/commit/v1")
    hash.append(key.bytes)
    return hash.digest()
  }

  /// What stands in front of the inner stream, and the inner stream, built here by hand.
  private static func handMade(
    body: [UInt8], password: String = password
  ) throws -> (layer: [UInt8], inner: [UInt8]) {
    let salt = pattern(32)
    let password = try secret(password)
    let key = try Scrypt.deriveKey(password: password.bytes, salt: salt, logarithm: 15)
    let commitment = try commitment(to: key)
    let payload = try paddedPayload(header: noteHeader, body: body)
    return ([1, 15] + salt + commitment.bytes, try sealRaw(payload, key: key))
  }
}
