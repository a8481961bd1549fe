import Foundation
import Testing

@testable import Sodium

@Suite("scrypt")
struct ScryptTests {
  struct Vector: Decodable, Sendable, CustomTestStringConvertible {
    let password: String
    let salt: String
    let N: UInt64
    let r: UInt32
    let p: UInt32
    let dkLen: Int
    let dk: String
    var testDescription: String { "N=\(N)" }

    static func all() throws -> [Vector] {
      let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors")
      return try JSONDecoder().decode(
        [Vector].self, from: Data(contentsOf: folder.appending(path: "scrypt-rfc7914.json")))
    }
  }

  @Test("gives RFC 7914's values, the costliest included", arguments: try Vector.all())
  func vectors(vector: Vector) throws {
    let password = Array(vector.password.utf8)
    let salt = Array(vector.salt.utf8)
    let key = try Scrypt.raw(
      password: password.span.bytes, salt: salt.span.bytes, n: vector.N, r: vector.r, p: vector.p, count: vector.dkLen)
    #expect(hexadecimal(copied(key)) == vector.dk)
  }

  @Test("has all four vectors")
  func vectorCount() throws {
    #expect(try Vector.all().map(\.N) == [16, 1024, 16384, 1_048_576])
  }

  @Test("with this program's r and p gives what hashlib.scrypt gives")
  func fixedParameters() throws {
    let password = Array("correct horse".utf8)
    let key = try Scrypt.deriveKey(password: password.span.bytes, salt: Array(0..<32), logarithm: 15)
    #expect(hexadecimal(copied(key)) == "1f7e3f8177f2ebba25fc61bc2851630b64978195d094bf365e6b5cea7fd2505e")
  }

  @Test("refuses other costs and salts", arguments: [Int.min, -1, 0, 14, 21, 62, 63, 64, Int.max])
  func refused(logarithm: Int) {
    #expect(throws: SodiumError.parametersRefused) {
      _ = try Scrypt.deriveKey(password: RawSpan(), salt: Array(0..<32), logarithm: logarithm).count
    }
    #expect(throws: SodiumError.invalidLength(expected: 32, actual: 31)) {
      _ = try Scrypt.deriveKey(password: RawSpan(), salt: Array(0..<31), logarithm: 15).count
    }
  }
}
