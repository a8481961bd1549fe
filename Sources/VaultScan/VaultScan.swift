import CShims
import Glibc

/// The program `vault-scan`: prints what the QR codes in a picture hold.
///
/// It is a process of its own so that hostile pictures, and the libraries that take them apart, stay away from open
/// keys.
@main
struct VaultScan {
  static func main() {
    switch Arguments.parse(Array(CommandLine.arguments.dropFirst())) {
    case .help: finish(.found, output: Arguments.helpText)
    case .version: finish(.found, output: "vault-scan \(Version.text)\n")
    case .wrong(let reason):
      finish(.usage, complaint: "\(reason)\n\(Arguments.usageText)\nTry 'vault-scan --help'.")
    case .confinement: showConfinement()
    case .scan(let path):
      read(path) { file throws(ScanError) in
        let contents = try SymbolReader().firstFind(in: GrayImage(file: file))
        return contents.isEmpty ? nil : contents.map(line).joined()
      }
    case .strip(let path): read(path) { file throws(ScanError) in try StrippingPlan(file: file).lines(of: file) }
    case .camera(let device, let seconds, let tied): look(through: device, seconds: seconds, tied: tied)
    }
  }

  /// Prints what a picture's bytes lead to, nil if there is no QR code in it.
  private static func read(_ path: String, _ result: ([UInt8]) throws(ScanError) -> String?) -> Never {
    let name = path == "-" ? "standard input" : printable(path)
    do throws(ScanError) {
      try Confinement.begin()
      let input = try InputFile(path)
      _ = try Confinement.close(input: input.descriptor)
      guard let text = try result(input.read()) else {
        finish(.nothingFound, complaint: "no QR code found in \(name)")
      }
      finish(.found, output: text)
    } catch {
      finish(.unreadable, complaint: "\(name): \(printable(error.description))")
    }
  }

  private static func look(through device: String, seconds: Int, tied: Bool) -> Never {
    let name = printable(device)
    do throws(ScanError) {
      // Whatever a frame makes of it later: the filter doesn't let it take this back.
      if tied, vault_end_with_parent() != 0 { throw .system(doing: "end with its caller", errno: errno) }
      try Confinement.begin(seconds: rlim_t(seconds) + Confinement.secondsLimit)
      let camera = try Camera(device)
      _ = try Confinement.close(input: camera.isRead ? camera.descriptor : nil, camera: camera.descriptor)
      var search = try FrameSearch()
      let contents = try search.firstFind(by: camera, seconds: seconds, tied: tied)
      guard !contents.isEmpty else {
        finish(.nothingFound, complaint: "no QR code seen through \(name) within \(seconds) seconds")
      }
      finish(.found, output: contents.map(line).joined())
    } catch {
      finish(.noCamera, complaint: "\(name): \(printable(error.description))")
    }
  }

  private static func showConfinement() -> Never {
    do throws(ScanError) {
      try Confinement.begin()
      finish(.found, output: try Confinement.close().description)
    } catch {
      finish(.unreadable, complaint: printable(error.description))
    }
  }

  /// One symbol in the protocol of `docs/formats/qr.md`.
  static func line(_ content: [UInt8]) -> String { "qr \(content.count) \(base64(content))\n" }

  private static func finish(_ status: ExitStatus, output: String = "", complaint: String? = nil) -> Never {
    var status = status
    var complaint = complaint
    if !write(output, to: STDOUT_FILENO) {
      status = .unreadable
      complaint = "cannot write the result: \(String(cString: strerror(errno)))"
    }
    if let complaint { _ = write("vault-scan: \(complaint)\n", to: STDERR_FILENO) }
    exit(status.rawValue)
  }

  private static func write(_ text: String, to descriptor: Int32) -> Bool {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if written < 0 && errno == EINTR { continue }
      guard written > 0 else { return false }
      rest = rest.dropFirst(written)
    }
    return true
  }

  /// Text that can't steer a terminal: control characters and what reorders text become question marks.
  static func printable(_ text: String) -> String {
    let scalars = text.unicodeScalars.map { scalar -> Unicode.Scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: "?"
      default: scalar
      }
    }
    return String(String.UnicodeScalarView(scalars))
  }
}

/// The exit codes, which `vault` reads.
enum ExitStatus: Int32 {
  /// At least one symbol was found and printed, or what to keep of a picture.
  case found = 0
  /// The picture was read and shows no symbol, or no frame of a camera showed one in time.
  case nothingFound = 1
  /// The picture could not be read, is of another kind, too large, or took too long.
  case unreadable = 2
  /// The camera is missing, busy, or delivers nothing that can be read.
  case noCamera = 3
  /// The arguments are wrong (EX_USAGE).
  case usage = 64
}
