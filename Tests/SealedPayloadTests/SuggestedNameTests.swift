import SealedPayload
import Testing

@Suite("A recovered file name is only a suggestion")
struct SuggestedNameTests {
  private func sanitised(_ bytes: [UInt8]) -> String { SuggestedName.sanitised(bytes.span.bytes) }
  private func sanitised(_ text: String) -> String { sanitised(Array(text.utf8)) }

  @Test(
    "ordinary names stay as they are", arguments: ["note.txt", "Übung 3.pdf", "a", "日本語.txt", "👩.png", "x..y", "-x"])
  func unchanged(name: String) { #expect(sanitised(name) == name) }

  @Test(
    "of a path only the last component is left",
    arguments: [
      ("/etc/passwd", "passwd"), ("../../.ssh/authorized_keys", "authorized_keys"), ("a/b/", "b"), ("a//b", "b"),
      ("C:\\Windows\\x.exe", "x.exe"), ("a\\..\\b/c", "c"), ("a/.", "recovered"), ("a/..", "recovered"),
      ("/\u{301}x/y/\u{301}z", "\u{301}z"),
    ])
  func paths(name: String, expected: String) { #expect(sanitised(name) == expected) }

  @Test(
    "there is no leading dot and no blank at either end",
    arguments: [
      (".bashrc", "bashrc"), ("...x", "x"), (". .x", "x"), ("  x  ", "x"), ("\u{a0}.x\u{3000}", "x"),
      (".\u{301}x", "\u{301}x"), ("\u{200b}.x", "x"), (".\u{200b}.x", "x"),
    ])
  func leadingDots(name: String, expected: String) { #expect(sanitised(name) == expected) }

  @Test("control, bidi and invisible characters are gone")
  func invisible() {
    for scalar in [
      "\u{0}", "\u{7}", "\u{1b}", "\n", "\r", "\t", "\u{7f}", "\u{85}", "\u{ad}", "\u{34f}", "\u{61c}", "\u{115f}",
      "\u{180e}", "\u{200b}", "\u{200d}", "\u{200e}", "\u{200f}", "\u{2028}", "\u{2029}", "\u{202a}", "\u{202e}",
      "\u{2060}", "\u{2066}", "\u{2069}", "\u{3164}", "\u{e000}", "\u{feff}", "\u{fe0f}", "\u{fff9}", "\u{e0041}",
      "\u{ffff}",
    ] {
      #expect(sanitised("a\(scalar)b.txt") == "ab.txt")
      #expect(sanitised(scalar) == "recovered")
    }
  }

  @Test(
    "nothing usable gives a name all the same", arguments: ["", ".", "..", "/", "///", " ", "\\", "\u{202e}", ". . ."])
  func empty(name: String) { #expect(sanitised(name) == "recovered") }

  @Test("a name that a file can have stays whole, and a longer one is cut between characters at 255 bytes")
  func long() {
    #expect(sanitised(String(repeating: "a", count: 255)).utf8.count == 255)
    #expect(sanitised(String(repeating: "a", count: 256)).utf8.count == 255)
    #expect(sanitised(String(repeating: "ä", count: 300)) == String(repeating: "ä", count: 127))
    #expect(sanitised("x" + String(repeating: "ä", count: 300)) == "x" + String(repeating: "ä", count: 127))
    let family = "e\u{301}\u{302}"
    #expect(sanitised(String(repeating: family, count: 100)) == String(repeating: family, count: 51))
    let piled = "e" + String(repeating: "\u{301}", count: 500)
    #expect(sanitised(piled) == "e" + String(repeating: "\u{301}", count: 127))
    #expect(sanitised(String(repeating: "a", count: 254) + " b") == String(repeating: "a", count: 254))
  }

  @Test(
    "what is changed in a name can be told",
    arguments: [
      (".env", ".env"), ("../x", "../x"), ("a\u{200b}b", "a\u{200b}b"), (" x", " x"),
      (String(repeating: "a", count: 256), String(repeating: "a", count: 256)), ("note.txt", nil), ("", nil),
      (String(repeating: "a", count: 255), nil),
    ] as [(String, String?)])
  func told(name: String, original: String?) {
    #expect(SuggestedName.original(Array(name.utf8).span.bytes) == original)
  }

  @Test("bytes that aren't UTF-8 are a change, too")
  func toldBytes() {
    let bytes: [UInt8] = [0x61, 0xff]
    #expect(SuggestedName.original(bytes.span.bytes) == "a\u{fffd}")
  }

  @Test(
    "a name that is only shown keeps its dots",
    arguments: [
      (".env", ".env"), ("a/.b", ".b"), (" .x", ".x"), (".", "recovered"), ("..", "recovered"), ("x/..", "recovered"),
    ])
  func shown(name: String, expected: String) {
    #expect(SuggestedName.sanitised(Array(name.utf8).span.bytes, hides: true) == expected)
  }

  @Test("bytes that aren't UTF-8 become a replacement character")
  func invalidUTF8() {
    #expect(sanitised([0x61, 0xff, 0x62]) == "a\u{fffd}b")
    #expect(sanitised([0xc0, 0xae, 0xc0, 0xae, 0x2f, 0x78]) == "x")
    #expect(sanitised([0xed, 0xa0, 0x80]).unicodeScalars.allSatisfy { $0 == "\u{fffd}" })
  }

  @Test("any bytes give a safe name, and a safe name stays as it is")
  func randomNames() {
    let alphabet: [[UInt8]] =
      [".", "/", "\\", " ", "a", "ä", "\u{202e}", "\u{301}", "\n", "日"].map { Array($0.utf8) } + [[0xff], [0x80], [0]]
    for _ in 0..<1000 {
      let bytes = (0..<Int.random(in: 0...120)).flatMap { _ in alphabet.randomElement() ?? [] }
      let name = sanitised(bytes)
      let scalars = name.unicodeScalars
      #expect(!name.isEmpty && name.utf8.count <= 255 && scalars.first != ".")
      #expect(!scalars.contains { "/\\\u{202e}\n\0".unicodeScalars.contains($0) })
      #expect(sanitised(name) == name)
    }
  }
}
