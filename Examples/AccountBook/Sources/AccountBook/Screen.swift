/// What is printed: columns, and no control characters of others.
enum Screen {
  static func table(_ rows: [[String]]) {
    let rows = rows.map { $0.map(visible) }
    let count = rows.map(\.count).max() ?? 0
    let widths = (0..<count).map { column in rows.map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
    }
    for row in rows {
      let cells = row.enumerated().map { $1 + String(repeating: " ", count: widths[$0] - $1.count) }
      print(cells.joined(separator: "  ").trimmed)
    }
  }

  /// Others have written it: control characters, and those that turn the writing round, are shown as dots.
  static func visible(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { scalar in
          switch scalar.properties.generalCategory {
          case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: "·"
          default: scalar
          }
        }))
  }
}

extension String {
  fileprivate var trimmed: String {
    var text = self
    while text.last == " " { text.removeLast() }
    return text
  }
}
