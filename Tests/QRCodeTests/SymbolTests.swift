import Testing

@testable import QRCode

@Suite("A symbol")
struct SymbolTests {
  @Test("for 279 upper-case characters has 49 modules a side, and one more character makes it larger")
  func cardFits() throws {
    let card = String(repeating: "VAULTPEER1QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", count: 7).prefix(279)
    #expect(try QRSymbol(text: String(card)).side == 49)
    #expect(try QRSymbol(text: card + "Q").side == 53)
  }

  @Test("takes more room when a single character is lower case, because then all are bytes")
  func lowerCaseIsBytes() throws {
    let upper = String(repeating: "A", count: 25)
    #expect(try QRSymbol(text: upper).side == 21)
    #expect(try QRSymbol(text: upper.dropLast() + "a").side == 25)
  }

  @Test("packs all 45 characters of alphanumeric mode, and no others", arguments: UInt8(0)...127)
  func alphanumericSet(character: UInt8) throws {
    let set = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:".utf8
    // 25 characters fit version 1 in alphanumeric mode; in byte mode only 17 do.
    let text = String(decoding: [UInt8](repeating: character, count: 25), as: UTF8.self)
    #expect(try QRSymbol(text: text).side == (set.contains(character) ? 21 : 25))
  }

  @Test("has a finder pattern in three corners")
  func finderPatterns() throws {
    let symbol = try QRSymbol(text: "HELLO")
    let far = symbol.side - 7
    for (left, top) in [(0, 0), (far, 0), (0, far)] {
      for y in 0..<7 {
        for x in 0..<7 {
          let ring = max(abs(x - 3), abs(y - 3))
          #expect(symbol[left + x, top + y] == (ring != 2))
        }
      }
    }
  }

  @Test("is light everywhere around")
  func lightOutside() throws {
    let symbol = try QRSymbol(text: "HELLO")
    for (x, y) in [(-1, 0), (0, -1), (symbol.side, 0), (0, symbol.side), (Int.min, Int.max)] {
      #expect(!symbol[x, y])
    }
  }

  @Test("grows with the correction level")
  func correction() throws {
    let text = String(repeating: "CORRECTION", count: 10)
    let sides = try QRSymbol.Correction.allCases.map { try QRSymbol(text: text, correction: $0).side }
    // Table 7 of the standard: versions 4-L, 5-M, 6-Q and 8-H are the first to hold 100 characters.
    #expect(sides == [33, 37, 41, 49])
  }

  @Test("of the same bytes is the same as of the text")
  func bytesAndText() throws {
    #expect(try QRSymbol(text: "größe") == QRSymbol(bytes: Array("größe".utf8)))
  }

  @Test("holds at most 2953 bytes or 4296 upper-case characters")
  func largest() throws {
    #expect(try QRSymbol(bytes: [UInt8](repeating: 0, count: 2953)).side == 177)
    #expect(throws: QRCodeError.tooLong) { try QRSymbol(bytes: [UInt8](repeating: 0, count: 2954)) }
    #expect(try QRSymbol(text: String(repeating: "Z", count: 4296)).side == 177)
    #expect(throws: QRCodeError.tooLong) { try QRSymbol(text: String(repeating: "Z", count: 4297)) }
    #expect(throws: QRCodeError.tooLong) { try QRSymbol(text: String(repeating: "Z", count: 4000), correction: .high) }
  }

  @Test("of nothing is refused")
  func empty() {
    #expect(throws: QRCodeError.empty) { try QRSymbol(text: "") }
    #expect(throws: QRCodeError.empty) { try QRSymbol(bytes: []) }
  }
}
