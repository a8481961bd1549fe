import CJPEG
import CPNG

extension GrayImage {
  /// Decodes any kind of PNG. What is transparent becomes white.
  init(png file: [UInt8]) throws(ScanError) {
    var image = png_image()
    image.version = UInt32(PNG_IMAGE_VERSION)
    defer { png_image_free(&image) }
    // libpng keeps the address between the two calls.
    let pixels: [UInt8] = try file.withUnsafeBufferPointer { (bytes) throws(ScanError) -> [UInt8] in
      guard png_image_begin_read_from_memory(&image, bytes.baseAddress, bytes.count) != 0 else {
        throw .png(reason: Self.message(of: image))
      }
      try Self.checkSize(image.width, image.height)
      image.format = UInt32(PNG_FORMAT_GRAY)
      var white = png_color(red: 255, green: 255, blue: 255)
      var pixels = [UInt8](repeating: 255, count: Int(image.width) * Int(image.height))
      guard png_image_finish_read(&image, &white, &pixels, 0, nil) != 0 else {
        throw .png(reason: Self.message(of: image))
      }
      return pixels
    }
    self.init(width: Int(image.width), height: Int(image.height), pixels: pixels)
  }

  /// Decodes a gray or colour JPEG, baseline or progressive. Missing data is an error; CMYK isn't supported.
  init(jpeg file: [UInt8]) throws(ScanError) {
    var message = [CChar](repeating: 0, count: Int(vault_jpeg_message_size))
    var width: UInt32 = 0
    var height: UInt32 = 0
    guard vault_jpeg_read_size(file, file.count, &width, &height, &message) == 1 else {
      throw .jpeg(reason: Self.text(message))
    }
    try Self.checkSize(width, height)
    var pixels = [UInt8](repeating: 255, count: Int(width) * Int(height))
    guard vault_jpeg_read_gray(file, file.count, width, height, &pixels, &message) == 1 else {
      throw .jpeg(reason: Self.text(message))
    }
    self.init(width: Int(width), height: Int(height), pixels: pixels)
  }

  private static func message(of image: png_image) -> String {
    withUnsafeBytes(of: image.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }

  private static func text(_ message: [CChar]) -> String {
    String(decoding: message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
