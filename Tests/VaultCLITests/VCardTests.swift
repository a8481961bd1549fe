import Sodium
import Testing

@testable import VaultCLI

@Suite("Contacts as vCards")
struct VCardTests {
  static let start = "BEGIN:VCARD\nVERSION:4.0\nFN:x\n"

  private func fault(_ bytes: [UInt8]) -> VCard.Fault? {
    do throws(VCard.Fault) {
      _ = try VCard(bytes.span.bytes)
      return nil
    } catch {
      return error
    }
  }

  private func fault(_ text: String) -> VCard.Fault? { fault(Array(text.utf8)) }

  /// Names and plain values.
  private func values(_ text: String) throws -> [String] {
    let card = try VCard(Array(text.utf8).span.bytes)
    var values: [String] = []
    for property in card.properties {
      let plain = try card.plainValue(of: property)
      values.append(property.name + "=" + plain.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
    }
    return values
  }

  @Test func `properties, groups, parameters, folded lines and what a backslash stands for`() throws {
    let card = """
      begin:vcard\r
      VERSION:3.0\r
      fn:Ann Grey\r
      item1.TEL;TYPE="a:b;c",home:+49 1\r
      N:Grey;Ann;;Dr.;\r
      NOTE:one\\, two\\;\r
       \\nthree\\\\\r
      end:VCARD\r

      """
    #expect(
      try values(card) == [
        "FN=Ann Grey", "TEL=+49 1", "N=Grey, Ann, Dr.", "NOTE=one, two;\nthree\\",
      ])
    let parsed = try VCard(Array(card.utf8).span.bytes)
    let version = parsed.version
    #expect(version == 3)
  }

  @Test func `a byte order mark and lines that end in any usual way`() throws {
    for end in ["\n", "\r\n", "\r"] {
      let text = "\u{FEFF}BEGIN:VCARD\(end)VERSION:4.0\(end)FN:é\(end)END:VCARD"
      #expect(try values(text) == ["FN=é"])
    }
  }

  static let faults: [(String, VCard.Fault)] = [
    ("", .noBegin), ("FN:x\n", .noBegin), ("BEGIN:VCALENDAR\n", .noBegin), (start, .noEnd),
    ("\(start)BEGIN:VCARD\nEND:VCARD\n", .noBegin), ("\(start)END:VCARD\nEND:VCARD\n", .trailing),
    ("\(start)END:VCARD\n\(start)END:VCARD\n", .trailing), ("BEGIN:VCARD\nFN:x\nEND:VCARD\n", .version),
    ("BEGIN:VCARD\nVERSION:2.1\nFN:x\nEND:VCARD\n", .version), ("\(start)VERSION:4.0\nEND:VCARD\n", .version),
    ("BEGIN:VCARD\nVERSION:4.0\nEND:VCARD\n", .noName), ("BEGIN:VCARD\nVERSION:4.0\nFN:\nEND:VCARD\n", .noName),
    ("\(start)no colon\nEND:VCARD\n", .line(4)), ("\(start)TEL\nEND:VCARD\n", .line(4)),
    ("\(start):x\nEND:VCARD\n", .line(4)), ("\(start)g.:x\nEND:VCARD\n", .line(4)),
    ("\(start)TEL;TYPE=\"open:x\nEND:VCARD\n", .line(4)), ("\(start)NOTE:a\u{1B}b\nEND:VCARD\n", .controlCharacter),
    ("\(start)\(String(repeating: "A", count: 65)):x\nEND:VCARD\n", .line(4)),
    ("\(start)\(String(repeating: "X:y\n", count: 500))END:VCARD\n", .tooManyProperties),
  ]

  @Test(arguments: faults)
  func `what is no contact is refused for its reason`(text: String, expected: VCard.Fault) {
    #expect(fault(text) == expected)
  }

  @Test func `bytes that are no text, or too many, are refused`() {
    #expect(fault([0x42, 0xC3]) == .notUTF8)
    #expect(fault([UInt8](repeating: 0x41, count: VCard.byteLimit + 1)) == .tooLarge)
  }

  @Test func `an answer stands in a card as it was typed`() throws {
    var text = try SecretText()
    try text.append("BEGIN:VCARD\nVERSION:4.0\nFN:x\n")
    let answer = try SecretBytes(copying: Array("a\\b, c; d".utf8).span.bytes)
    try ContactQuestions.append("NOTE", answer, to: &text)
    try text.append("END:VCARD\n")
    let card = try text.finish()
    let parsed = try VCard(card.bytes)
    let plain = try parsed.plainValue(of: try #require(parsed.properties.last))
    let isSame = plain.matches(answer)
    #expect(isSame)
  }
}
