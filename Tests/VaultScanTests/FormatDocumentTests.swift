import Foundation
import QRCode
import Testing

@Suite("docs/formats/qr.md")
struct FormatDocumentTests {
  @Test("shows the modules, the terminal form and the protocol line of its example as they are")
  func example() throws {
    let symbol = try QRSymbol(text: "VAULT")
    let rows = (0..<symbol.side).map { y in (0..<symbol.side).map { symbol[$0, y] ? "1" : "0" }.joined() }
    #expect(try document().contains(block(rows.joined(separator: "\n"))))

    let terminal = symbol.terminal().replacing("\u{1b}", with: "\\e")
    #expect(try document().contains(block(String(terminal.dropLast()))))

    let scan = try Scan(of: symbol.png(scale: 4))
    #expect(try document().contains(block(String(scan.output.dropLast()))))
  }

  private func block(_ text: String) -> String { "```\n\(text)\n```" }

  private func document() throws -> String {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
    return try String(contentsOf: root.appendingPathComponent("docs/formats/qr.md"), encoding: .utf8)
  }
}
