/// What the command line asks for.
enum Arguments: Equatable {
  case scan(path: String)
  case help
  case version
  case wrong(reason: String)

  static let versionText = "0.1.0"

  static let helpText = """
    Print what the QR codes in a picture hold.

    usage: vault-scan [--] IMAGE

    IMAGE is a PNG or JPEG file, told apart by its first bytes, or - for standard
    input: at most 64 MiB, 12000 pixels a side and 64 megapixels.

    For each different content one line is printed: the word qr, the number of
    bytes, and the bytes in base64, separated by single spaces.

      --help      show this text
      --version   show the version

    exit codes: 0 found, 1 no QR code in the picture, 2 unreadable picture,
    64 wrong arguments

    """

  static func parse(_ arguments: [String]) -> Arguments {
    var paths: [String] = []
    var optionsEnded = false
    for argument in arguments {
      if optionsEnded || argument == "-" || !argument.hasPrefix("-") {
        paths.append(argument)
        continue
      }
      switch argument {
      case "--": optionsEnded = true
      case "--help", "-h": return .help
      case "--version": return .version
      default: return .wrong(reason: "unknown option \(VaultScan.printable(argument))")
      }
    }
    guard let path = paths.first else { return .wrong(reason: "no picture named") }
    guard paths.count == 1 else { return .wrong(reason: "more than one picture named") }
    return .scan(path: path)
  }
}
