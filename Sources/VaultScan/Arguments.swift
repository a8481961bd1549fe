enum Arguments: Equatable {
  case scan(path: String)
  case strip(path: String)
  case camera(device: String, seconds: Int, tied: Bool)
  case confinement
  case help
  case version
  case wrong(reason: String)

  static let defaultDevice = "/dev/video0"
  static let defaultSeconds = 60
  static let longestSeconds = 3600

  static let usageText =
    "usage: vault-scan [--] IMAGE | vault-scan --strip [--] IMAGE | vault-scan --camera [--timeout SECONDS] [--tied] [DEVICE]"

  static let helpText = """
    Print what the QR codes in a picture hold.

    \(usageText)

    IMAGE is a PNG or JPEG file, told apart by its first bytes, or - for standard
    input: at most 64 MiB, 12000 pixels a side and 64 megapixels.

    With --strip it says instead which bytes of a JPEG, PNG or WebP file make up the
    picture, and leaves out what is said about it, such as where it was taken.

    With --camera, DEVICE (\(defaultDevice) unless named) is a camera of Video4Linux,
    and its frames are looked at until one shows a QR code.

    For each different content one line is printed: the word qr, the number of
    bytes, and the bytes in base64, separated by single spaces.

      --strip             say what to keep of the file, without looking at the picture
      --camera            look through a camera
      --timeout SECONDS   give up after so long (1 to \(longestSeconds), \(defaultSeconds) unless said)
      --tied              give up when standard input ends
      --confinement       say what this kernel keeps this program from, and end
      --help              show this text
      --version           show the version

    exit codes: 0 found, 1 no QR code in the picture or in time, 2 unreadable
    picture, 3 unusable camera, 64 wrong arguments

    """

  static func parse(_ arguments: [String]) -> Arguments {
    var paths: [String] = []
    var optionsEnded = false
    var (isCamera, isTied, isStripping) = (false, false, false)
    var timeout: Int?
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      if optionsEnded || argument == "-" || !argument.hasPrefix("-") {
        paths.append(argument)
        continue
      }
      switch argument {
      case "--": optionsEnded = true
      case "--help", "-h": return .help
      case "--version": return .version
      case "--confinement": return .confinement
      case "--camera": isCamera = true
      case "--tied": isTied = true
      case "--strip": isStripping = true
      case "--timeout":
        guard let text = rest.popFirst(), let seconds = Int(text), (1...longestSeconds).contains(seconds) else {
          return .wrong(reason: "--timeout wants a number of seconds from 1 to \(longestSeconds)")
        }
        timeout = seconds
      default: return .wrong(reason: "unknown option \(VaultScan.printable(argument))")
      }
    }
    guard !isCamera || !isStripping else { return .wrong(reason: "--strip and --camera exclude each other") }
    if isCamera {
      guard paths.count <= 1 else { return .wrong(reason: "more than one camera named") }
      return .camera(device: paths.first ?? defaultDevice, seconds: timeout ?? defaultSeconds, tied: isTied)
    }
    guard !isTied, timeout == nil else { return .wrong(reason: "--timeout and --tied belong to --camera") }
    guard let path = paths.first else { return .wrong(reason: "no picture named") }
    guard paths.count == 1 else { return .wrong(reason: "more than one picture named") }
    return isStripping ? .strip(path: path) : .scan(path: path)
  }
}
