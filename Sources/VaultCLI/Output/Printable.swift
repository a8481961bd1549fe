/// Makes text from peers, cards and files safe to show on a terminal or in a log line.
///
/// A label may hold anything that Unicode has: escape sequences that repaint the screen, controls that turn the
/// reading direction around, line breaks that forge a second line. All of them are shown as `\u{…}` instead.
enum Printable {
  /// Scalars that a longer text is cut to. Nobody reads more, and a log line must not be flooded.
  static let usualLimit = 4096

  /// The text with everything invisible or active spelled out, cut to `limit` scalars.
  static func escape(_ text: String, limit: Int = usualLimit) -> String {
    var result = ""
    var taken = 0
    for scalar in text.unicodeScalars {
      guard taken < limit else { return result + "…" }
      taken += 1
      result.unicodeScalars.append(contentsOf: isHarmless(scalar) ? [scalar] : Array(spelled(scalar).unicodeScalars))
    }
    return result
  }

  /// Whether a scalar can be shown as it is: it draws something and changes nothing around it.
  static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
      // The joiners stand inside words of many scripts and inside emoji; they reorder nothing.
      return scalar.value == 0x200C || scalar.value == 0x200D
    default:
      return true
    }
  }

  private static func spelled(_ scalar: Unicode.Scalar) -> String {
    switch scalar {
    case "\n": return "\\n"
    case "\r": return "\\r"
    case "\t": return "\\t"
    default: return "\\u{" + String(scalar.value, radix: 16) + "}"
    }
  }

  /// Columns that a text takes on a terminal, close enough to line tables up.
  static func columns(_ text: String) -> Int {
    text.reduce(0) { $0 + columns($1) }
  }

  private static func columns(_ character: Character) -> Int {
    var widest = 0
    for scalar in character.unicodeScalars {
      if scalar.value == 0xFE0F { return 2 }
      widest = max(widest, columns(scalar))
    }
    return widest
  }

  private static func columns(_ scalar: Unicode.Scalar) -> Int {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    if scalar.properties.isEmojiPresentation { return 2 }
    // East Asian Wide and Fullwidth, after Unicode's EastAsianWidth.txt, by block.
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
      0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
      0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }
}
