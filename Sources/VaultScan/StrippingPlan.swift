/// What of a picture's file goes on to others: everything that makes up the picture, and nothing that is said about it,
/// such as where it was taken.
///
/// The file is only walked through from block to block, and nothing of it is decoded but how it is to be turned.
struct StrippingPlan: Equatable {
  enum Piece: Equatable {
    case keep(Range<Int>)
    case put([UInt8])
  }

  static let pieceLimit = 4096

  private(set) var pieces: [Piece] = []
  private(set) var removed = 0

  /// For a file, told by its first bytes.
  init(file: [UInt8]) throws(ScanError) {
    let bytes = PictureBytes(file)
    if file.starts(with: [0xFF, 0xD8, 0xFF]) {
      try walk(jpeg: bytes)
    } else if file.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
      try walk(png: bytes)
    } else if bytes.says("RIFF", at: 0), bytes.says("WEBP", at: 8) {
      try walk(webP: bytes)
    } else {
      throw .notStrippable
    }
  }

  mutating func keep(_ range: Range<Int>) throws(ScanError) {
    guard !range.isEmpty else { return }
    if case .keep(let last)? = pieces.last, last.upperBound == range.lowerBound {
      pieces[pieces.count - 1] = .keep(last.lowerBound..<range.upperBound)
      return
    }
    try add(.keep(range))
  }

  mutating func put(_ bytes: [UInt8]) throws(ScanError) {
    if !bytes.isEmpty { try add(.put(bytes)) }
  }

  private mutating func add(_ piece: Piece) throws(ScanError) {
    guard pieces.count < Self.pieceLimit else { throw .blocks("more than \(Self.pieceLimit) pieces") }
    pieces.append(piece)
  }

  mutating func drop(_ range: Range<Int>) { removed += range.count }

  /// The lines of `docs/formats/qr.md`.
  func lines(of file: [UInt8]) -> String {
    var text = "size \(file.count)\n"
    for piece in pieces {
      switch piece {
      case .keep(let range): text += "keep \(range.lowerBound) \(range.count)\n"
      case .put(let bytes): text += "put \(bytes.count) \(base64(bytes))\n"
      }
    }
    return text + "removed \(removed)\n"
  }
}

/// The bytes of a picture's file, which say how long their blocks are, and may lie.
struct PictureBytes {
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var count: Int { bytes.count }

  func has(_ count: Int, at offset: Int) -> Bool { offset >= 0 && count >= 0 && offset <= self.count - count }

  func byte(at offset: Int) throws(ScanError) -> UInt8 {
    guard has(1, at: offset) else { throw .blocks("it ends amid a block") }
    return bytes[offset]
  }

  /// A number of so many bytes, at most four.
  func number(at offset: Int, bytes width: Int, isLittleEndian: Bool = false) throws(ScanError) -> Int {
    guard (1...4).contains(width), has(width, at: offset) else { throw .blocks("it ends amid a block") }
    let digits = bytes[offset..<(offset + width)]
    return (isLittleEndian ? Array(digits.reversed()) : Array(digits)).reduce(0) { $0 << 8 | Int($1) }
  }

  func range(at offset: Int, count: Int) throws(ScanError) -> Range<Int> {
    guard has(count, at: offset) else { throw .blocks("a block is longer than the file") }
    return offset..<(offset + count)
  }

  func says(_ text: StaticString, at offset: Int) -> Bool {
    guard has(text.utf8CodeUnitCount, at: offset) else { return false }
    return text.withUTF8Buffer { $0.elementsEqual(bytes[offset..<(offset + $0.count)]) }
  }
}
