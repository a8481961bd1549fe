import QRCode
import ScanPictures
import Testing

@Suite("vault-scan reads")
struct ReadingTests {
  /// As long as the text of a public-key card may be.
  static let card = String(String(repeating: "VAULTPEER1QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", count: 7).prefix(279))
  static let allBytes = [UInt8](0...255)

  @Test("a PNG of a card's text at 49 modules")
  func card() throws {
    let symbol = try QRSymbol(text: Self.card)
    #expect(symbol.side <= 49)
    try expectScan(symbol.png(scale: 8), gives: Array(Self.card.utf8))
  }

  @Test("every byte value unchanged")
  func allByteValues() throws {
    try expectScan(QRSymbol(bytes: Self.allBytes).png(scale: 8), gives: Self.allBytes)
  }

  @Test(
    "bytes that look like other character sets unchanged",
    arguments: [[0xef, 0xbb, 0xbf, 0x41], [0x93, 0xfa, 0x96, 0x7b]])
  func characterSets(bytes: [UInt8]) throws {
    try expectScan(QRSymbol(bytes: bytes).png(scale: 8), gives: bytes)
  }

  @Test("every length and correction level", arguments: QRSymbol.Correction.allCases, [1, 2, 3, 100, 1000])
  func lengths(correction: QRSymbol.Correction, length: Int) throws {
    var random = Random(state: UInt64(length))
    let bytes = (0..<length).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    try expectScan(QRSymbol(bytes: bytes, correction: correction).png(scale: 4), gives: bytes)
  }

  @Test("symbols with three pixels a module")
  func small() throws {
    try expectScan(QRSymbol(text: Self.card).png(scale: 3), gives: Array(Self.card.utf8))
  }

  @Test("JPEG: gray and colour, sequential and progressive", arguments: [false, true], [false, true])
  func jpeg(colour: Bool, progressive: Bool) throws {
    let picture = Picture(try QRSymbol(text: Self.card), scale: 8)
    try expectScan(picture.jpeg(colour: colour, progressive: progressive), gives: Array(Self.card.utf8))
  }

  @Test("black on transparent as black on white")
  func transparent() throws {
    let picture = Picture(try QRSymbol(text: "TRANSPARENT"), scale: 8)
    try expectScan(picture.transparentPNG(), gives: Array("TRANSPARENT".utf8))
  }

  @Test("white on black")
  func inverted() throws {
    let picture = Picture(try QRSymbol(text: Self.card), scale: 8).inverted()
    try expectScan(picture.png(), gives: Array(Self.card.utf8))
  }

  @Test("the screenshot of a terminal, in a dark and in a light theme", arguments: [true, false], [2, 4])
  func screenshot(dark: Bool, quietZone: Int) throws {
    let text = try QRSymbol(text: Self.card).terminal(quietZone: quietZone)
    let picture = try (dark ? Screenshot.dark : .light).picture(of: text)
    try expectScan(picture.png(), gives: Array(Self.card.utf8))
  }

  @Test("two symbols in one picture, each content once")
  func several() throws {
    let symbols = try ["FIRST", "SECOND", "FIRST"].map { Picture(try QRSymbol(text: $0), scale: 6) }
    var page = Picture(width: symbols[0].width * 3, height: symbols[0].height, gray: 255)
    for (number, symbol) in symbols.enumerated() {
      for y in 0..<symbol.height {
        for x in 0..<symbol.width {
          page.pixels[y * page.width + number * symbol.width + x] = symbol.pixels[y * symbol.width + x]
        }
      }
    }
    let scan = try Scan(of: page.png())
    #expect(scan.status == 0)
    #expect(Set(try scan.contents()) == [Array("FIRST".utf8), Array("SECOND".utf8)])
    #expect(scan.output.split(separator: "\n").count == 2)
  }
}

@Suite("vault-scan reads a photograph")
struct PhotographTests {
  @Test("that is tilted, in perspective, a little blurred, noisy and unevenly lit", arguments: [-8.0, -5, 6, 8])
  func hasty(tilt: Double) throws {
    let picture = Photograph(tilt: tilt).picture(of: try QRSymbol(text: ReadingTests.card))
    try expectScan(picture.jpeg(), gives: Array(ReadingTests.card.utf8))
  }

  @Test("with much noise")
  func noisy() throws {
    let picture = Photograph(blur: 1, noise: 28).picture(of: try QRSymbol(text: ReadingTests.card))
    try expectScan(picture.png(), gives: Array(ReadingTests.card.utf8))
  }

  @Test("of more than four megapixels")
  func large() throws {
    let small = Photograph(noise: 25).picture(of: try QRSymbol(text: ReadingTests.card))
    var picture = Picture(width: small.width * 3, height: small.height * 3, gray: 0)
    for y in 0..<picture.height {
      for x in 0..<picture.width {
        picture.pixels[y * picture.width + x] = small.pixels[y / 3 * small.width + x / 3]
      }
    }
    try expectScan(picture.png(), gives: Array(ReadingTests.card.utf8))
  }

  @Test("with a dark corner")
  func dark() throws {
    let picture = Photograph(noise: 4, dimmest: 0.15).picture(of: try QRSymbol(text: ReadingTests.card))
    try expectScan(picture.png(), gives: Array(ReadingTests.card.utf8))
  }
}
