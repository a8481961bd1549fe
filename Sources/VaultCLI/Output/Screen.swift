import Glibc
import Synchronization

/// A terminal that somebody reads: how wide it is, and whether it shows bold and colours. Pipes, files and JSON get neither
/// those nor lines cut to a width.
struct Screen: Sendable {
  /// What a few words are, which a terminal shows by how they look.
  enum Style: String, Sendable {
    case heading = "1"
    case error = "1;31"
    case warning = "33"
    /// Words that say what follows, such as `hint:`.
    case aside = "2"
  }

  /// Nil where nobody knows, and where nobody reads.
  var columns: Int?
  var isStyled = false

  /// No terminal.
  static let none = Screen()

  private static let known = Mutex((output: Screen.none, error: Screen.none))

  /// Where results go. It is none until the program has looked.
  static var output: Screen { known.withLock { $0.output } }
  /// Where notes, warnings and errors go.
  static var error: Screen { known.withLock { $0.error } }

  /// Looks where standard output and standard error lead.
  static func look() {
    let isWanted = isStyleWanted(noColour: variable("NO_COLOR"), terminal: variable("TERM"))
    func screen(_ descriptor: Int32) -> Screen {
      guard isatty(descriptor) == 1 else { return .none }
      return Screen(columns: size(of: descriptor)?.columns, isStyled: isWanted)
    }
    let found = (output: screen(STDOUT_FILENO), error: screen(STDERR_FILENO))
    known.withLock { $0 = found }
  }

  /// `NO_COLOR` as no-color.org has it: set, and not empty.
  static func isStyleWanted(noColour: String?, terminal: String?) -> Bool {
    guard let terminal, !terminal.isEmpty, terminal != "dumb" else { return false }
    return noColour?.isEmpty ?? true
  }

  /// The size of the terminal behind a descriptor; nil if there is none, or nobody knows.
  static func size(of descriptor: Int32) -> (columns: Int, lines: Int)? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return nil }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  func show(_ text: String, as style: Style) -> String {
    isStyled && !text.isEmpty ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }
}
