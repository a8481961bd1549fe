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
    ("\0", "\\u{0}"),
  ])
  func spellsOutWhatIsInvisibleOrActive(text: String, shown: String) {
    #expect(Printable.escape(text) == shown)
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
