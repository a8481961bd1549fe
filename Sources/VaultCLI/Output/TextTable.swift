/// Columns of text for people, lined up by the width that a terminal gives each character.
struct TextTable {
  /// Scalars that a cell is cut to.
  static let cellLimit = 200

  let headings: [String]
  private(set) var rows: [[String]] = []

  init(_ headings: String...) { self.headings = headings }
  init(headings: [String]) { self.headings = headings }

  mutating func add(_ cells: String...) { add(row: cells) }

  /// Every cell is escaped: cells come from peers.
  mutating func add(row cells: [String]) {
    rows.append(cells.map { Printable.escape($0, limit: Self.cellLimit) })
  }

  /// The lines, headings first, without spaces at their ends.
  var lines: [String] {
    let all = [headings] + rows
    let widths = headings.indices.map { column in
      all.map { column < $0.count ? Printable.columns($0[column]) : 0 }.max() ?? 0
    }
    return all.map { row in
      var line = ""
      for (column, cell) in row.enumerated() {
        line += cell
        if column + 1 < row.count {
          line += String(repeating: " ", count: widths[column] - Printable.columns(cell) + 2)
        }
      }
      while line.hasSuffix(" ") { line.removeLast() }
      return line
    }
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
