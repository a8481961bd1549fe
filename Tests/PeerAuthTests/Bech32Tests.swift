import PeerAuth
import Testing

/// Vectors of BIP 173 (https://github.com/bitcoin/bips/blob/master/bip-0173.mediawiki, 2-clause BSD) and of age's
/// specification (https://c2sp.org/age, CC BY 4.0).
struct Bech32Tests {
  @Test(
    arguments: [
      ("a", "A12UEL5L", []),
      (
        "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio",
        "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs", []
      ),
      (
        "abcdef", "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw",
        [
          0x00, 0x44, 0x32, 0x14, 0xc7, 0x42, 0x54, 0xb6, 0x35, 0xcf, 0x84, 0x65, 0x3a, 0x56, 0xd7, 0xc6, 0x75, 0xbe,
          0x77, 0xdf,
        ]
      ),
      ("?", "?1ezyfcl", []),
      ("age-secret-key-", "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX", many(0x42, 32)),
    ] as [(String, String, [UInt8])])
  func `a right text has its bytes, and they have that text`(_ prefix: String, _ text: String, _ bytes: [UInt8]) throws
  {
    #expect(try Bech32.decode(prefix: prefix, Array(text.utf8)) == bytes)
    #expect(Bech32.encode(prefix: prefix, bytes) == text.lowercased())
  }

  @Test(arguments: [
    ("a", "A1G7SGD8"), ("li", "li1dgmt3"), ("de", "de1lg7wt\u{ff}"),
    ("x", "x1b4n0q5v"), ("pzry", "pzry9x0s0muk"), ("a", "a12UEL5L"), ("a", "a12uel5m"),
    // Right by the checksum of bech32m.
    ("a", "a1lqfn3a"),
  ])
  func `a wrong text is refused`(_ prefix: String, _ text: String) {
    #expect(throws: CardError.self) { try Bech32.decode(prefix: prefix, Array(text.utf8)) }
  }
}

private func many(_ byte: UInt8, _ count: Int) -> [UInt8] { [UInt8](repeating: byte, count: count) }
