import CShims
import Glibc

/// A camera of Video4Linux, from opening to frames.
///
/// All that needs rights happens in `init`: opening the device, agreeing on a kind of frame, and sharing memory with
/// the driver. Afterwards frames are only handed over and given back, which is all that the confined process may do.
struct Camera: ~Copyable {
  /// What is asked for; the driver gives the nearest that it has.
  static let wishedSize: (width: UInt32, height: UInt32) = (1280, 720)
  static let bufferCount: UInt32 = 4
  static let frameLimit = 64 << 20

  let descriptor: Int32
  private let agreement: Agreement
  /// Memory that the driver fills, by number; empty if the camera is read like a file.
  private let buffers: [UnsafeMutableRawBufferPointer]

  struct Agreement {
    let format: PixelFormat
    let width: Int
    let height: Int
    let bytesPerLine: Int
    let frameSize: Int
  }

  init(_ path: String) throws(ScanError) {
    let descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw .camera(errno == ENODEV || errno == ENOTDIR ? .absent : CameraFault(errno, doing: "open the camera"))
    }
    let streams = try Self.streams(descriptor)
    let agreement = try Self.agree(descriptor)
    let buffers = streams ? try Self.share(descriptor, frameSize: agreement.frameSize) : []
    if streams {
      var kind = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
      try Self.control(descriptor, vault_camera_start, &kind, doing: "start the camera")
    }
    self.descriptor = descriptor
    self.agreement = agreement
    self.buffers = buffers
  }

  deinit {
    if !buffers.isEmpty {
      var kind = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
      _ = vault_camera_control(descriptor, vault_camera_stop, &kind)
      for buffer in buffers { munmap(buffer.baseAddress, buffer.count) }
    }
    close(descriptor)
  }

  /// Whether frames must be read from the descriptor, not fetched from shared memory.
  var isRead: Bool { buffers.isEmpty }

  /// The newest frame that there is, or nil if there is none at the moment. A frame that is broken counts as none
  /// too, and adds to `broken`.
  func frame(_ broken: inout Int) throws(ScanError) -> GrayImage? {
    do throws(ScanError) {
      return isRead ? try readFrame() : try fetchFrame(&broken)
    } catch {
      switch error {
      case .camera(.incompleteFrame), .jpeg, .sizeRefused:
        broken += 1
        return nil
      default: throw error
      }
    }
  }

  private func fetchFrame(_ broken: inout Int) throws(ScanError) -> GrayImage? {
    guard var newest = try dequeue(&broken) else { return nil }
    // Decoding takes longer than a frame: what has piled up meanwhile shows the past.
    for _ in 1..<buffers.count {
      guard let newer = try dequeue(&broken) else { break }
      try enqueue(newest)
      newest = newer
    }
    let number = Int(newest.index)
    guard number < buffers.count else { throw .camera(.system(doing: "take a frame", errno: EPROTO)) }
    let count = min(Int(newest.bytesused), buffers[number].count)
    // Given back only when it has been taken apart, whatever came of that.
    do throws(ScanError) {
      let picture = try self.picture(UnsafeRawBufferPointer(buffers[number]).prefix(count))
      try enqueue(newest)
      return picture
    } catch {
      try enqueue(newest)
      throw error
    }
  }

  private func readFrame() throws(ScanError) -> GrayImage? {
    var frame = [UInt8](repeating: 0, count: agreement.frameSize)
    let count = read(descriptor, &frame, frame.count)
    guard count >= 0 else {
      if errno == EAGAIN || errno == EINTR { return nil }
      throw .camera(errno == EIO ? .incompleteFrame : CameraFault(errno, doing: "read from the camera"))
    }
    guard count > 0 else { throw .camera(.unplugged) }
    return try frame.withUnsafeBufferPointer { (bytes) throws(ScanError) -> GrayImage in
      try picture(UnsafeRawBufferPointer(bytes).prefix(count))
    }
  }

  private func picture(_ frame: Slice<UnsafeRawBufferPointer>) throws(ScanError) -> GrayImage {
    try agreement.format.picture(
      UnsafeRawBufferPointer(rebasing: frame), width: agreement.width, height: agreement.height,
      bytesPerLine: agreement.bytesPerLine)
  }

  /// A filled buffer, or nil if none is filled.
  private func dequeue(_ broken: inout Int) throws(ScanError) -> v4l2_buffer? {
    while true {
      var buffer = Self.emptyBuffer()
      guard vault_camera_control(descriptor, vault_camera_dequeue, &buffer) != 0 else {
        guard buffer.flags & UInt32(V4L2_BUF_FLAG_ERROR) != 0 else { return buffer }
        broken += 1
        try enqueue(buffer)
        return nil
      }
      switch errno {
      case EINTR: continue
      case EAGAIN: return nil
      // A hiccup on the wire, by the documentation of Video4Linux.
      case EIO:
        broken += 1
        return nil
      default: throw .camera(CameraFault(errno, doing: "take a frame"))
      }
    }
  }

  private func enqueue(_ buffer: v4l2_buffer) throws(ScanError) {
    var empty = Self.emptyBuffer()
    empty.index = buffer.index
    try Self.control(descriptor, vault_camera_enqueue, &empty, doing: "give a frame back")
  }
}
