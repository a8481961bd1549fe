import CShims
import Glibc

/// What happens once, before the process is closed off.
extension Camera {
  /// Whether it shares memory; if not, it can be read like a file.
  static func streams(_ descriptor: Int32) throws(ScanError) -> Bool {
    var capability = v4l2_capability()
    guard vault_camera_control(descriptor, vault_camera_capabilities, &capability) == 0 else {
      // Files and other devices don't know the request, each in its own words.
      throw .camera(errno == EINVAL ? .notACamera : CameraFault(errno, doing: "ask the camera"))
    }
    let hasOwn = capability.capabilities & UInt32(V4L2_CAP_DEVICE_CAPS) != 0
    let abilities = hasOwn ? capability.device_caps : capability.capabilities
    guard abilities & UInt32(V4L2_CAP_VIDEO_CAPTURE) != 0 else { throw .camera(.noFrames) }
    if abilities & UInt32(V4L2_CAP_STREAMING) != 0 { return true }
    guard abilities & UInt32(V4L2_CAP_READWRITE) != 0 else { throw .camera(.noFrames) }
    return false
  }

  /// The first kind of frame that comes in the wished size, or else the one with the most pixels.
  static func agree(_ descriptor: Int32) throws(ScanError) -> Agreement {
    let wishedPixels = Int(wishedSize.width) * Int(wishedSize.height)
    var best: Agreement?
    for format in PixelFormat.allCases {
      guard let offer = try ask(descriptor, for: format) else { continue }
      let pixels = offer.width * offer.height
      if pixels >= wishedPixels { return offer }
      if pixels > (best.map { $0.width * $0.height } ?? 0) { best = offer }
    }
    guard let best, let again = try ask(descriptor, for: best.format) else { throw .camera(.noFormat) }
    return again
  }

  private static func ask(_ descriptor: Int32, for format: PixelFormat) throws(ScanError) -> Agreement? {
    var request = v4l2_format()
    request.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
    request.fmt.pix.width = wishedSize.width
    request.fmt.pix.height = wishedSize.height
    request.fmt.pix.pixelformat = format.code
    request.fmt.pix.field = V4L2_FIELD_ANY.rawValue
    guard vault_camera_control(descriptor, vault_camera_set_format, &request) == 0 else {
      if errno == EINVAL { return nil }
      throw .camera(CameraFault(errno, doing: "choose a kind of frame"))
    }
    let pixels = request.fmt.pix
    guard pixels.pixelformat == format.code else { return nil }
    try GrayImage.checkSize(pixels.width, pixels.height)
    guard (1...frameLimit).contains(Int(pixels.sizeimage)), Int(pixels.bytesperline) <= frameLimit else {
      throw .camera(.noFrames)
    }
    return Agreement(
      format: format, width: Int(pixels.width), height: Int(pixels.height), bytesPerLine: Int(pixels.bytesperline),
      frameSize: Int(pixels.sizeimage))
  }

  /// Memory that camera and program share, handed to the camera to fill.
  static func share(_ descriptor: Int32, frameSize: Int) throws(ScanError) -> [UnsafeMutableRawBufferPointer] {
    var request = v4l2_requestbuffers()
    request.count = bufferCount
    request.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
    request.memory = V4L2_MEMORY_MMAP.rawValue
    try control(descriptor, vault_camera_request_buffers, &request, doing: "get memory from the camera")
    guard (1...32).contains(request.count) else { throw .camera(.noFrames) }
    var buffers: [UnsafeMutableRawBufferPointer] = []
    for number in 0..<request.count {
      var buffer = emptyBuffer()
      buffer.index = number
      try control(descriptor, vault_camera_query_buffer, &buffer, doing: "get memory from the camera")
      let length = Int(buffer.length)
      guard (1...frameLimit).contains(length) else { throw .camera(.noFrames) }
      let address = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, Int(buffer.m.offset))
      guard let address, address != MAP_FAILED else {
        throw .camera(.system(doing: "share memory with the camera", errno: errno))
      }
      buffers.append(UnsafeMutableRawBufferPointer(start: address, count: length))
      try control(descriptor, vault_camera_enqueue, &buffer, doing: "hand memory to the camera")
    }
    return buffers
  }

  static func emptyBuffer() -> v4l2_buffer {
    var buffer = v4l2_buffer()
    buffer.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
    buffer.memory = V4L2_MEMORY_MMAP.rawValue
    return buffer
  }

  static func control(
    _ descriptor: Int32, _ request: UInt32, _ argument: UnsafeMutableRawPointer, doing: String
  ) throws(ScanError) {
    while vault_camera_control(descriptor, request, argument) != 0 {
      guard errno == EINTR else { throw .camera(CameraFault(errno, doing: doing)) }
    }
  }
}
