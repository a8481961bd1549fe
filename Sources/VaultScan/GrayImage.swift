/// A plane of gray pixels, 0 black to 255 white, row by row without padding.
struct GrayImage: Equatable {
  static let sideLimit = 12_000
  static let pixelLimit = 64_000_000

  let width: Int
  let height: Int
  /// `width * height` of them.
  let pixels: [UInt8]

  var pixelCount: Int { width * height }
  var longSide: Int { max(width, height) }
  var shortSide: Int { min(width, height) }
}

extension GrayImage {
  /// A picture from its file's bytes; see `ImageFile.swift` for the kinds.
  init(file: [UInt8]) throws(ScanError) {
    let png: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
    let jpeg: [UInt8] = [0xff, 0xd8, 0xff]
    if file.starts(with: png) {
      try self.init(png: file)
    } else if file.starts(with: jpeg) {
      try self.init(jpeg: file)
    } else {
      throw .unknownFormat
    }
  }

  /// Throws unless a picture of this size may be decoded. To be called before memory is taken for it.
  static func checkSize(_ width: UInt32, _ height: UInt32) throws(ScanError) {
    let (width, height) = (Int(width), Int(height))
    guard (1...sideLimit).contains(width), (1...sideLimit).contains(height), width * height <= pixelLimit else {
      throw .sizeRefused(width: width, height: height)
    }
  }
}
