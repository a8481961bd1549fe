import Glibc

enum ScanError: Error, Equatable, CustomStringConvertible {
  /// A system call failed; `doing` says what was tried.
  case system(doing: String, errno: Int32)
  case fileTooLarge
  case unknownFormat
  case sizeRefused(width: Int, height: Int)
  case png(reason: String)
  case jpeg(reason: String)
  /// The blocks of a picture that is to be stripped aren't what they should be.
  case blocks(_ reason: String)
  case notStrippable
  case scanner
  case camera(CameraFault)

  var description: String {
    switch self {
    case .system(let doing, let number): "cannot \(doing): \(String(cString: strerror(number)))"
    case .fileTooLarge: "larger than \(InputFile.byteLimit >> 20) MiB"
    case .unknownFormat: "neither PNG nor JPEG"
    case .sizeRefused(let width, let height): "\(width) x \(height) pixels are more than this program reads"
    case .png(let reason): "damaged or unsupported PNG: \(reason)"
    case .jpeg(let reason): "damaged or unsupported JPEG: \(reason)"
    case .blocks(let reason): "damaged picture: \(reason)"
    case .notStrippable: "neither JPEG, PNG nor WebP"
    case .camera(let fault): fault.description
    case .scanner: "the scanner could not start"
    }
  }
}
