/// Columns of text for people, lined up by the width that a terminal gives each character.
struct TextTable {
  /// Scalars that a cell is cut to.
  static let cellLimit = 200
  /// Columns that every cell keeps on a narrow screen.
  private static let leastWidth = 4

  let headings: [String]
  private(set) var rows: [[String]] = []

  init(_ headings: String...) { self.headings = headings }
  init(headings: [String]) { self.headings = headings }

  mutating func add(_ cells: String...) { add(row: cells) }

  /// Every cell is escaped: cells come from peers.
  mutating func add(row cells: [String]) {
    rows.append(cells.map { Printable.escape($0, limit: Self.cellLimit) })
  }

  /// The lines as results go out.
  var lines: [String] { lines(on: .output) }

  /// The lines, headings first, without spaces at their ends; `indent` is how far they are set in later.
  func lines(on screen: Screen, indent: Int = 0) -> [String] {
    let all = [headings] + rows
    let full = headings.indices.map { column in
      all.map { column < $0.count ? Printable.columns($0[column]) : 0 }.max() ?? 0
    }
    let widths = Self.fitted(full, headings, to: screen.columns.map { $0 - indent })
    let isCut = widths != full
    return all.enumerated().map { position, row in
      var line = ""
      for (column, cell) in row.enumerated() {
        let shown = isCut && column < widths.count ? Self.cut(cell, to: widths[column]) : cell
        line += shown
        if column + 1 < row.count {
          line += String(repeating: " ", count: widths[column] - Printable.columns(shown) + 2)
        }
      }
      while line.hasSuffix(" ") { line.removeLast() }
      return position == 0 ? screen.show(line, as: .heading) : line
    }
  }

  /// Columns that are left of each cell where all together don't fit on the screen: the widest give first. Ids stay whole, to
  /// be copied. Nothing is cut where there is no screen.
  static func fitted(_ widths: [Int], _ headings: [String], to limit: Int?) -> [Int] {
    guard let limit, !widths.isEmpty else { return widths }
    let gaps = 2 * (widths.count - 1)
    var excess = widths.reduce(gaps, +) - limit
    var fitted = widths
    while excess > 0 {
      let widest = fitted.indices.filter { headings[$0] != "ID" }.max { fitted[$0] < fitted[$1] }
      guard let widest, fitted[widest] > leastWidth else { break }
      fitted[widest] -= 1
      excess -= 1
    }
    return fitted
  }

  /// What stands in so many columns, with a sign where something is missing.
  static func cut(_ text: String, to width: Int) -> String {
    guard Printable.columns(text) > width else { return text }
    var kept = ""
    var columns = 0
    for character in text {
      columns += Printable.columns(String(character))
      guard columns < width else { break }
      kept.append(character)
    }
    return kept + "…"
  }

  /// Names and values below one another: `name:  value`, values in one column.
  static func facts(_ facts: [(name: String, value: String)]) -> [String] {
    let width = facts.map { Printable.columns($0.name) }.max() ?? 0
    return facts.map { fact in
      let gap = String(repeating: " ", count: width - Printable.columns(fact.name) + 2)
      return "\(fact.name):\(gap)\(Printable.escape(fact.value))"
    }
  }
}
