extension StrippingPlan {
  private static let needed: Set<String> = ["VP8 ", "VP8L", "VP8X", "ALPH", "ANIM", "ANMF", "ICCP"]
  private static let flags: (exif: UInt8, xmp: UInt8) = (0x08, 0x04)

  /// A file of blocks, whose whole length stands before them, and whose first says which others there are.
  mutating func walk(webP file: PictureBytes) throws(ScanError) {
    let length = try file.number(at: 4, bytes: 4, isLittleEndian: true)
    guard length >= 12 else { throw .blocks("it has no blocks") }
    let end = try file.range(at: 8, count: length).upperBound
    var blocks: [(range: Range<Int>, header: Range<Int>?)] = []
    var turn: Orientation?
    var (place, size, hasImage) = (12, 4, false)
    while place < end {
      let content = try file.number(at: place + 4, bytes: 4, isLittleEndian: true)
      let block = try file.range(at: place, count: 8 + content + content % 2)
      guard block.upperBound <= end else { throw .blocks("a block is longer than the file") }
      let kind = String(decoding: file.bytes[place..<(place + 4)], as: UTF8.self)
      if Self.needed.contains(kind) {
        guard kind != "VP8X" || (place == 12 && content == 10) else {
          throw .blocks("its header is wrong")
        }
        if kind == "ANMF" { try Self.checkFrame((place + 8)..<(place + 8 + content), file) }
        blocks.append((block, kind == "VP8X" ? block : nil))
        size += block.count
        hasImage = hasImage || ["VP8 ", "VP8L", "ANMF"].contains(kind)
      } else {
        drop(block)
        if kind == "EXIF", turn == nil {
          let start = place + 8 + (file.says("Exif\0\0", at: place + 8) ? 6 : 0)
          turn = try Orientation(tiff: file, in: min(start, place + 8 + content)..<(place + 8 + content))
        }
      }
      place = block.upperBound
    }
    guard hasImage else { throw .blocks("it shows nothing") }
    // Without a header nothing says how to turn it.
    if blocks.first?.header == nil { turn = nil }
    let last = turn?.webPBlock ?? []
    let whole = size + last.count
    try keep(0..<4)
    try put((0..<4).map { UInt8(truncatingIfNeeded: whole >> (8 * $0)) })
    try keep(8..<12)
    for block in blocks {
      guard let header = block.header else {
        try keep(block.range)
        continue
      }
      let flags = header.lowerBound + 8
      try keep(header.lowerBound..<flags)
      try put([file.bytes[flags] & ~(Self.flags.exif | Self.flags.xmp) | (turn == nil ? 0 : Self.flags.exif)])
      try keep((flags + 1)..<header.upperBound)
    }
    try put(last)
    drop(end..<file.count)
  }

  /// A frame of a moving picture is kept whole, so nothing may stand in it but the picture.
  private static func checkFrame(_ content: Range<Int>, _ file: PictureBytes) throws(ScanError) {
    var place = content.lowerBound + 16
    while place < content.upperBound {
      guard ["ALPH", "VP8 ", "VP8L"].contains(where: { (name: StaticString) in file.says(name, at: place) }) else {
        throw .blocks("a frame has more in it than a picture")
      }
      let length = try file.number(at: place + 4, bytes: 4, isLittleEndian: true)
      place = try file.range(at: place, count: 8 + length + length % 2).upperBound
    }
  }
}
