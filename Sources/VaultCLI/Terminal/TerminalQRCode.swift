import Glibc
import QRCode
import SecretVault

extension QRSymbol {
  /// What draws the symbol on the terminal. Throws if it doesn't fit, together with `lines` of other text below it: no camera
  /// reads half a code.
  func drawing(above lines: Int = 1, hint: String) throws -> String {
    var size = winsize()
    // Where nobody knows the size, it is drawn.
    let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 && size.ws_row > 0
    guard isKnown else { return terminal() }
    let needed = (columns: side + 4, lines: (side + 5) / 2 + lines)
    guard needed.columns > Int(size.ws_col) || needed.lines > Int(size.ws_row) else { return terminal() }
    throw VaultError(
      .other,
      "the QR code needs \(needed.columns) columns and \(needed.lines) lines, and this terminal has \(size.ws_col) and \(size.ws_row)",
      hint: hint)
  }
}
