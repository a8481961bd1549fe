import Foundation
import ScanPictures
import Testing

@testable import VaultScan

/// A camera that exists in the memory of `vault-scan` only, see `Preload/FakeCamera.c`.
struct FakeCamera {
  static let device = "/dev/video-of-a-test"

  var format = PixelFormat.gray
  /// The letters that it gives its format, if not those of `format`.
  var letters: String?
  var width = 0
  var height = 0
  /// Bytes that each line has beyond its pixels.
  var padding = 0
  var frames: [[UInt8]] = []
  var fault = ""

  /// Shows `pictures`, which are of one size, one after the other; the last one stays.
  init(_ format: PixelFormat, _ pictures: [Picture], padding: Int = 0, fault: String = "") {
    self.format = format
    self.padding = padding
    self.fault = fault
    width = pictures[0].width
    height = pictures[0].height
    frames = pictures.map { frame($0) }
  }

  var stride: Int {
    switch format {
    case .packed422, .packed422Swapped: 2 * width + padding
    default: width + padding
    }
  }

  /// A picture as the sensor's electronics would send it, with some colour where the format has it.
  func frame(_ picture: Picture) -> [UInt8] {
    let rows = (0..<height).map { picture.pixels[($0 * width)..<(($0 + 1) * width)] }
    let end = [UInt8](repeating: 0xee, count: padding)
    switch format {
    case .gray: return rows.flatMap { $0 + end }
    case .planes420, .planes420Swapped, .semiplanar420, .semiplanar420Swapped:
      return rows.flatMap { $0 + end } + (0..<(stride * height / 2)).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    case .packed422: return rows.flatMap { $0.flatMap { [$0, 90] } + end }
    case .packed422Swapped: return rows.flatMap { $0.flatMap { [90, $0] } + end }
    case .motionJPEG, .jpeg: return picture.jpeg(colour: true)
    }
  }

  /// Runs a program that looks through it.
  func look(_ arguments: [String] = [], program: String = "vault-scan", mayDie: Bool = false) throws -> Scan {
    try withEnvironment { additions in
      try Scan(
        arguments: program == "vault" ? arguments : ["--camera", "--timeout", "60"] + arguments + [Self.device],
        additions: additions, mayDie: mayDie, program: program)
    }
  }

  /// What a program needs in its environment to find the camera.
  func withEnvironment<Result>(_ body: ([String: String]) throws -> Result) throws -> Result {
    let library = try Preload.camera.get()
    let file = frames.flatMap { frame in withUnsafeBytes(of: UInt32(frame.count).littleEndian) { Array($0) } + frame }
    return try Scan.withFile(file) { path in
      try body([
        "LD_PRELOAD": library, "CAMERA_DEVICE": Self.device, "CAMERA_FRAMES": path,
        "CAMERA_FORMAT": letters ?? format.rawValue, "CAMERA_WIDTH": String(width), "CAMERA_HEIGHT": String(height),
        "CAMERA_STRIDE": String(format == .motionJPEG || format == .jpeg ? 0 : stride), "CAMERA_FAULT": fault,
      ])
    }
  }
}
