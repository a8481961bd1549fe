import Glibc

/// Somebody's lines between those of this program. Where the terminal's width is known, long ones are broken here and not
/// by the terminal: a row that began at its left edge could pass for one of this program's. Terminals differ in how wide
/// they draw things, so a row counts as wide as any of them draws it, and is at worst short.
extension SecretText {
  /// What stands before each row.
  static let indent = "    "
  /// In fewer columns not even the longest scalar that is spelled out, `\u{10ffff}`, stands in one row.
  private static let leastWidth = 14
  private static let tabWidth = 8

  /// Columns of the terminal that standard output goes to; nil if it goes elsewhere, or nobody knows.
  static var terminalWidth: Int? {
    guard Console.outputIsTerminal else { return nil }
    return Screen.size(of: STDOUT_FILENO)?.columns
  }

  /// Adds UTF-8 line by line, each row set in, made safe as ``append(printable:keepsLines:)`` does. `isHeading`: the first row isn't set in.
  mutating func append(lines bytes: RawSpan, width: Int?, isHeading: Bool = false) throws {
    guard !bytes.isEmpty else { return }
    var breaks: [Int] = []
    if let width { breaks = try Self.breaks(bytes, columns: max(Self.leastWidth, width) - Self.indent.utf8.count) }
    try bytes.withUnsafeBytes { bytes in
      if !isHeading { try append(Self.indent) }
      var (number, next) = (0, 0)
      var endsLine = false
      try Self.scalars(of: bytes) { scalar, isHarmless in
        let isBroken = next < breaks.count && breaks[next] == number
        if isBroken { next += 1 }
        if isBroken || endsLine { try append("\n" + Self.indent) }
        endsLine = scalar == "\n"
        number += 1
        if !endsLine { try append(shown: scalar, isHarmless) }
      }
      try append("\n")
    }
  }

  /// Adds a line of this program's own, which may have somebody's words in it: escaped, and broken where it is too long.
  mutating func append(heading line: String, width: Int?) throws {
    let bytes = Array(Printable.escape(line, limit: .max).utf8)
    try append(lines: bytes.span.bytes, width: width, isHeading: true)
  }

  private mutating func append(shown scalar: Unicode.Scalar, _ isHarmless: Bool) throws {
    if isHarmless || scalar == "\t" { return try append(scalar: scalar) }
    try append(Self.spelled(scalar))
  }

  /// Before which scalars a row is broken: behind a blank, or, in what has none, where the row is full.
  private static func breaks(_ bytes: RawSpan, columns: Int) throws -> [Int] {
    var row = Row(limit: columns)
    try bytes.withUnsafeBytes { bytes in
      try scalars(of: bytes) { scalar, isHarmless in row.add(scalar, isHarmless) }
    }
    return row.breaks
  }

  /// How far a row is filled.
  private struct Row {
    let limit: Int
    var breaks: [Int] = []
    var number = 0
    var column = 0
    var start = 0
    /// Behind the last blank, and the column there.
    var blank: (number: Int, column: Int)?
    /// The scalar that marks, joiners and the like belong to, and the column there.
    var base = (number: 0, column: 0)

    mutating func add(_ scalar: Unicode.Scalar, _ isHarmless: Bool) {
      defer { number += 1 }
      if scalar == "\n" { return begin(at: number + 1) }
      if !(isHarmless && Self.isAttached(scalar)) { base = (number, column) }
      // What stood behind the last blank may still be too long.
      while column + width(scalar, isHarmless) > limit, number > start {
        let cut = blank ?? (base.number > start ? base : (number, column))
        let left = column - cut.column
        base.column -= cut.column
        begin(at: cut.number)
        column = left
        breaks.append(start)
      }
      column += width(scalar, isHarmless)
      if scalar == " " || scalar == "\t" { blank = (number + 1, column) }
    }

    private mutating func begin(at number: Int) { (start, column, blank) = (number, 0, nil) }

    private func width(_ scalar: Unicode.Scalar, _ isHarmless: Bool) -> Int {
      if scalar == "\t" { return tabWidth - (indent.utf8.count + column) % tabWidth }
      return isHarmless ? Printable.mostColumns(scalar) : spelled(scalar).utf8.count
    }

    private static func isAttached(_ scalar: Unicode.Scalar) -> Bool {
      switch scalar.properties.generalCategory {
      case .nonspacingMark, .enclosingMark, .spacingMark, .format: true
      default: false
      }
    }
  }
}
