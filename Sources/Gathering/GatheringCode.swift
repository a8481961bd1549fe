package import Sodium

/// What the opener reads out: a number that says which opening is meant, and two words that only who is asked knows.
///
/// The words are 20 bits. They are on the opener's screen and said aloud, so a plain index makes them; a code is worth
/// nothing once its opening is over, which nobody may guess at more than ``GatheringOpener/wrongCodeLimit`` times.
package struct GatheringCode: ~Copyable {
  /// Numbers go from 1 to this.
  package static let numberLimit: UInt16 = 99
  /// Bytes of chance that make a code.
  static let chanceByteCount = 6
  /// Most bytes of a text that is read.
  static let textLimit = 64

  /// Which opening is meant. No secret.
  package let number: UInt16
  /// The password of CPace: both words in full, lower case, each with zeros behind it to eight bytes. Its length says
  /// nothing about them.
  let password: SecretBytes

  /// Makes a code of six random bytes.
  init(chance: borrowing SecretBytes) throws(SodiumError) {
    guard chance.count == Self.chanceByteCount else {
      throw .invalidLength(expected: Self.chanceByteCount, actual: chance.count)
    }
    let drawn = chance.withUnsafeBytes { bytes in
      (0..<3).map { UInt16(bytes[2 * $0]) << 8 | UInt16(bytes[2 * $0 + 1]) }
    }
    // Nothing of a value that can't be copied may be there when something throws.
    let password = try Self.password(GatheringWords.word(Int(drawn[1])), GatheringWords.word(Int(drawn[2])))
    self.init(number: drawn[0] % Self.numberLimit + 1, password: password)
  }

  /// Reads a code as people type it: upper or lower case, spaces or hyphens, words in full or as far as no other of the
  /// list begins so (three letters at least).
  ///
  /// The text isn't looked up by its letters but compared with every word, see ``GatheringWords``.
  package init(reading text: String) throws(GatheringCodeError) {
    let bytes = Array(text.utf8.prefix(Self.textLimit + 1))
    guard bytes.count <= Self.textLimit else { throw .notACode }
    let parts = bytes.split { $0 == 0x20 || $0 == 0x2d }
    guard parts.count == 3, (1...2).contains(parts[0].count),
      parts[0].allSatisfy({ (0x30...0x39).contains($0) }),
      parts[1...].allSatisfy({ $0.allSatisfy { (0x61...0x7a).contains($0 | 0x20) } })
    else { throw .notACode }
    let number: UInt16 = parts[0].reduce(0) { $0 * 10 + UInt16($1 - 0x30) }
    guard (1...Self.numberLimit).contains(number) else { throw .notACode }
    let words = try [GatheringWords.find(parts[1].map { $0 | 0x20 }), GatheringWords.find(parts[2].map { $0 | 0x20 })]
    let password: SecretBytes
    do throws(SodiumError) { password = try Self.password(words[0], words[1]) } catch { throw .sodium(error) }
    self.init(number: number, password: password)
  }

  private init(number: UInt16, password: consuming SecretBytes) {
    self.number = number
    self.password = password
  }

  private static func password(_ first: UInt64, _ second: UInt64) throws(SodiumError) -> SecretBytes {
    var password = try SecretBytes(zeros: 16)
    password.withUnsafeMutableBytes { bytes in
      bytes.storeBytes(of: first.bigEndian, as: UInt64.self)
      bytes.storeBytes(of: second.bigEndian, toByteOffset: 8, as: UInt64.self)
    }
    return password
  }

  /// The code for the screen of its opener, such as `7-maple-harbor`.
  package var text: String {
    let words = password.withUnsafeBytes { bytes in
      [0, 8].map { GatheringWords.letters(UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: $0, as: UInt64.self))) }
    }
    return "\(number)-\(words[0])-\(words[1])"
  }
}

/// Why a text is no code.
package enum GatheringCodeError: Error, Hashable, Sendable {
  /// It isn't a number from 1 to 99 and two words of letters.
  case notACode
  /// A word is none of the list.
  case unknownWord
  /// More than one word of the list begins so.
  case severalWords
  /// The library or the memory failed.
  case sodium(SodiumError)
}

/// What everybody reads aloud and compares: three words of 1,024, 30 bits of the hash of all that was committed to.
package struct GroupCheck: Hashable, Sendable, CustomStringConvertible {
  static let wordCount = 3

  package let words: [String]

  /// The first 30 bits of BLAKE2b-256("vault/gathering-check/v1", transcript).
  init(transcript: Digest) throws(SodiumError) {
    var hash = try DomainHash("vault/gathering-check/v1")
    hash.append(transcript)
    let bits = hash.digest().bytes.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) } >> 2
    words = (0..<Self.wordCount).map { place in
      let shift = UInt32(GatheringWords.bitCount * (Self.wordCount - 1 - place))
      return GatheringWords.letters(GatheringWords.word(Int(bits >> shift) & (GatheringWords.count - 1)))
    }
  }

  package var description: String { words.joined(separator: " ") }
}
