import CPNG

extension QRSymbol {
  package static let imageSideLimit = 8192

  /// A PNG file, 8-bit gray: `scale` pixels a module, `quietZone` light modules around the symbol.
  ///
  /// Throws ``QRCodeError/imageSize`` unless `scale` is at least 1, `quietZone` is not negative and the side of the
  /// picture, `(side + 2 * quietZone) * scale`, is at most ``imageSideLimit``.
  package func png(scale: Int = 8, quietZone: Int = 4) throws(QRCodeError) -> [UInt8] {
    let limit = Self.imageSideLimit
    guard (1...limit).contains(scale), (0...limit).contains(quietZone) else { throw .imageSize }
    let pixelSide = (side + 2 * quietZone) * scale
    guard pixelSide <= limit, let width = UInt32(exactly: pixelSide) else { throw .imageSize }

    var pixels: [UInt8] = []
    pixels.reserveCapacity(pixelSide * pixelSide)
    for y in -quietZone..<(side + quietZone) {
      var row: [UInt8] = []
      row.reserveCapacity(pixelSide)
      for x in -quietZone..<(side + quietZone) {
        row += repeatElement(self[x, y] ? 0 : 255, count: scale)
      }
      for _ in 0..<scale { pixels += row }
    }
    return try Self.encode(pixels, width)
  }

  private static func encode(_ pixels: [UInt8], _ side: UInt32) throws(QRCodeError) -> [UInt8] {
    var image = png_image()
    image.version = UInt32(PNG_IMAGE_VERSION)
    image.width = side
    image.height = side
    image.format = UInt32(PNG_FORMAT_GRAY)
    defer { png_image_free(&image) }
    var size = 0
    guard png_image_write_to_memory(&image, nil, &size, 0, pixels, 0, nil) != 0 else {
      throw .image(reason: message(of: image))
    }
    var file = [UInt8](repeating: 0, count: size)
    guard png_image_write_to_memory(&image, &file, &size, 0, pixels, 0, nil) != 0 else {
      throw .image(reason: message(of: image))
    }
    file.removeLast(file.count - size)
    return file
  }

  private static func message(of image: png_image) -> String {
    withUnsafeBytes(of: image.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
