import SealedPayload
import SecretVault
import Sodium
import Testing

@testable import VaultCLI

@Suite("Kinds of secret")
struct KindsTests {
  private func text(_ secret: borrowing SecretBytes) -> String {
    secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  private func secret(_ text: String) throws -> SecretBytes { try SecretBytes(copying: Array(text.utf8).span.bytes) }

  @Test(arguments: ["full", "alphanumeric", "clear", "letters", "digits", "hex"])
  func `generated passwords have their length and their alphabet, all of it`(alphabet: String) throws {
    let generator = try PasswordGenerator(length: 1024, alphabet: alphabet, characters: nil)
    var seen: [UInt8: Int] = [:]
    for _ in 0..<20 {
      let password = try generator.make()
      #expect(password.count == 1024)
      password.withUnsafeBytes { for byte in $0 { seen[byte, default: 0] += 1 } }
    }
    #expect(Set(seen.keys) == Set(generator.characters))
    // 20480 draws: each character comes as often as any other, within eight standard deviations.
    let expected = 20480 / Double(generator.characters.count)
    #expect(seen.values.allSatisfy { abs(Double($0) - expected) < 8 * expected.squareRoot() })
  }

  @Test func `an alphabet of one's own, and what makes no sense`() throws {
    let own = try PasswordGenerator(length: 4, alphabet: nil, characters: "ab")
    #expect(own.bits == 4)
    for (length, characters) in [(3, "ab"), (1025, "ab"), (10, "a"), (10, "aa"), (10, "aé"), (10, "a\n")] {
      #expect(throws: VaultError.self) { try PasswordGenerator(length: length, alphabet: nil, characters: characters) }
    }
    #expect(throws: VaultError.self) { try PasswordGenerator(length: nil, alphabet: "klingon", characters: nil) }
  }

  @Test func `text is spelled out for terminals and for JSON in secret memory as elsewhere`() throws {
    let samples = [
      "plain", "a\u{1B}[2J", "\u{202E}rtl", "quote\" back\\slash", "tab\tline\nend", "é😀\u{200D}", "\u{1F}",
      "family\u{200D}", "👩\u{200D}👧", "\u{200C}\u{200C}", "é\u{200D}\"", "❤\u{FE0F}", "a\u{FE0F}\u{3164}",
    ]
    for sample in samples {
      var json = try SecretText(capacity: 1)
      try json.append(json: Array(sample.utf8).span.bytes)
      let written = try json.finish()
      #expect(text(written) == JSONValue.string(sample).text)
      // Elsewhere line breaks have shorter names.
      guard !sample.contains(where: \.isNewline) else { continue }
      var plain = try SecretText(capacity: 1)
      try plain.append(printable: Array(sample.utf8).span.bytes)
      let spelled = try plain.finish()
      #expect(text(spelled) == Printable.escape(sample))
    }
    var shown = try SecretText()
    try shown.append(printable: Array("a\u{1B}b\n\tc\u{202E}".utf8).span.bytes, keepsLines: true)
    let lines = try shown.finish()
    #expect(text(lines) == "a\\u{1b}b\n\tc\\u{202e}")
    var joined = try SecretText()
    try joined.append(printable: Array("pass\u{200D}\nword\u{200C}".utf8).span.bytes, keepsLines: true)
    let joiners = try joined.finish()
    #expect(text(joiners) == "pass\\u{200d}\nword\\u{200c}")
    var broken = try SecretText()
    try broken.append(printable: ([0x61, 0xFF] as [UInt8]).span.bytes)
    let replaced = try broken.finish()
    #expect(text(replaced) == "a\u{FFFD}")
  }

  @Test func `a field that a dealer has added is listed behind the usual ones, and never in their place`() throws {
    var header = try PayloadHeader(kind: .note, mediaType: "text/plain")
    try header.add(field: "aaa", value: Array("first".utf8).span.bytes)
    try header.add(field: "text", value: Array("not the text".utf8).span.bytes)
    try header.add(field: "title", value: Array("t".utf8).span.bytes)
    let view = try ContentView(header: header, body: secret("the text"))
    let names = view.fields.map(\.name)
    #expect(names == ["title", "text", "aaa"])
    let value = try view.value(of: "text")
    #expect(text(value) == "the text")
  }

  @Test func `a contact that is no vCard is its dealer's fault`() throws {
    let header = try PayloadHeader(kind: .contact, mediaType: "text/vcard")
    let error = #expect(throws: VaultError.self) {
      let body = try secret("nothing")
      _ = try ContentView(header: header.duplicate(), body: body)
    }
    #expect(error?.code == .damaged)
  }

  @Test func `names of files come from titles, without what a file system would obey`() throws {
    let note = try NewContent.note(secret("x"), title: "../etc/pass\u{7}wd")
    let name = note.header.fileName.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    #expect(name == "passwd.txt")
  }

  @Test func `a password's cost is told for both usual values and the chosen one`() {
    let sentence = PasswordCost.sentence(logarithm: 18, smallest: 80)
    #expect(sentence.contains("about 0.64 s and 256 MiB") && sentence.contains("0.08 s with --password-cost 15"))
    #expect(sentence.contains("0.16 s with --password-cost 16 (N = 65536)"))
    #expect(!PasswordCost.sentence(logarithm: 16, smallest: 80).contains("--password-cost 16"))
  }

  @Test func `how much memory is left is read from what the system says`() {
    #expect(MemoryRoom.availableInSystem("MemTotal: 9 kB\nMemAvailable:    2048 kB\n") == 2 << 20)
    #expect(MemoryRoom.availableInSystem("MemAvailable: 18446744073709551615 kB\n") == nil)
    #expect(MemoryRoom.availableInSystem("MemAvailable: x kB\n") == nil)
    #expect(MemoryRoom.limitOfGroup(limit: "max\n", used: "5\n") == nil)
    #expect(MemoryRoom.limitOfGroup(limit: "100\n", used: "40\n") == 60)
    #expect(MemoryRoom.limitOfGroup(limit: "100\n", used: "400\n") == 0)
  }

  @Test func `a note of the clipboard has one form`() throws {
    let salt = [UInt8](repeating: 7, count: 32)
    let record = ClipboardRecord(tool: .xclip, salt: salt, tag: salt)
    #expect(ClipboardRecord(record.bytes) == record)
    let terminal = ClipboardRecord(tool: nil, salt: salt, tag: salt)
    #expect(ClipboardRecord(terminal.bytes) == terminal && terminal != record)
    let text = String(decoding: record.bytes, as: UTF8.self)
    for broken in [
      "", text + "\n", text.replacing("xclip", with: "rm"), text.replacing("0707", with: "07"), text.uppercased(),
      text.replacing("clipboard 1", with: "clipboard 2"), text + String(repeating: "x", count: 600),
    ] { #expect(ClipboardRecord(Array(broken.utf8)) == nil) }
  }

  @Test(arguments: ["", "a", "ab", "abc", "M\u{FF}\u{3FF}??>>"])
  func `a terminal's clipboard is written in base64`(sample: String) throws {
    let sequence = try TerminalClipboard.sequence(secret(sample))
    let written = text(sequence)
    let inner = written.dropFirst("\u{1B}]52;c;".count).dropLast()
    #expect(written.hasPrefix("\u{1B}]52;c;") && written.hasSuffix("\u{7}"))
    #expect(Base64Text.decodePublic(String(inner), limit: sample.utf8.count) == Array(sample.utf8))
  }

  @Test func `vim is told to keep nothing, others get no options`() {
    #expect(Editor.options(for: "/bin/cat").isEmpty && Editor.options(for: "code --wait").isEmpty)
    #expect(Editor.options(for: "/nowhere/vim").isEmpty)
  }
}
