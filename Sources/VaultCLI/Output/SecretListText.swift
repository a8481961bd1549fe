import Dispatch
import SecretVault
import VaultStore

/// The list of secrets as bytes: what ``TextTable`` and ``JSONValue`` would make of them, for hundreds of thousands in a
/// few hundredths of a second. Both are built without a text of its own for each cell, on all processors.
struct SecretListText {
  private static let chunkLineCount = 4096

  private let list: SecretList
  private let lines: [SecretListing.Line]

  init(_ list: SecretList) {
    self.list = list
    lines = list.listing.lines
  }

  /// Ranges of lines that one processor takes at a time.
  private var chunks: [Range<Int>] {
    stride(from: 0, to: lines.count, by: Self.chunkLineCount).map { start in
      start..<min(start + Self.chunkLineCount, lines.count)
    }
  }

  private func inParallel<Value: Sendable>(_ work: @Sendable (Range<Int>) -> Value) -> [Value] {
    let chunks = chunks
    return Self.inParallel(chunks.count) { work(chunks[$0]) }
  }

  /// What `work` makes of each number below `count`, in their order.
  private static func inParallel<Value: Sendable>(_ count: Int, _ work: @Sendable (Int) -> Value) -> [Value] {
    var results = [Value?](repeating: nil, count: count)
    results.withUnsafeMutableBufferPointer { buffer in
      // Each place is written once, by one thread, and read when all are done.
      nonisolated(unsafe) let places = buffer
      withoutActuallyEscaping(work) { work in
        DispatchQueue.concurrentPerform(iterations: count) { places[$0] = work($0) }
      }
    }
    return results.compactMap { $0 }
  }

  // MARK: - JSON

  /// One line of JSON: an array with an object for each secret.
  func json() -> [[UInt8]] {
    var parts = inParallel { range in json(range) }
    if parts.isEmpty { parts = [Array("[".utf8)] }
    parts.append(Array("]\n".utf8))
    return parts
  }

  private func json(_ range: Range<Int>) -> [UInt8] {
    let dealers = list.dealers.map { Array(JSONValue.string($0).text.utf8) }
    var output = ByteText(capacity: range.count * 320)
    for position in range {
      let line = lines[position]
      let isDealt = line.origin == .dealt
      output.append(position == 0 ? "[" : ",")
      output.append("{\"id\":\"")
      output.append(hexadecimal: line.id.high, digits: 16)
      output.append(hexadecimal: line.id.low, digits: 16)
      output.append("\",\"description\":")
      if let range = line.description { append(json: range, to: &output) } else { output.append("null") }
      output.append(",\"kind\":\"")
      output.append(text: SecretList.kind(line.kind))
      output.append(isDealt ? "\",\"origin\":\"dealt\",\"dealer\":" : "\",\"origin\":\"held\",\"dealer\":")
      if isDealt { output.append("\"you\"") } else { output.append(dealers[line.dealer]) }
      output.append(",\"threshold\":")
      output.append(number: Int(line.threshold))
      output.append(",\"shareCount\":")
      output.append(number: Int(line.shareCount))
      output.append(",\"ownIndex\":")
      if line.ownIndex == 0 { output.append("null") } else { output.append(number: Int(line.ownIndex)) }
      output.append(",\"createdAt\":\"")
      output.append(moment: line.createdAt)
      output.append("\",\"delivered\":")
      if isDealt { output.append(number: Int(line.delivered)) } else { output.append("null") }
      output.append(",\"waiting\":")
      if isDealt { output.append(number: Int(line.waiting)) } else { output.append("null") }
      output.append(list.isUnlocked(line) ? ",\"unlocked\":true}" : ",\"unlocked\":false}")
    }
    return output.bytes
  }

  private func append(json range: Range<Int>, to output: inout ByteText) {
    let bytes = list.listing.texts[range]
    if bytes.allSatisfy({ ByteText.isPlain($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
      output.append("\"")
      output.append(bytes)
      output.append("\"")
    } else {
      output.append(text: JSONValue.string(String(decoding: bytes, as: UTF8.self)).text)
    }
  }

  // MARK: - Table

  private static let headings = ["ID", "DESCRIPTION", "KIND", "FROM", "NEEDS", "DELIVERED", "CREATED"]

  /// Cells of some lines, row by row: where each ends in `bytes`, and how many columns it takes.
  private struct Cells: Sendable {
    var text: ByteText
    var ends: [Int] = []
    var columns: [Int] = []
    var widths = [Int](repeating: 0, count: SecretListText.headings.count)

    mutating func end(columns count: Int) {
      let column = columns.count % widths.count
      widths[column] = max(widths[column], count)
      ends.append(text.bytes.count)
      columns.append(count)
    }

    /// Ends a cell that consists of as many columns as it has bytes.
    mutating func end() { end(columns: text.bytes.count - (ends.last ?? 0)) }

    mutating func add(_ cell: (bytes: [UInt8], columns: Int)) {
      text.append(cell.bytes)
      end(columns: cell.columns)
    }
  }

  func table(now: Int64, on screen: Screen = .output) -> [[UInt8]] {
    guard !lines.isEmpty else { return [] }
    let parts = inParallel { range in cells(range, now: now) }
    var widths = Self.headings.map(\.utf8.count)
    for part in parts { for column in widths.indices { widths[column] = max(widths[column], part.widths[column]) } }
    var heading = Cells(text: ByteText(capacity: 128))
    for word in Self.headings {
      heading.text.append(text: word)
      heading.end()
    }
    let all = [heading] + parts
    let columns = TextTable.fitted(widths, Self.headings, to: screen.columns)
    let isCut = columns != widths
    var rows = Self.inParallel(all.count) { Self.rows(all[$0], columns, isCut: isCut) }
    if screen.isStyled {
      let line = String(decoding: rows[0].dropLast(), as: UTF8.self)
      rows[0] = Array((screen.show(line, as: .heading) + "\n").utf8)
    }
    return rows
  }

  private func cells(_ range: Range<Int>, now: Int64) -> Cells {
    let dealers = list.dealers.map { Self.cell($0) }
    let you = Self.cell("you")
    var ages = AgeMemory(now: now)
    var cells = Cells(text: ByteText(capacity: range.count * 96))
    for position in range {
      let line = lines[position]
      let isDealt = line.origin == .dealt
      cells.text.append(hexadecimal: line.id.high >> 16, digits: 12)
      cells.end()
      append(cell: line.description, to: &cells)
      cells.text.append(text: SecretList.kind(line.kind))
      cells.end()
      cells.add(isDealt ? you : dealers[line.dealer])
      cells.text.append(number: Int(line.threshold))
      cells.text.append(" of ")
      cells.text.append(number: Int(line.shareCount))
      if list.isUnlocked(line) { cells.text.append(", unlocked") }
      cells.end()
      if isDealt {
        cells.text.append(number: Int(line.delivered))
        if line.waiting > 0 {
          cells.text.append(", ")
          cells.text.append(number: Int(line.waiting))
          cells.text.append(" waiting")
        }
      } else {
        cells.text.append("-")
      }
      cells.end()
      cells.text.append(ages.text(line.createdAt))
      cells.end()
    }
    return cells
  }

  private func append(cell range: Range<Int>?, to cells: inout Cells) {
    guard let range else {
      cells.text.append("-")
      return cells.end()
    }
    let bytes = list.listing.texts[range]
    if bytes.count <= TextTable.cellLimit, bytes.allSatisfy({ ByteText.isPlain($0) }) {
      cells.text.append(bytes)
      cells.end()
    } else {
      cells.add(Self.cell(String(decoding: bytes, as: UTF8.self)))
    }
  }

  private static func cell(_ text: String) -> (bytes: [UInt8], columns: Int) {
    let escaped = Printable.escape(text, limit: TextTable.cellLimit)
    return (Array(escaped.utf8), Printable.columns(escaped))
  }

  private static func rows(_ cells: Cells, _ widths: [Int], isCut: Bool) -> [UInt8] {
    let rowWidth = widths.reduce(0) { $0 + $1 + 2 }
    var output = ByteText(capacity: cells.text.bytes.count + (cells.ends.count / widths.count) * rowWidth)
    var start = 0
    for (position, end) in cells.ends.enumerated() {
      let column = position % widths.count
      var taken = cells.columns[position]
      if isCut, taken > widths[column] {
        let shown = TextTable.cut(String(decoding: cells.text.bytes[start..<end], as: UTF8.self), to: widths[column])
        output.append(text: shown)
        taken = Printable.columns(shown)
      } else {
        output.append(cells.text.bytes[start..<end])
      }
      if column + 1 < widths.count {
        output.append(spaces: widths[column] - taken + 2)
      } else {
        output.trimSpaces()
        output.append("\n")
      }
      start = end
    }
    return output.bytes
  }
}

/// The words of ``Measures/ago(_:now:)``, which are the same for many moments.
private struct AgeMemory {
  let now: Int64
  var known: [Int64: [UInt8]] = [:]

  mutating func text(_ then: Int64) -> [UInt8] {
    let (difference, overflow) = now.subtractingReportingOverflow(then)
    guard !overflow, then >= 0, difference >= 0 else { return Array(Measures.ago(then, now: now).utf8) }
    // All moments with the same key have the same words: a day of the calendar, or a number of minutes, hours or days.
    let seconds = difference / 1000
    let key =
      seconds >= 30 * 86400
      ? then / 86_400_000
      : seconds >= 86400 ? -3 * 86400 - seconds / 86400 : seconds >= 3600 ? -86400 - seconds / 3600 : -1 - seconds / 60
    if let text = known[key] { return text }
    let text = Array(Measures.ago(then, now: now).utf8)
    known[key] = text
    return text
  }
}
