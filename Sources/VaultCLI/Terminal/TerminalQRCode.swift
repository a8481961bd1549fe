import Glibc
import QRCode
import SecretVault

extension QRSymbol {
  /// What draws the symbol on the terminal. Throws if it doesn't fit, together with `lines` of other text below it: no camera
  /// reads half a code.
  func drawing(above lines: Int = 1, hint: String) throws -> String {
    // Where nobody knows the size, it is drawn.
    guard let size = Screen.size(of: STDOUT_FILENO) else { return terminal() }
    let needed = (columns: side + 4, lines: (side + 5) / 2 + lines)
    guard needed.columns > size.columns || needed.lines > size.lines else { return terminal() }
    throw VaultError(
      .other,
      "the QR code needs \(needed.columns) columns and \(needed.lines) lines, and this terminal has \(size.columns) and \(size.lines)",
      hint: hint)
  }
}
