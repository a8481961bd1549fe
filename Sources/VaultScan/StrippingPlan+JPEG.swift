extension StrippingPlan {
  /// Markers that stand alone: TEM and RST0 to RST7.
  private static func isAlone(_ marker: UInt8) -> Bool { marker == 0x01 || (0xD0...0xD7).contains(marker) }

  /// Keeps what decoders need: tables, frames and scans, JFIF's and Adobe's words for colours, and colour profiles. How
  /// the picture is to be turned is kept in an Exif block that says nothing else. What follows the end, such as a film
  /// or another picture with its own words, goes.
  mutating func walk(jpeg file: PictureBytes) throws(ScanError) {
    try keep(0..<2)
    var place = 2
    var (isTurned, hasScan) = (false, false)
    var said: Set<UInt8> = []
    while true {
      guard try file.byte(at: place) == 0xFF else { throw .blocks("a marker is missing") }
      let start = place
      // Any number of these may stand before a marker.
      while try file.byte(at: place) == 0xFF { place += 1 }
      let marker = try file.byte(at: place)
      place += 1
      if marker == 0xD9 {
        guard hasScan else { throw .blocks("it shows nothing") }
        try keep(start..<place)
        return drop(place..<file.count)
      }
      guard marker != 0x00, marker != 0xD8 else { throw .blocks("a marker is wrong") }
      if Self.isAlone(marker) {
        try keep(start..<place)
        continue
      }
      let length = try file.number(at: place, bytes: 2)
      guard length >= 2 else { throw .blocks("a block is too short") }
      let block = start..<(try file.range(at: place, count: length).upperBound)
      let content = place + 2
      place = block.upperBound
      if let length = Self.lengthOfWords(marker, content, file), said.insert(marker).inserted {
        try shorten(block, marker, content, to: length, file)
      } else if Self.isNeeded(marker, content, file) {
        try keep(block)
      } else {
        drop(block)
      }
      if marker == 0xE1, file.says("Exif\0\0", at: content), !isTurned, !hasScan,
        let turn = try Orientation(tiff: file, in: (content + 6)..<max(content + 6, block.upperBound))
      {
        isTurned = true
        try put(turn.jpegBlock)
      }
      if marker == 0xDA {
        hasScan = true
        let end = try Self.endOfScan(file, from: place)
        try keep(place..<end)
        place = end
      }
    }
  }

  private static func isNeeded(_ marker: UInt8, _ content: Int, _ file: PictureBytes) -> Bool {
    switch marker {
    // No frame: nothing that decoders read.
    case 0xC8: false
    // Frames, tables of Huffman and of arithmetic coding.
    case 0xC0...0xCF: true
    // Scans, tables of quantisation, numbers of lines, intervals, progressions.
    case 0xDA...0xDF: true
    case 0xE2: file.says("ICC_PROFILE\0", at: content)
    default: false
    }
  }

  /// How many bytes of JFIF's and Adobe's words are about the picture; nil for other blocks.
  private static func lengthOfWords(_ marker: UInt8, _ content: Int, _ file: PictureBytes) -> Int? {
    switch marker {
    case 0xE0 where file.says("JFIF\0", at: content): 14
    case 0xEE where file.says("Adobe", at: content): 12
    default: nil
    }
  }

  /// Keeps so much of a block's content: behind it stands another picture, perhaps of what has been cut away.
  private mutating func shorten(
    _ block: Range<Int>, _ marker: UInt8, _ content: Int, to length: Int, _ file: PictureBytes
  ) throws(ScanError) {
    guard content + length <= block.upperBound else { return drop(block) }
    guard content + length < block.upperBound else { return try keep(block) }
    var words = Array(file.bytes[content..<(content + length)])
    // How wide and high the small picture is.
    if marker == 0xE0 { words.replaceSubrange(12..<14, with: [0, 0]) }
    try put([0xFF, marker, 0, UInt8(truncatingIfNeeded: length + 2)] + words)
    drop((content + length)..<block.upperBound)
  }

  /// Where the next marker stands that isn't one amid a scan.
  private static func endOfScan(_ file: PictureBytes, from start: Int) throws(ScanError) -> Int {
    var place = start
    while file.has(2, at: place) {
      guard file.bytes[place] == 0xFF else {
        place += 1
        continue
      }
      let next = file.bytes[place + 1]
      guard next == 0x00 || (0xD0...0xD7).contains(next) else { return place }
      place += 2
    }
    throw .blocks("a scan doesn't end")
  }
}
