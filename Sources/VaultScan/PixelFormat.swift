/// The kinds of frame that are read, all of which have the brightness of each pixel in a byte of its own, or are JPEG.
/// The raw value is the four letters that a camera uses.
enum PixelFormat: String, CaseIterable {
  // In the order in which they are asked for: the less there is to decode, the better.
  case gray = "GREY"
  case planes420 = "YU12"
  case planes420Swapped = "YV12"
  case semiplanar420 = "NV12"
  case semiplanar420Swapped = "NV21"
  case packed422 = "YUYV"
  case packed422Swapped = "UYVY"
  case motionJPEG = "MJPG"
  case jpeg = "JPEG"

  /// The letters as a number, the first one lowest.
  var code: UInt32 { rawValue.utf8.reversed().reduce(0) { $0 << 8 | UInt32($1) } }

  /// Bytes from one brightness to the next, and the place of the first; nil for JPEG.
  private var layout: (step: Int, first: Int)? {
    switch self {
    case .gray, .planes420, .planes420Swapped, .semiplanar420, .semiplanar420Swapped: (1, 0)
    case .packed422: (2, 0)
    case .packed422Swapped: (2, 1)
    case .motionJPEG, .jpeg: nil
    }
  }

  /// The brightness of a frame as a picture. `bytesPerLine` may be larger than a line needs, and 0 where the driver
  /// doesn't say.
  func picture(
    _ frame: UnsafeRawBufferPointer, width: Int, height: Int, bytesPerLine: Int
  ) throws(ScanError) -> GrayImage {
    guard let layout else { return try GrayImage(jpeg: Array(frame)) }
    try GrayImage.checkSize(UInt32(clamping: width), UInt32(clamping: height))
    let used = width * layout.step
    let stride = bytesPerLine == 0 ? used : bytesPerLine
    let (before, overflow) = stride.multipliedReportingOverflow(by: height - 1)
    guard stride >= used, !overflow, frame.count >= used, before <= frame.count - used else {
      throw .camera(.incompleteFrame)
    }
    let pixels = [UInt8](unsafeUninitializedCapacity: width * height) { pixels, count in
      for y in 0..<height {
        var source = y * stride + layout.first
        for position in (y * width)..<((y + 1) * width) {
          pixels[position] = frame[source]
          source += layout.step
        }
      }
      count = width * height
    }
    return GrayImage(width: width, height: height, pixels: pixels)
  }
}
