import Glibc
import SecretVault
import Sodium

/// What a passphrase is worth to somebody who guesses it, at most: by how long it is without what is easily foreseen of it, and
/// by the kinds of characters in it. It is advice. Whoever knows more of its user guesses better.
///
/// No branch and no index depends on the passphrase until the numbers are known that the user is told.
struct PassphraseStrength: Hashable, Sendable {
  /// Bits that are worth a warning. At 2^17 for scrypt's N, one try takes some tenths of a second and 128 MiB.
  static let enough = 50

  /// Characters that nothing before them tells.
  let unforeseen: Int
  /// As many different characters as there are of the kinds that occur.
  let alphabet: Int

  var bits: Int { alphabet > 1 ? Int(Double(unforeseen) * log2(Double(alphabet))) : 0 }

  /// Warns of a weak one.
  static func advise(_ passphrase: borrowing SecretBytes, label: String, _ console: Console) throws {
    let strength = try PassphraseStrength(passphrase, label: label)
    guard strength.bits < enough else { return }
    console.warning(
      "this passphrase is weak: \(strength.bits) bits at most, by its length and what is foreseen of it; "
        + "whoever has a copy of this disk may guess it. Four or five words that have nothing to do with one another are better"
    )
  }

  init(unforeseen: Int, alphabet: Int) {
    self.unforeseen = unforeseen
    self.alphabet = alphabet
  }

  init(_ passphrase: borrowing SecretBytes, label: String) throws {
    let count = passphrase.count
    var marks = try SecretText.memory(count)
    var words = Self.words
    let label = Self.folded(label)
    if label.count >= Self.shortestWord { words.append(label) }
    var kinds: (lower: UInt8, upper: UInt8, digit: UInt8, other: UInt8) = (0, 0, 0, 0)
    var foreseen = 0
    passphrase.withUnsafeBytes { text in
      marks.withUnsafeMutableBytes { marks in
        for position in 0..<count {
          let byte = text[position]
          let lower = Self.isBelow(byte &- UInt8(ascii: "a"), 26)
          let upper = Self.isBelow(byte &- UInt8(ascii: "A"), 26)
          let digit = Self.isBelow(byte &- UInt8(ascii: "0"), 10)
          kinds.lower |= lower
          kinds.upper |= upper
          kinds.digit |= digit
          kinds.other |= 1 ^ (lower | upper | digit)
        }
        Self.markRuns(text, marks)
        for period in 1...Self.longestPeriod { Self.markRepeats(text, marks, period) }
        for word in words { Self.mark(word, text, marks) }
        for mark in marks { foreseen += Int(mark) }
      }
    }
    unforeseen = count - foreseen
    alphabet = Int(kinds.lower) * 26 + Int(kinds.upper) * 26 + Int(kinds.digit) * 10 + Int(kinds.other) * 33
  }

  /// Bytes after which what repeats itself is noticed.
  private static let longestPeriod = 24
  private static let shortestWord = 3

  // MARK: - Marks

  /// The third byte on of what goes up, goes down or stays by one step, such as `abc`, `321` or `111`.
  private static func markRuns(_ text: UnsafeRawBufferPointer, _ marks: UnsafeMutableRawBufferPointer) {
    guard text.count > 2 else { return }
    for position in 2..<text.count {
      let step = text[position] &- text[position - 1]
      let earlier = text[position - 1] &- text[position - 2]
      marks[position] |= isBelow(step &+ 1, 3) & isEqual(step, earlier)
    }
  }

  /// Three bytes or more that were there so many bytes before.
  private static func markRepeats(
    _ text: UnsafeRawBufferPointer, _ marks: UnsafeMutableRawBufferPointer, _ period: Int
  ) {
    guard text.count >= period + 3 else { return }
    for position in period + 2..<text.count {
      var isRepeated: UInt8 = 1
      for back in 0..<3 { isRepeated &= isEqual(text[position - back], text[position - back - period]) }
      for back in 0..<3 { marks[position - back] |= isRepeated }
    }
  }

  /// All but the first byte of a word, whatever the case.
  private static func mark(
    _ word: [UInt8], _ text: UnsafeRawBufferPointer, _ marks: UnsafeMutableRawBufferPointer
  ) {
    guard word.count <= text.count else { return }
    for start in 0...text.count - word.count {
      var isThere: UInt8 = 1
      for index in word.indices { isThere &= isEqual(text[start + index] | 0x20, word[index]) }
      for index in word.indices.dropFirst() { marks[start + index] |= isThere }
    }
  }

  /// 1 or 0.
  private static func isBelow(_ byte: UInt8, _ limit: UInt8) -> UInt8 {
    UInt8(truncatingIfNeeded: (UInt16(byte) &- UInt16(limit)) >> 15)
  }

  private static func isEqual(_ one: UInt8, _ other: UInt8) -> UInt8 { isBelow(one ^ other, 1) }

  // MARK: - Words

  private static func folded(_ word: String) -> [UInt8] { word.utf8.map { $0 | 0x20 } }

  /// What very many have chosen, in whole or as a part, and rows of keyboards piece by piece.
  private static let words: [[UInt8]] =
    """
    password passwort passwd passphrase secret geheim login welcome willkommen admin administrator master letmein hallo hello
    test guest user root vault default changeme qwertz qwerty azerty qwer wert erty rtzu tzui tyui zuio uiop asdf sdfg dfgh
    fghj ghjk hjkl yxcv xcvb cvbn vbnm zxcv qaz wsx edc rfv 1q2w 2w3e 3e4r 4r5t 5t6z 5t6y iloveyou love ichliebedich schatz
    princess dragon monkey football fussball baseball sunshine summer sommer winter spring autumn monday freitag batman
    superman pokemon starwars michael thomas daniel andreas jessica jennifer charlie shadow killer freedom trustno computer
    internet google facebook linux ubuntu debian 2019 2020 2021 2022 2023 2024 2025 2026 1990 2000 correcthorsebattery
    """.split(whereSeparator: \.isWhitespace).map { folded(String($0)) }
}
