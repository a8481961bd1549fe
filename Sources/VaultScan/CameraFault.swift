import Glibc

enum CameraFault: Equatable {
  case absent
  case notPermitted
  case busy
  case notACamera
  /// It is some other video device, or one that hands out frames in a way of its own.
  case noFrames
  /// It offers none of the kinds of frame that are read.
  case noFormat
  case unplugged
  /// A frame is shorter than its size demands. The next one may be whole.
  case incompleteFrame
  case brokenFrames
  /// A system call failed; `doing` says what was tried.
  case system(doing: String, errno: Int32)

  init(_ number: Int32, doing: String) {
    switch number {
    case ENOENT, ENXIO: self = .absent
    case EACCES, EPERM: self = .notPermitted
    case EBUSY: self = .busy
    case ENODEV: self = .unplugged
    case ENOTTY: self = .notACamera
    default: self = .system(doing: doing, errno: number)
    }
  }

  var description: String {
    switch self {
    case .absent: "there is no camera"
    case .notPermitted: "no permission to use this camera"
    case .busy: "another program is using this camera"
    case .notACamera: "this is no camera"
    case .noFrames: "this device hands out no pictures that this program can take"
    case .noFormat: "this camera offers none of \(PixelFormat.allCases.map(\.rawValue).joined(separator: ", "))"
    case .unplugged: "the camera is gone"
    case .incompleteFrame: "an incomplete frame"
    case .brokenFrames: "the camera delivers only broken frames"
    case .system(let doing, let number): "cannot \(doing): \(String(cString: strerror(number)))"
    }
  }
}
