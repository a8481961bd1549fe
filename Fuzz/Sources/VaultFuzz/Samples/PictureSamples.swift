import CJPEG
import CPNG
import Glibc

enum PictureSamples {
  static func all() throws -> [Sample] {
    let gray = png(many(128, 64), 8, 8, format: UInt32(PNG_FORMAT_GRAY))
    let colour = png((0..<256).map { UInt8($0) }, 8, 8, format: UInt32(PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_ALPHA))
    let baseline = jpeg(progressive: false)
    let progressive = jpeg(progressive: true)
    let dimensions = (baseline.firstIndexOf([0xff, 0xc0]) ?? 0) + 5
    return Sample.of(
      "picture",
      [
        "valid-gray-png": gray, "valid-transparent-png": colour, "valid-baseline-jpeg": baseline,
        "valid-progressive-jpeg": progressive, "empty": [],
        "png-signature-alone": Array(gray.prefix(8)), "jpeg-signature-alone": Array(baseline.prefix(3)),
        "truncated-png": gray.without(last: 20),
        "truncated-jpeg": baseline.without(last: 30),
        "huge-png": gray.with(16, [0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]),
        "huge-jpeg": baseline.with(dimensions, [0xff, 0xff, 0xff, 0xff]),
        "flat-jpeg": baseline.with(dimensions, [0, 0]),
        "png-wrong-checksum": gray.with(30, [0]), "gif": Array("GIF89a".utf8),
        "png-header-alone": Array(gray.prefix(33)),
      ])
      + Sample.of("picture-stripped", stripped())
      + Sample.of(
        "camera-frame",
        [
          "valid-gray": [0, 0, 1, 0, 8, 0, 8, 1] + many(9, 64),
          "valid-packed": [0, 6, 1, 0, 8, 0, 8, 0, 0, 20] + many(9, 160),
          "valid-motion-jpeg": [0, 7, 1, 0, 8, 0, 8, 1] + baseline,
          "too-short": [0, 0, 1, 0, 8, 0, 8, 1] + many(9, 63),
          "lines-shorter-than-pixels": [0, 5, 1, 0, 8, 0, 8, 0, 0, 15] + many(9, 200),
          "no-width": [0, 0, 1, 0, 0, 0, 8, 1] + many(9, 64),
          "negative-width": [0, 0, 0, 64] + many(0xff, 8) + [64] + many(0xff, 8) + [1] + many(9, 64),
          "huge-lines": [0, 0, 0, 8] + bigEndian(UInt64(8)) + [8] + bigEndian(UInt64(8)) + [0, 63] + many(0xff, 8)
            + many(9, 64), "empty": [],
        ])
      + Sample.of(
        "picture-scanned",
        [
          "noise": [0, 20, 0, 1] + (0..<400).map { UInt8(truncatingIfNeeded: $0 * 73 >> 2) },
          "one-pixel": [0, 0, 0, 0, 9], "one-row": [0, 99, 0, 3] + many(200, 100),
          "one-column": [0, 0, 0, 2] + many(3, 100), "finder-pattern": [0, 20, 0, 0] + finder(), "empty": [],
        ])
  }

  /// Blocks as far as a walk through them looks.
  private static func stripped() -> KeyValuePairs<String, [UInt8]> {
    let tiff: [UInt8] = [
      0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0,
    ]
    let exif = [0xFF, 0xE1, 0, 34] + Array("Exif\0\0".utf8) + tiff
    let scan: [UInt8] = [0xFF, 0xDA, 0, 2, 1, 0xFF, 0, 2, 0xFF, 0xD0, 3]
    let end: [UInt8] = [0xFF, 0xD9]
    let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
      [0, 0, 0, UInt8(content.count)] + Array(name.utf8) + content + many(0, 4)
    }
    func webP(_ content: [UInt8]) -> [UInt8] {
      Array("RIFF".utf8) + [UInt8(content.count + 4), 0, 0, 0] + Array("WEBP".utf8) + content
    }
    let (header, picture) = (chunk("IHDR", many(1, 13)), chunk("IDAT", [1]) + chunk("IEND", []))
    let image = Array("VP8 ".utf8) + [3, 0, 0, 0, 1, 2, 3, 0]
    let extended = Array("VP8X".utf8) + [10, 0, 0, 0, 0x0C] + many(0, 9)
    let words = Array("EXIF".utf8) + [26, 0, 0, 0] + tiff
    return [
      "valid-jpeg": [0xFF, 0xD8] + exif + scan + end + [7, 7],
      "valid-png": signature + header + chunk("eXIf", tiff) + chunk("tEXt", [65]) + picture + [7],
      "valid-webp": webP(extended + image + words), "valid-simple-webp": webP(image),
      "jpeg-without-end": [0xFF, 0xD8] + scan, "jpeg-without-scan": [0xFF, 0xD8] + exif + end,
      "jpeg-block-too-long": [0xFF, 0xD8, 0xFF, 0xE1, 0xFF, 0xFF] + scan + end,
      "png-block-too-long": signature + header + [0xFF, 0xFF, 0xFF, 0xFF] + Array("tEXt".utf8) + picture,
      "png-unknown-needed": signature + header + chunk("NEED", [1]) + picture,
      "png-without-end": signature + header + chunk("IDAT", [1]),
      "webp-too-long": webP(image).with(4, [0xFF, 0xFF, 0xFF, 0xFF]), "webp-without-image": webP(words),
      "gif": Array("GIF89a".utf8), "empty": [],
    ]
  }

  /// The square in a symbol's corner, large enough to be found.
  private static func finder() -> [UInt8] {
    (0..<441).map { place in
      let distance = max(abs(place % 21 - 10), abs(place / 21 - 10))
      return distance < 4 || (6...7).contains(distance) ? 0 : 255
    }
  }

  private static func png(_ pixels: [UInt8], _ width: UInt32, _ height: UInt32, format: UInt32) -> [UInt8] {
    var image = png_image()
    image.version = UInt32(PNG_IMAGE_VERSION)
    image.width = width
    image.height = height
    image.format = format
    var file = many(0, 4096)
    var size = file.count
    require(png_image_write_to_memory(&image, &file, &size, 0, pixels, 0, nil) != 0, "a PNG can be written")
    return Array(file.prefix(size))
  }

  private static func jpeg(progressive: Bool) -> [UInt8] {
    var errors = jpeg_error_mgr()
    var state = jpeg_compress_struct()
    var memory: UnsafeMutablePointer<UInt8>?
    var size: UInt = 0
    withUnsafeMutablePointer(to: &errors) { errors in
      state.err = jpeg_std_error(errors)
      jpeg_CreateCompress(&state, JPEG_LIB_VERSION, MemoryLayout<jpeg_compress_struct>.size)
      jpeg_mem_dest(&state, &memory, &size)
      state.image_width = 16
      state.image_height = 16
      state.input_components = 1
      state.in_color_space = JCS_GRAYSCALE
      jpeg_set_defaults(&state)
      if progressive { jpeg_simple_progression(&state) }
      jpeg_start_compress(&state, 1)
      var row = (0..<16).map { UInt8($0 * 16) }
      for _ in 0..<16 {
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

extension [UInt8] {
  fileprivate func firstIndexOf(_ pattern: [UInt8]) -> Int? {
    indices.first { self[$0...].starts(with: pattern) }
  }
}
