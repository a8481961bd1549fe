extension StrippingPlan {
  /// Blocks that say how the picture looks; all others go, and what follows the end.
  private static let needed: Set<String> = [
    "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "gAMA", "cHRM", "sRGB", "iCCP", "sBIT", "bKGD", "pHYs", "cICP", "mDCV",
    "cLLI", "acTL", "fcTL", "fdAT",
  ]

  mutating func walk(png file: PictureBytes) throws(ScanError) {
    try keep(0..<8)
    var place = 8
    var hasImage = false
    var turn: Orientation?
    while true {
      let length = try file.number(at: place, bytes: 4)
      let name = try file.range(at: place + 4, count: 4)
      // Length, name, content and checksum; no sum of these overflows, as the length has four bytes.
      let block = try file.range(at: place, count: 12 + length)
      let kind = String(decoding: file.bytes[name], as: UTF8.self)
      guard file.bytes[name].allSatisfy({ (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) }) else {
        throw .blocks("a block has no name")
      }
      guard (place == 8) == (kind == "IHDR") else { throw .blocks("its header is missing, or comes twice") }
      if kind == "IDAT" { hasImage = true }
      // How it is turned may stand behind the picture, but not amid it.
      if kind == "IEND", let turn { try put(turn.pngBlock) }
      if Self.needed.contains(kind) {
        try keep(block)
      } else {
        // Decoders refuse what they don't know and need.
        guard file.bytes[name.lowerBound] >= 0x61 else { throw .blocks("it needs a block that isn't known") }
        drop(block)
        if kind == "eXIf", let found = try Orientation(tiff: file, in: (place + 8)..<(block.upperBound - 4)) {
          if hasImage { turn = turn ?? found } else { try put(found.pngBlock) }
        }
      }
      place = block.upperBound
      if kind == "IEND" {
        guard length == 0 else { throw .blocks("its end has something in it") }
        guard hasImage else { throw .blocks("it shows nothing") }
        return drop(place..<file.count)
      }
    }
  }
}
