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
    let lines = all.map { widths == full ? [Self.line($0, widths)] : Self.fittedLines($0, widths) }
    return lines.enumerated().flatMap { position, lines in
      position == 0 ? lines.map { screen.show($0, as: .heading) } : lines
    }
  }

  private static func line(_ row: [String], _ widths: [Int]) -> String {
    var line = ""
    for (column, cell) in row.enumerated() {
      line += cell
      if column + 1 < row.count {
        line += String(repeating: " ", count: max(0, widths[column] - Printable.columns(cell)) + 2)
      }
    }
    while line.hasSuffix(" ") { line.removeLast() }
    return line
  }

  /// A row of which cells are cut. The last one, which is where sentences stand, goes on below itself instead.
  private static func fittedLines(_ row: [String], _ widths: [Int]) -> [String] {
    var cells = row.enumerated().map { column, cell in
      column < widths.count ? cut(cell, to: widths[column]) : cell
    }
    guard row.count == widths.count, row.count > 1, let last = row.last, let width = widths.last else {
      return [line(cells, widths)]
    }
    let rows = broken(last, to: width)
    cells[cells.count - 1] = rows.first ?? ""
    let indent = String(repeating: " ", count: widths.dropLast().reduce(0) { $0 + $1 + 2 })
    return [line(cells, widths)] + rows.dropFirst().map { indent + $0 }
  }

  /// Rows of whole words, or of what fits of a longer one.
  private static func broken(_ text: String, to width: Int) -> [String] {
    var rows: [String] = []
    var row = ""
    for word in text.split(separator: " ") {
      var rest = word
      if !row.isEmpty, Printable.columns(row) + 1 + Printable.columns(String(rest)) <= width {
        row += " " + rest
        continue
      }
      if !row.isEmpty { rows.append(row) }
      while Printable.columns(String(rest)) > width, rest.count > 1 {
        var piece = ""
        while let next = rest.first, piece.isEmpty || Printable.columns(piece + String(next)) <= width {
          piece.append(next)
          rest.removeFirst()
        }
        rows.append(piece)
      }
      row = String(rest)
    }
    return row.isEmpty ? rows : rows + [row]
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
