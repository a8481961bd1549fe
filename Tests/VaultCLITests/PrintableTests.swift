import Testing

@testable import VaultCLI

@Suite("Text from peers on a terminal")
struct PrintableTests {
  @Test func leavesOrdinaryTextOfAnyScriptAlone() {
    for text in ["Alice", "Zoë", "李小龍", "שלום", "नमस्ते", "👩‍👩‍👧", "a\\b", ""] {
      #expect(Printable.escape(text) == text)
    }
  }

  @Test(arguments: [
    ("\u{1B}[2J", "\\u{1b}[2J"), ("a\nb", "a\\nb"), ("a\r\tb", "a\\r\\tb"), ("\u{7F}", "\\u{7f}"),
    ("\u{9B}31m", "\\u{9b}31m"), ("\u{202E}gpj.exe", "\\u{202e}gpj.exe"), ("\u{2066}x\u{2069}", "\\u{2066}x\\u{2069}"),
    ("\u{200B}", "\\u{200b}"), ("\u{2028}", "\\u{2028}"), ("\u{FEFF}", "\\u{feff}"), ("\u{E0041}", "\\u{e0041}"),
    ("\0", "\\u{0}"), ("family\u{200D}", "family\\u{200d}"), ("\u{200C}family", "\\u{200c}family"),
    ("fam\u{200D}ily", "fam\\u{200d}ily"), ("é\u{200D}", "é\\u{200d}"), ("é\u{200D}a", "é\\u{200d}a"),
    ("é\u{200D}\u{200D}é", "é\\u{200d}\\u{200d}é"), ("é\u{200D}\u{202E}", "é\\u{200d}\\u{202e}"),
    ("family\u{FE0F}", "family\\u{fe0f}"), ("family\u{3164}", "family\\u{3164}"), ("a\u{34F}b", "a\\u{34f}b"),
    ("a\u{FE0F}\u{200D}é", "a\\u{fe0f}\\u{200d}é"),
  ])
  func spellsOutWhatIsInvisibleOrActive(text: String, shown: String) {
    #expect(Printable.escape(text) == shown)
  }

  @Test(arguments: ["می\u{200C}خواهم", "ක්\u{200D}ෂ", "❤\u{FE0F}\u{200D}🔥", "1\u{FE0F}\u{20E3}", "☎\u{FE0F}"])
  func leavesJoinersWithinWordsAndEmojiAlone(text: String) {
    #expect(Printable.escape(text) == text)
    #expect(
      Printable.escape(Printable.escape(text + "\u{200D}" + text, limit: 3))
        == Printable.escape(text + "\u{200D}" + text, limit: 3))
  }

  @Test func nothingThatItReturnsCanSteerATerminal() {
    for value in UInt32(0)...0x2FFF {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let shown = Printable.escape(String(Character(scalar)))
      #expect(shown.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) })
      #expect(
        !shown.unicodeScalars.contains { (0x202A...0x202E).contains($0.value) || (0x2066...0x2069).contains($0.value) })
    }
  }

  @Test func cutsWhatIsTooLong() {
    #expect(Printable.escape("abcdef", limit: 3) == "abc…")
    #expect(Printable.escape("abc", limit: 3) == "abc")
  }

  @Test func keepsThisProgramsOwnLineBreaks() {
    #expect(Printable.escape("a\u{1B}\nb") == "a\\u{1b}\\nb")
  }

  @Test(arguments: [("abc", 3), ("李", 2), ("e\u{301}", 1), ("🔒", 2), ("👩‍👩‍👧", 2), ("", 0)])
  func measuresColumns(text: String, columns: Int) {
    #expect(Printable.columns(text) == columns)
  }
}
