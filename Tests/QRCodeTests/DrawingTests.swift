import Foundation
import FoundationXML
import Testing

@testable import QRCode

@Suite("A symbol drawn for a terminal")
struct TerminalDrawingTests {
  @Test("sets its colours at the start of every line and resets them at the end")
  func colours() throws {
    let lines = try QRSymbol(text: "HELLO").terminal().split(separator: "\n")
    for line in lines {
      #expect(line.hasPrefix("\u{1b}[0;38;5;16;48;5;231m"))
      #expect(line.hasSuffix("\u{1b}[0m"))
    }
  }

  @Test("has the quiet zone asked for, but never less than two modules", arguments: [(0, 2), (2, 2), (4, 4)])
  func quietZone(asked: Int, drawn: Int) throws {
    let symbol = try QRSymbol(text: "HELLO")
    let lines = try visible(symbol.terminal(quietZone: asked))
    let columns = symbol.side + 2 * drawn
    #expect(lines.count == (columns + 1) / 2)
    #expect(lines.allSatisfy { $0.count == columns })
    #expect(lines.prefix(drawn / 2).allSatisfy { $0.allSatisfy { $0 == " " } })
    #expect(lines.allSatisfy { $0.prefix(drawn).allSatisfy { $0 == " " } && $0.suffix(drawn).allSatisfy { $0 == " " } })
  }

  @Test("of 49 modules takes 53 columns and 27 lines")
  func cardOnScreen() throws {
    let lines = try visible(QRSymbol(text: String(repeating: "A", count: 279)).terminal())
    #expect(lines.count == 27)
    #expect(lines.allSatisfy { $0.count == 53 })
  }

  /// The characters of each line without its escape codes.
  private func visible(_ text: String) throws -> [Substring] {
    text.split(separator: "\n").map { $0.drop { $0 != "m" }.dropFirst().prefix { $0 != "\u{1b}" } }
  }
}

@Suite("A symbol drawn as PNG")
struct PNGDrawingTests {
  @Test("says its size and 1-bit gray in its header")
  func header() throws {
    let png = try QRSymbol(text: "HELLO").png(scale: 3, quietZone: 4)
    let side = UInt8((21 + 8) * 3)
    #expect(png.starts(with: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))
    #expect(png[16..<26] == [0, 0, 0, side, 0, 0, 0, side, 1, 0])
    #expect(png.suffix(8) == [0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82])
  }

  @Test(
    "of a size that makes no sense is refused",
    arguments: [(0, 4), (-1, 4), (1, -1), (Int.max, 0), (1, Int.max), (8192, 0), (1, 8192), (391, 0)])
  func sizes(scale: Int, quietZone: Int) throws {
    let symbol = try QRSymbol(text: "HELLO")
    #expect(throws: QRCodeError.imageSize) { try symbol.png(scale: scale, quietZone: quietZone) }
  }
}

@Suite("A symbol drawn as SVG")
struct SVGDrawingTests {
  @Test("is well-formed XML whose path covers exactly the dark modules")
  func path() throws {
    let symbol = try QRSymbol(bytes: Array(0...255))
    let document = Elements()
    let parser = XMLParser(data: .init(symbol.svg().utf8))
    parser.delegate = document
    #expect(parser.parse())
    #expect(document.names == ["svg", "rect", "path"])
    #expect(document.attributes["svg"]?["viewBox"] == "0 0 \(symbol.side + 8) \(symbol.side + 8)")

    #expect(document.attributes["svg"]?["width"] == "\(8 * (symbol.side + 8))")
    #expect(document.attributes["svg"]?["height"] == "\(8 * (symbol.side + 8))")
    var dark = Set<[Int]>()
    let path = try #require(document.attributes["path"]?["d"])
    for run in path.split(separator: "z") {
      let match = try #require(run.wholeMatch(of: /M(\d+) (\d+)h(\d+)v1h-(\d+)/))
      let (x, y, length) = (try number(match.1), try number(match.2), try number(match.3))
      #expect(match.3 == match.4)
      for column in x..<(x + length) { #expect(dark.insert([column - 4, y - 4]).inserted) }
    }
    let expected = (0..<symbol.side).flatMap { y in
      (0..<symbol.side).filter { symbol[$0, y] }.map { [$0, y] }
    }
    #expect(dark == Set(expected))
  }

  private func number(_ text: Substring) throws -> Int { try #require(Int(text)) }

  private final class Elements: NSObject, XMLParserDelegate {
    var names: [String] = []
    var attributes: [String: [String: String]] = [:]

    func parser(
      _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
      attributes: [String: String]
    ) {
      names.append(name)
      self.attributes[name] = attributes
    }
  }
}
