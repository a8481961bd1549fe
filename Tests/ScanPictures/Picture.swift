import CJPEG
import CPNG
import Glibc
package import QRCode

/// A gray picture that a test paints and writes as a file.
package struct Picture: Sendable {
  package let width: Int
  package let height: Int
  package var pixels: [UInt8]

  /// libpng could not write it.
  package struct NotWritten: Error {}

  package init(width: Int, height: Int, gray: UInt8) {
    self.width = width
    self.height = height
    pixels = [UInt8](repeating: gray, count: width * height)
  }

  /// A symbol in black on white with its quiet zone.
  package init(_ symbol: QRSymbol, scale: Int, quietZone: Int = 4) {
    let side = (symbol.side + 2 * quietZone) * scale
    self.init(width: side, height: side, gray: 255)
    for y in 0..<symbol.side {
      for x in 0..<symbol.side where symbol[x, y] {
        fill((x + quietZone) * scale, (y + quietZone) * scale, scale, scale, 0)
      }
    }
  }

  package mutating func fill(_ left: Int, _ top: Int, _ width: Int, _ height: Int, _ gray: UInt8) {
    for y in top..<(top + height) {
      for x in left..<(left + width) { pixels[y * self.width + x] = gray }
    }
  }

  /// The negative.
  package func inverted() -> Picture {
    var picture = self
    picture.pixels = pixels.map { 255 - $0 }
    return picture
  }

  /// 8-bit gray.
  package func png() throws -> [UInt8] { try Self.png(pixels, width, height, format: PNG_FORMAT_GRAY) }

  /// Colour with transparency: black is opaque black, white is fully transparent black.
  package func transparentPNG() throws -> [UInt8] {
    try Self.png(
      pixels.flatMap { [0, 0, 0, 255 - $0] }, width, height, format: PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_ALPHA)
  }

  private static func png(_ pixels: [UInt8], _ width: Int, _ height: Int, format: some BinaryInteger) throws -> [UInt8]
  {
    var image = png_image()
    image.version = UInt32(PNG_IMAGE_VERSION)
    image.width = UInt32(width)
    image.height = UInt32(height)
    image.format = UInt32(format)
    var size = 0
    guard png_image_write_to_memory(&image, nil, &size, 0, pixels, 0, nil) != 0 else { throw NotWritten() }
    var file = [UInt8](repeating: 0, count: size)
    guard png_image_write_to_memory(&image, &file, &size, 0, pixels, 0, nil) != 0 else { throw NotWritten() }
    return Array(file[..<size])
  }

  /// Gray, or the same as a colour picture, sequential or progressive.
  package func jpeg(quality: Int32 = 80, colour: Bool = false, progressive: Bool = false) -> [UInt8] {
    var errors = jpeg_error_mgr()
    var state = jpeg_compress_struct()
    var memory: UnsafeMutablePointer<UInt8>?
    var size: UInt = 0
    withUnsafeMutablePointer(to: &errors) { errors in
      state.err = jpeg_std_error(errors)
      jpeg_CreateCompress(&state, JPEG_LIB_VERSION, MemoryLayout<jpeg_compress_struct>.size)
      jpeg_mem_dest(&state, &memory, &size)
      state.image_width = UInt32(width)
      state.image_height = UInt32(height)
      state.input_components = colour ? 3 : 1
      state.in_color_space = colour ? JCS_RGB : JCS_GRAYSCALE
      jpeg_set_defaults(&state)
      jpeg_set_quality(&state, quality, 1)
      if progressive { jpeg_simple_progression(&state) }
      jpeg_start_compress(&state, 1)
      for y in 0..<height {
        var row = Array(pixels[(y * width)..<((y + 1) * width)])
        if colour { row = row.flatMap { [$0, $0, $0] } }
        row.withUnsafeMutableBufferPointer { row in
          var rows: JSAMPROW? = row.baseAddress
          _ = jpeg_write_scanlines(&state, &rows, 1)
        }
      }
      jpeg_finish_compress(&state)
      jpeg_destroy_compress(&state)
    }
    defer { free(memory) }
    return Array(UnsafeBufferPointer(start: memory, count: Int(size)))
  }
}
