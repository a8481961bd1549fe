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
    var previous: Unicode.Scalar?
    var scalars = text.unicodeScalars.makeIterator()
    var upcoming = scalars.next()
    while let scalar = upcoming {
      guard taken < limit else { return result + "…" }
      taken += 1
      upcoming = scalars.next()
      if isHarmless(scalar, after: previous, before: taken < limit ? upcoming : nil) {
        result.unicodeScalars.append(scalar)
        previous = scalar
      } else {
        result += spelled(scalar)
        previous = nil
      }
    }
    return result
  }

  /// Somebody's words within a sentence of this program: in quotes that they can't end, with one blank for many, which
  /// would push what comes behind them out of sight, and cut to 64 scalars.
  static func quoted(_ text: String) -> String {
    let limit = 64
    var words = ""
    var count = 0
    var isBlankDue = false
    for scalar in text.unicodeScalars where count <= limit {
      // The pattern of Braille without dots draws nothing either.
      if scalar.properties.isWhitespace || scalar.value == 0x2800 {
        isBlankDue = !words.isEmpty
        continue
      }
      if isBlankDue {
        words += " "
        count += 1
        isBlankDue = false
      }
      words.unicodeScalars.append(scalar.properties.isQuotationMark ? "'" : scalar)
      count += 1
    }
    return "\"" + escape(words, limit: limit) + "\""
  }

  /// Whether a scalar can be shown as it is where it stands: it draws something and changes nothing around it. `previous`
  /// is the scalar before it if that is shown as it is.
  static func isHarmless(
    _ scalar: Unicode.Scalar, after previous: Unicode.Scalar?, before next: Unicode.Scalar?
  ) -> Bool {
    if isJoiner(scalar) {
      // The joiners stand inside words of many scripts and inside emoji, and reorder nothing. Elsewhere they would only
      // make two names look like one.
      guard let previous, let next else { return false }
      return !previous.isASCII && !isJoiner(previous) && !next.isASCII && isHarmless(next)
    }
    if scalar.properties.isVariationSelector {
      guard let previous else { return false }
      // Digits become keys: 1️⃣.
      if previous.isASCII { return next?.value == 0x20E3 }
      return !isJoiner(previous) && !previous.properties.isVariationSelector
    }
    return isHarmless(scalar)
  }

  /// Whether a scalar can be shown wherever it stands.
  private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
    // Fillers and the like are letters that draw nothing.
    default: !scalar.properties.isDefaultIgnorableCodePoint
    }
  }

  private static func isJoiner(_ scalar: Unicode.Scalar) -> Bool { scalar.value == 0x200C || scalar.value == 0x200D }

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
    text.reduce(0) { sum, character in
      let scalars = character.unicodeScalars
      // With this selector everything is drawn as a picture.
      return sum + (scalars.contains { $0.value == 0xFE0F } ? 2 : scalars.map(columns).max() ?? 0)
    }
  }

  /// The most columns that a terminal gives a scalar, whatever stands around it. Many know only older marks or join no emoji,
  /// some have their own tables of wide scalars, and behind most scalars a selector can ask for a picture: so nothing counts
  /// for less than one column, and beyond the alphabets two is the rule.
  static func mostColumns(_ scalar: Unicode.Scalar) -> Int {
    if scalar.isASCII { return 1 }
    switch scalar.value {
    // A Khmer sign and the dash that some draw as wide as their parts.
    case 0x17D8, 0x2E3B: return 3
    case 0x17A4: return 2
    case 0x1100...0x11FF, 0x2100...: return 2
    default: return scalar.properties.isEmoji ? 2 : 1
    }
  }

  private static func columns(_ scalar: Unicode.Scalar) -> Int {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    if scalar.properties.isEmojiPresentation { return 2 }
    // East Asian Wide and Fullwidth, after Unicode's EastAsianWidth.txt, by block.
    switch scalar.value {
    case 0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
      0xF900...0xFAFF,
      0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF,
      0x1D300...0x1D376,
      0x1F200...0x1F2FF, 0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }
}
