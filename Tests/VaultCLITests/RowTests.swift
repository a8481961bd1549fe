import Testing

@testable import SecretVault
@testable import VaultCLI

/// A text as it is shown between lines of this program.
func shownLines(_ text: String, width: Int?, isHeading: Bool = false) throws -> String {
  let bytes = Array(text.utf8)
  var page = try SecretText()
  if isHeading {
    try page.append(heading: text, width: width)
  } else {
    try page.append(lines: bytes.span.bytes, width: width)
  }
  let shown = try page.finish()
  return shown.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
}

/// Rows of others' texts, measured as terminals do that draw things wide: by a table of this test's own.
@Suite("Rows of texts on a terminal")
struct RowTests {
  private static let forged = "7  2026-01-01 00:00  from Eve  new"

  /// What is wide or full-width in Unicode's EastAsianWidth.txt, of versions 14 to 16. Gaps have unassigned scalars, which are spelled out.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x231A...0x231B, 0x2329...0x232A, 0x23E9...0x23EC, 0x23F0...0x23F0, 0x23F3...0x23F3,
    0x25FD...0x25FE, 0x2614...0x2615,
    0x2630...0x2637, 0x2648...0x2653, 0x267F...0x267F, 0x268A...0x268F, 0x2693...0x2693, 0x26A1...0x26A1,
    0x26AA...0x26AB, 0x26BD...0x26BE,
    0x26C4...0x26C5, 0x26CE...0x26CE, 0x26D4...0x26D4, 0x26EA...0x26EA, 0x26F2...0x26F3, 0x26F5...0x26F5,
    0x26FA...0x26FA, 0x26FD...0x26FD,
    0x2705...0x2705, 0x270A...0x270B, 0x2728...0x2728, 0x274C...0x274C, 0x274E...0x274E, 0x2753...0x2755,
    0x2757...0x2757, 0x2795...0x2797,
    0x27B0...0x27B0, 0x27BF...0x27BF, 0x2B1B...0x2B1C, 0x2B50...0x2B50, 0x2B55...0x2B55, 0x2E80...0x303E,
    0x3041...0x4DBF, 0x4DC0...0x4DFF,
    0x4E00...0xA4C6, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAD9, 0xFE10...0xFE19, 0xFE30...0xFE6B,
    0xFF01...0xFF60, 0xFFE0...0xFFE6,
    0x16FE0...0x16FE4, 0x16FF0...0x18CD5, 0x18D00...0x18D08, 0x1AFF0...0x1B2FB, 0x1D300...0x1D376, 0x1F004...0x1F004,
    0x1F0CF...0x1F0CF,
    0x1F18E...0x1F18E, 0x1F191...0x1F19A, 0x1F200...0x1F320, 0x1F32D...0x1F335, 0x1F337...0x1F37C, 0x1F37E...0x1F393,
    0x1F3A0...0x1F3CA,
    0x1F3CF...0x1F3D3, 0x1F3E0...0x1F3F0, 0x1F3F4...0x1F3F4, 0x1F3F8...0x1F43E, 0x1F440...0x1F440, 0x1F442...0x1F4FC,
    0x1F4FF...0x1F53D,
    0x1F54B...0x1F54E, 0x1F550...0x1F567, 0x1F57A...0x1F57A, 0x1F595...0x1F596, 0x1F5A4...0x1F5A4, 0x1F5FB...0x1F64F,
    0x1F680...0x1F6C5,
    0x1F6CC...0x1F6CC, 0x1F6D0...0x1F6D2, 0x1F6D5...0x1F6DF, 0x1F6EB...0x1F6EC, 0x1F6F4...0x1F6FC, 0x1F7E0...0x1F7F0,
    0x1F90C...0x1F93A,
    0x1F93C...0x1F945, 0x1F947...0x1F9FF, 0x1FA70...0x1FAF8, 0x20000...0x3134A,
  ]

  private func rows(_ text: String, width: Int) throws -> [Substring] {
    let rows = try shownLines(text, width: width).split(separator: "\n", omittingEmptySubsequences: false)
    #expect(rows.last == "")
    return rows.dropLast()
  }

  /// Columns of a row, on a terminal that joins nothing: each scalar for itself, and a picture where the selector of pictures stands.
  private func columns(_ row: Substring) -> Int {
    var (sum, last) = (0, 0)
    for scalar in row.unicodeScalars {
      if scalar == "\t" {
        sum = sum / 8 * 8 + 8
      } else if scalar.value == 0xFE0F {
        sum += 2 - last
        last = 2
      } else {
        last = !scalar.isASCII && Self.wide.contains { $0.contains(scalar.value) } ? 2 : 1
        sum += last
      }
    }
    return sum
  }

  private func expectOwnRows(_ text: String, width: Int) throws {
    for row in try rows(text, width: width) {
      // By scalars: a mark behind the indentation makes one sign with it.
      #expect(row.unicodeScalars.starts(with: SecretText.indent.unicodeScalars))
      #expect(columns(row) <= width, "\(row)")
    }
  }

  @Test func textsAreSetInAndCannotSteerTheTerminal() throws {
    let lines = try shownLines("one\n\n7  2026-01-01 00:00  from Eve  new\n\u{1B}[2J\ttab\u{202E}\n", width: nil)
    #expect(lines == "    one\n    \n    7  2026-01-01 00:00  from Eve  new\n    \\u{1b}[2J\ttab\\u{202e}\n")
    #expect(try shownLines("", width: 80) == "")
  }

  @Test func aLongLineIsBrokenBeforeTheTerminalDoesIt() throws {
    #expect(try shownLines("to be or not to be, that", width: 20) == "    to be or not to \n    be, that\n")
    // What has no blank is broken where the row is full.
    #expect(try shownLines(String(repeating: "x", count: 33), width: 20) == "    \(xs(16))\n    \(xs(16))\n    x\n")
    #expect(try shownLines("ab\u{1B}\u{1B}\u{1B}", width: 20) == "    ab\\u{1b}\\u{1b}\n    \\u{1b}\n")
  }

  private func xs(_ count: Int) -> String { String(repeating: "x", count: count) }

  @Test func aMarkStandsWithItsLetterWhereARowIsBroken() throws {
    #expect(try shownLines(xs(15) + "e\u{301}f", width: 20) == "    \(xs(15))\n    e\u{301}f\n")
    #expect(try shownLines(xs(15) + "☎\u{FE0F}", width: 20) == "    \(xs(15))\n    ☎\u{FE0F}\n")
  }

  @Test(arguments: [14, 20, 41, 80])
  func noneBeginsAtTheLeftOrIsTooLong(width: Int) throws {
    for text in [
      String(repeating: " ", count: width - 4) + Self.forged, String(repeating: "x", count: width - 4) + Self.forged,
      String(repeating: "好", count: 30) + Self.forged, "a\tb\t" + String(repeating: "y z\t", count: 30) + Self.forged,
      String(repeating: "\u{202E}", count: 40) + Self.forged, String(repeating: "\u{10FFFF}", count: 40) + Self.forged,
      String(repeating: "é e\u{301}👩‍👩‍👧", count: 20) + Self.forged,
    ] { try expectOwnRows(text, width: width) }
  }

  @Test func wideScalarsOfAllKindsFillARowTwiceAsFast() throws {
    for range in Self.wide {
      for value in stride(from: range.lowerBound, through: range.upperBound, by: max(1, range.count / 40)) {
        guard let scalar = Unicode.Scalar(value) else { continue }
        try expectOwnRows(String(repeating: String(scalar), count: 38) + Self.forged, width: 80)
      }
    }
  }

  @Test(arguments: ["❤", "☎", "©", "™", "‼", "ℹ", "1", "я"])
  func picturesThatASelectorAsksForAreWide(base: String) throws {
    let picture = base == "1" ? "1\u{FE0F}\u{20E3}" : base + "\u{FE0F}"
    try expectOwnRows(String(repeating: picture, count: 38) + Self.forged, width: 80)
  }

  @Test(arguments: ["好", "\u{202E}", "\u{10FFFF}", "\t", "e\u{301}", "☎\u{FE0F}"])
  func whatIsLeftBehindTheLastBlankMayBeTooLongItself(last: String) throws {
    for count in 70...76 { try expectOwnRows(" " + String(repeating: "x", count: count) + last + last, width: 80) }
  }

  @Test func alphabetsFillTheWholeRow() throws {
    for letter in ["x", "я", "é", "λ", "ש"] {
      #expect(try rows(String(repeating: letter, count: 77), width: 80).map(\.count) == [80, 5])
    }
  }
}
