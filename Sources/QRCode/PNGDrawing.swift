extension QRSymbol {
  package static let imageSideLimit = 8192

  /// A PNG file, 1-bit gray: `scale` pixels a module, `quietZone` light modules around the symbol.
  ///
  /// Throws ``QRCodeError/imageSize`` unless `scale` is at least 1, `quietZone` is not negative and the side of the
  /// picture, `(side + 2 * quietZone) * scale`, is at most ``imageSideLimit``.
  package func png(scale: Int = 8, quietZone: Int = 4) throws(QRCodeError) -> [UInt8] {
    let limit = Self.imageSideLimit
    guard (1...limit).contains(scale), (0...limit).contains(quietZone) else { throw .imageSize }
    let pixelSide = (side + 2 * quietZone) * scale
    guard pixelSide <= limit, let width = UInt32(exactly: pixelSide) else { throw .imageSize }

    var pixels: [UInt8] = []
    pixels.reserveCapacity(pixelSide * (pixelSide / 8 + 2))
    for y in -quietZone..<(side + quietZone) {
      // Each row begins with its filter: none.
      var row = [UInt8](repeating: 0, count: 1 + (pixelSide + 7) / 8)
      for x in 0..<pixelSide where !self[x / scale - quietZone, y] { row[1 + x / 8] |= 0x80 >> UInt8(x % 8) }
      for _ in 0..<scale { pixels += row }
    }
    // One bit a pixel, gray; the rest of the header are the only methods there are.
    let header = Self.bytes(width) + Self.bytes(width) + [1, 0, 0, 0, 0]
    return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + Self.chunk("IHDR", header)
      + Self.chunk("IDAT", Self.stored(pixels)) + Self.chunk("IEND", [])
  }

  /// The bytes as they are, in the frame of zlib and deflate (RFC 1950, 1951): a symbol is small as it is.
  private static func stored(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = [0x78, 0x01]
    let blockLimit = 0xFFFF
    for start in stride(from: 0, to: bytes.count, by: blockLimit) {
      let block = bytes[start..<min(start + blockLimit, bytes.count)]
      let count = UInt16(block.count)
      result.append(block.endIndex == bytes.count ? 1 : 0)
      for number in [count, ~count] { result += [UInt8(truncatingIfNeeded: number), UInt8(number >> 8)] }
      result += block
    }
    var (first, second) = (UInt32(1), UInt32(0))
    for byte in bytes {
      first = (first + UInt32(byte)) % 65_521
      second = (second + first) % 65_521
    }
    return result + Self.bytes(second << 16 | first)
  }

  private static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
    let checked = Array(name.utf8) + content
    var sum = UInt32.max
    for byte in checked { sum = sum >> 8 ^ checks[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] }
    return bytes(UInt32(content.count)) + checked + bytes(~sum)
  }

  /// CRC-32 of each byte.
  private static let checks: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { sum, _ in sum & 1 == 0 ? sum >> 1 : 0xEDB8_8320 ^ sum >> 1 }
  }

  private static func bytes(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
