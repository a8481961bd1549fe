import QRCode
import ScanPictures
import Testing

@testable import VaultScan

@Suite("vault-scan reads a picture of a card that is spoiled by")
struct DistortionTests {
  /// Of each distortion a strength that is read with something to spare; docs/scanning.md has them all.
  static let readable: [(name: String, strength: Int)] = [
    ("noise", 3), ("specks", 3), ("blur", 1), ("blur", 2), ("motion", 1), ("turned", 2), ("turned", 4),
    ("perspective", 1),
    ("light falling off", 3), ("dark corners", 3), ("edge of a shadow", 0), ("glare", 2), ("contrast", 2), ("JPEG", 2),
    ("pixels a module", 3), ("pixels a module, blur", 3), ("negative", 2), ("terminal", 1), ("moiré", 2), ("small", 2),
    ("a hasty photograph", 1),
  ]

  @Test("noise, blur, shadows and the rest", arguments: readable)
  func reads(name: String, strength: Int) throws {
    let distortion = try #require(Self.distortion(name))
    let picture = distortion.shot(strength, seed: 1).picture(of: try QRSymbol(text: Distortion.cards[0]))
    let file =
      try distortion.qualities.isEmpty ? picture.png() : picture.jpeg(quality: distortion.qualities[strength])
    try expectScan(file, gives: Array(Distortion.cards[0].utf8))
  }

  @Test(
    "blur, which zbar alone doesn't see through",
    arguments: [("blur", 2, Treatment.restored(1)), ("pixels a module, blur", 3, .doubledRestored(1))])
  func restored(name: String, strength: Int, treatment: Treatment) throws {
    let distortion = try #require(Self.distortion(name))
    let shot = distortion.shot(strength, seed: 1).picture(of: try QRSymbol(text: Distortion.cards[0]))
    let picture = GrayImage(width: shot.width, height: shot.height, pixels: shot.pixels)
    let reader = try SymbolReader()
    #expect(Treatment.order(for: picture).contains(treatment))
    #expect(try reader.read(picture).isEmpty)
    #expect(try reader.read(treatment.apply(to: picture)) == [Array(Distortion.cards[0].utf8)])
  }

  @Test("nothing yet: the same faults and seed give the same picture, another seed another one")
  func deterministic() throws {
    let symbol = try QRSymbol(text: "SAME")
    let distortion = try #require(Self.distortion("a hasty photograph"))
    #expect(
      distortion.shot(1, seed: 2).picture(of: symbol).pixels == distortion.shot(1, seed: 2).picture(of: symbol).pixels)
    #expect(
      distortion.shot(1, seed: 2).picture(of: symbol).pixels != distortion.shot(1, seed: 3).picture(of: symbol).pixels)
  }

  /// The first one whose name begins so.
  private static func distortion(_ name: String) -> Distortion? { Distortion.all.first { $0.name.hasPrefix(name) } }
}
