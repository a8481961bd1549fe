/// How a picture is to be turned, out of the Exif block of a camera, and in one that says nothing else.
struct Orientation: Equatable {
  private static let tag = 0x0112
  private static let entryLimit = 512

  /// 2 to 8; 1 would be as it is.
  let value: UInt8

  /// Nil if it isn't turned, or if that can't be read: then nothing is said.
  init?(tiff file: PictureBytes, in range: Range<Int>) throws(ScanError) {
    guard range.count >= 8, file.has(range.count, at: range.lowerBound) else { return nil }
    let start = range.lowerBound
    let isLittleEndian = file.says("II", at: start)
    guard isLittleEndian || file.says("MM", at: start) else { return nil }
    func number(_ offset: Int, _ width: Int) throws(ScanError) -> Int? {
      guard offset >= 0, offset <= range.count - width else { return nil }
      return try file.number(at: start + offset, bytes: width, isLittleEndian: isLittleEndian)
    }
    guard try number(2, 2) == 42, let table = try number(4, 4), let count = try number(table, 2) else { return nil }
    for entry in 0..<min(count, Self.entryLimit) {
      let place = table + 2 + 12 * entry
      guard let tag = try number(place, 2) else { return nil }
      guard tag == Self.tag else { continue }
      guard try number(place + 2, 2) == 3, try number(place + 4, 4) == 1, let value = try number(place + 8, 2),
        (2...8).contains(value)
      else { return nil }
      self.value = UInt8(value)
      return
    }
    return nil
  }

  /// A TIFF header, and a table of this one entry.
  private var tiff: [UInt8] {
    [0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, value, 0, 0, 0, 0, 0, 0]
  }

  var jpegBlock: [UInt8] { [0xFF, 0xE1, 0, UInt8(8 + tiff.count)] + Array("Exif\0\0".utf8) + tiff }

  var webPBlock: [UInt8] { Array("EXIF".utf8) + [UInt8(tiff.count), 0, 0, 0] + tiff }

  var pngBlock: [UInt8] {
    let named = Array("eXIf".utf8) + tiff
    let sum = Self.checksum(named)
    return [0, 0, 0, UInt8(tiff.count)] + named + (0..<4).map { UInt8(truncatingIfNeeded: sum >> (24 - 8 * $0)) }
  }

  /// The CRC of PNG (ISO 3309), bit by bit: there are thirty bytes of it.
  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~0 as UInt32) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
    }
  }
}
