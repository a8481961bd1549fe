import QRCode
import ScanPictures
import Testing

@testable import VaultScan

@Suite("A treatment")
struct TreatmentTests {
  @Test(
    "makes a picture readable that isn't as it is",
    arguments: [
      (Photograph(noise: 20), Treatment.median(1)),
      (Photograph(side: 230, blur: 1, noise: 2), .doubledThreshold(1)),
      (Photograph(noise: 45), .medianThreshold(1)),
      (Photograph(noise: 60), .medianThreshold(2)),
    ])
  func helps(photograph: Photograph, treatment: Treatment) throws {
    let picture = GrayImage(photograph.picture(of: try QRSymbol(text: ReadingTests.card)))
    let reader = try SymbolReader()
    #expect(Treatment.order(for: picture).contains(treatment))
    #expect(try reader.read(picture).isEmpty)
    #expect(try reader.read(treatment.apply(to: picture)) == [Array(ReadingTests.card.utf8)])
  }

  @Test("of a large picture begins with reducing it to at most 1600 pixels a side")
  func large() {
    let picture = GrayImage(width: 4000, height: 3000, pixels: [])
    #expect(Treatment.order(for: picture).first == .reduced(3))
    #expect(Treatment.order(for: GrayImage(width: 2000, height: 2000, pixels: [])).first == .plain)
  }
}

@Suite("A filter")
struct FilterTests {
  @Test("by median gives what sorting gives")
  func median() {
    var random = Random(state: 3)
    let picture = randomPicture(width: 23, height: 17, &random)
    let filtered = picture.median()
    for y in 0..<picture.height {
      for x in 0..<picture.width {
        let here = y * picture.width + x
        guard x > 0, y > 0, x < picture.width - 1, y < picture.height - 1 else {
          #expect(filtered.pixels[here] == picture.pixels[here])
          continue
        }
        let around = (-1...1).flatMap { row in (-1...1).map { picture.pixels[here + row * picture.width + $0] } }
        #expect(filtered.pixels[here] == around.sorted()[4])
      }
    }
  }

  @Test("by local threshold gives what adding up the square gives")
  func localThreshold() {
    var random = Random(state: 4)
    let picture = randomPicture(width: 31, height: 20, &random)
    let filtered = picture.locallyThresholded()
    for y in 0..<picture.height {
      for x in 0..<picture.width {
        let rows = max(0, y - 8)...min(picture.height - 1, y + 8)
        let columns = max(0, x - 8)...min(picture.width - 1, x + 8)
        let square = rows.flatMap { row in columns.map { Int(picture.pixels[row * picture.width + $0]) } }
        let dark = Int(picture.pixels[y * picture.width + x]) * square.count * 16 <= square.reduce(0, +) * 15
        #expect(filtered.pixels[y * picture.width + x] == (dark ? 0 : 255))
      }
    }
  }

  @Test("that reduces takes means and drops the rest at the edges")
  func reduced() {
    let picture = GrayImage(width: 5, height: 3, pixels: [10, 20, 0, 0, 9, 30, 41, 255, 255, 9, 9, 9, 9, 9, 9])
    #expect(picture.reduced(by: 2) == GrayImage(width: 2, height: 1, pixels: [25, 128]))
    #expect(picture.reduced(by: 4) == picture)
  }

  @Test("that doubles keeps flat areas flat and slopes between neighbours")
  func doubled() {
    let flat = GrayImage(width: 3, height: 2, pixels: [UInt8](repeating: 77, count: 6))
    #expect(flat.doubled() == GrayImage(width: 6, height: 4, pixels: [UInt8](repeating: 77, count: 24)))
    let slope = GrayImage(width: 2, height: 1, pixels: [0, 200])
    #expect(slope.doubled().pixels == [0, 50, 150, 200, 0, 50, 150, 200])
  }

  @Test("that takes blur back keeps flat areas flat, and brings the picture nearer to what it was")
  func restored() throws {
    let flat = GrayImage(width: 20, height: 20, pixels: [UInt8](repeating: 77, count: 400))
    #expect(flat.restored(radius: 3, rounds: 8).pixels.allSatisfy { abs(Int($0) - 77) <= 1 })
    // Stripes four pixels wide, blurred as the filter guesses: a mean over seven pixels, twice.
    var row: [Int] = (0..<60).map { 60 + ($0 / 4 % 2) * 130 }
    for _ in 0..<2 {
      let before = row
      for x in 0..<60 {
        var sum = 0
        for step in -3...3 { sum += before[min(max(x + step, 0), 59)] }
        row[x] = sum / 7
      }
    }
    let line = row.map { UInt8($0) }
    let picture = GrayImage(width: 60, height: 20, pixels: Array(repeatElement(line, count: 20).joined()))
    let restored = picture.restored(radius: 3, rounds: 8)
    func contrast(_ image: GrayImage) -> Int {
      let middle = image.pixels[615..<645].map { Int($0) }
      return (middle.max() ?? 0) - (middle.min() ?? 0)
    }
    try #require(contrast(picture) > 0)
    #expect(contrast(restored) > contrast(picture))
  }

  @Test("takes any size, down to one pixel", arguments: [(1, 1), (1, 9), (9, 1), (2, 2), (3, 3)])
  func sizes(width: Int, height: Int) {
    var random = Random(state: 5)
    let picture = randomPicture(width: width, height: height, &random)
    for treatment in [
      Treatment.plain, .reduced(2), .median(1), .restored(1), .doubledRestored(1), .doubledThreshold(1),
      .medianThreshold(2),
    ] {
      let treated = treatment.apply(to: picture)
      #expect(treated.pixels.count == treated.width * treated.height)
    }
  }

  private func randomPicture(width: Int, height: Int, _ random: inout Random) -> GrayImage {
    let pixels = (0..<(width * height)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    return GrayImage(width: width, height: height, pixels: pixels)
  }
}

extension GrayImage {
  fileprivate init(_ picture: Picture) {
    self.init(width: picture.width, height: picture.height, pixels: picture.pixels)
  }
}
