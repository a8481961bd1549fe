import Testing

@testable import Sodium

@Suite("Secret elements of ristretto255, and SHA-2 without labels") struct SecretElementTests {
  @Test("are derived as RFC 9496's public ones") func derivation() throws {
    for byte in 0..<8 {
      let uniform = (0..<64).map { UInt8(truncatingIfNeeded: byte * 64 + $0 * 7) }
      let element = copied(try SecretElement.derived(from: secret(uniform)))
      #expect(element == (try RistrettoPoint(uniform: uniform)).bytes)
    }
    #expect(throws: SodiumError.invalidLength(expected: 64, actual: 32)) {
      _ = try SecretElement.derived(from: SecretBytes(zeros: 32))
    }
  }

  @Test("are multiplied as public ones, and refuse what isn't canonical or neutral") func product() throws {
    let scalar = try RistrettoScalar.random()
    let generator = RistrettoPoint.generator.bytes
    let product = copied(try SecretElement.product(of: generator.span.bytes, by: scalar))
    let expected = try RistrettoPoint.generator.multiplied(by: scalar)
    #expect(product == expected.bytes)
    let short = [UInt8](repeating: 1, count: 31)
    var odd = RistrettoPoint.generator.bytes
    odd[0] ^= 1
    for refused in [odd, [UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xff, count: 32)] {
      #expect(throws: SodiumError.invalidPoint) {
        _ = try SecretElement.product(of: refused.span.bytes, by: RistrettoScalar.random())
      }
    }
    #expect(throws: SodiumError.invalidPoint) {
      _ = try SecretElement.product(of: generator.span.bytes, by: SecretBytes(zeros: 32))
    }
    #expect(throws: SodiumError.invalidLength(expected: 32, actual: 31)) {
      _ = try SecretElement.product(of: short.span.bytes, by: RistrettoScalar.random())
    }
  }

  /// FIPS 180-4's example of one block, and RFC 4231's test case 2.
  @Test("SHA-512 and HMAC-SHA512 are the standards'") func hashes() throws {
    let text = Array("abc".utf8)
    let digest = copied(try PlainHashes.sha512(text.span.bytes))
    #expect(
      digest
        == (try hex(
          "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
            + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f")))
    let (key, data) = (Array("Jefe".utf8), Array("what do ya want for nothing?".utf8))
    let code = copied(try PlainHashes.hmacSHA512(key: key.span.bytes, data.span.bytes))
    #expect(
      code
        == (try hex(
          "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
            + "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737")))
  }
}
