import Foundation
import Testing

@testable import Sodium

@Suite("Domain-separated hashes")
struct DomainHashTests {
  /// Computed with Python's hashlib.blake2b(digest_size=32, key=…) over the documented input.
  @Test("BLAKE2b agrees with hashlib, keyed or not")
  func values() throws {
    let empty = try DomainHash("vault/test/v1")
    #expect(empty.digest().description == "de6232a1aeabb34e197b12de98085ab576f1e8f322b05f1148315e6da71e6170")

    var parts = try DomainHash("vault/test/v1")
    parts.append([])
    parts.append(Array("abc".utf8))
    parts.append([UInt8](0...255).span.bytes)
    parts.append(7)
    parts.append("é")
    #expect(parts.digest().description == "a4e52e5319d57e0d8fdf019c0e7286a93b6061c39dd240ed878d1bf9e9a26fb7")

    for (count, expected) in [
      (16, "beed7b29a0d0a054e4149d4af9f6d223910663eb75c6a2cbf4f7fe281ea32be1"),
      (32, "1d435a2e9f81c15d19c51d0ac322fd389aca4da933094cefd2c54ed66f44ec0d"),
      (64, "61628b1ab439158ebadceaa890432bfe80fea4178035f91f65710ab9257425b5"),
    ] {
      let key = [UInt8](0..<UInt8(count))
      var keyed = try DomainHash("vault/test/v1", key: key.span.bytes)
      keyed.append("abc")
      #expect(keyed.digest().description == expected)
    }
  }

  @Test("a secret result has the same bytes as a public one")
  func secretResult() throws {
    var one = try DomainHash("vault/test/v1")
    one.append("abc")
    var two = try DomainHash("vault/test/v1")
    two.append("abc")
    let digest = one.digest()
    let secret = try two.secret()
    #expect(copied(secret) == digest.bytes)
  }

  @Test("keys are 16 to 64 bytes", arguments: [1, 15, 65, 1000])
  func keyLength(count: Int) {
    #expect(throws: SodiumError.invalidLength(expected: 32, actual: count)) {
      _ = try DomainHash("vault/test/v1", key: [UInt8](repeating: 1, count: count).span.bytes).digest()
    }
  }

  private func hash(_ parts: [[UInt8]], _ label: StaticString = "vault/test/v1") throws -> [String] {
    var narrow = try DomainHash(label)
    var wide = try WideDomainHash(label)
    for part in parts {
      narrow.append(part)
      wide.append(part)
    }
    let secret = try wide.secret()
    return [narrow.digest().description, hexadecimal(copied(secret))]
  }

  @Test("where one part ends and the next begins is part of what is hashed")
  func partBoundaries() throws {
    let lists: [[[UInt8]]] = [
      [], [[]], [[], []], [[1, 2, 3]], [[1, 2], [3]], [[1], [2, 3]], [[1], [2], [3]], [[], [1, 2, 3]],
      [[1, 2, 3], []],
      [[0, 0, 0, 0, 0, 0, 0, 0]], [[0, 0, 0, 0, 0, 0, 0, 1, 5]], [[5]],
    ]
    let hashes = try lists.map { try hash($0) }
    for kind in 0...1 { #expect(Set(hashes.map { $0[kind] }).count == lists.count) }
  }

  @Test("a label is no part, and another label is another hash")
  func labels() throws {
    #expect(try hash([], "vault/a/v1") != hash([], "vault/b/v1"))
    #expect(try hash([Array("x".utf8)], "vault/a/v1") != hash([], "vault/a/v1x"))
  }

  @Test("the wide hash is SHA-512 over the same input")
  func wideValue() throws {
    var wide = try WideDomainHash("vault/test/v1")
    wide.append("abc")
    wide.append(7)
    let secret = try wide.secret()
    // hashlib.sha512 over the example of docs/formats/wire.md.
    #expect(
      hexadecimal(copied(secret))
        == "a2617ac2006aea5d527a2e84d7ae865ccd8a8657bb559b381fbe72649d7af637"
        + "0d6aa0caefa3a4b39f888e303f7ba3c61b7dc3e2a4aaa4f18df1c9e4b7dfe34c")
  }

  @Test("the example in docs/formats/wire.md is what this code computes")
  func documentedExample() throws {
    let document = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/formats/wire.md")
    let text = try String(contentsOf: document, encoding: .utf8)
    var narrow = try DomainHash("vault/test/v1")
    narrow.append("abc")
    narrow.append(7)
    let digest = narrow.digest()
    var input: [UInt8] = []
    for piece in [Array("vault/test/v1".utf8), Array("abc".utf8), [0, 0, 0, 0, 0, 0, 0, 7]] {
      input += [0, 0, 0, 0, 0, 0, 0, UInt8(piece.count)] + piece
    }
    let joined = text.filter { !$0.isWhitespace }
    #expect(joined.contains(hexadecimal(input)))
    #expect(joined.contains(digest.description))
  }
}

@Suite("Hashes without labels, for Noise")
struct PlainHashesTests {
  @Test("SHA-256 gives FIPS 180's values, however the input is cut in two")
  func sha256() throws {
    let abc = Array("abc".utf8)
    for cut in 0...3 {
      let first = Array(abc[..<cut])
      let second = Array(abc[cut...])
      let digest = try PlainHashes.sha256(first.span.bytes, second.span.bytes)
      #expect(
        digest.description
          == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }
    let empty = try PlainHashes.sha256(RawSpan(), RawSpan())
    #expect(
      empty.description
        == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
  }

  /// RFC 4231, section 4. The fifth case is printed cut to 128 bits.
  @Test("HMAC-SHA256 gives RFC 4231's values")
  func hmac() throws {
    let cases: [(key: [UInt8], data: [UInt8], mac: String)] = [
      (
        [UInt8](repeating: 0x0b, count: 20), Array("Hi There".utf8),
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
      ),
      (
        Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
      ),
      (
        [UInt8](repeating: 0xaa, count: 20), [UInt8](repeating: 0xdd, count: 50),
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
      ),
      (
        Array(1...25), [UInt8](repeating: 0xcd, count: 50),
        "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
      ),
      (
        [UInt8](repeating: 0x0c, count: 20), Array("Test With Truncation".utf8), "a3b6167473100ee06e0c796c2955552b"
      ),
      (
        [UInt8](repeating: 0xaa, count: 131), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
      ),
      (
        [UInt8](repeating: 0xaa, count: 131),
        Array(
          ("This is a test using a larger than block-size key and a larger than block-size data. The key needs to be "
            + "hashed before being used by the HMAC algorithm.").utf8),
        "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
      ),
    ]
    for (key, data, expected) in cases {
      let cut = Int.random(in: 0...data.count)
      let first = Array(data[..<cut])
      let second = Array(data[cut...])
      let mac = try PlainHashes.hmacSHA256(key: key.span.bytes, first.span.bytes, second.span.bytes)
      #expect(hexadecimal(copied(mac)).hasPrefix(expected))
    }
  }
}
