import ScanPictures
import Testing

/// Draws what a program wrote to a terminal the way a terminal does: cells of `cellWidth` by twice as many pixels, the
/// theme's colours until an escape code chooses others, block characters as filled rectangles.
struct Screenshot {
  let cellWidth: Int
  let themeForeground: UInt8
  let themeBackground: UInt8

  static let dark = Screenshot(cellWidth: 10, themeForeground: 220, themeBackground: 20)
  static let light = Screenshot(cellWidth: 10, themeForeground: 40, themeBackground: 250)

  func picture(of text: String) throws -> Picture {
    let margin = 3
    let lines = text.split(separator: "\n")
    let widest = try lines.map { try cells(of: $0).count }.max() ?? 0
    var picture = Picture(
      width: (widest + 2 * margin) * cellWidth, height: (lines.count + 2 * margin) * cellWidth * 2,
      gray: themeBackground)
    for (row, line) in lines.enumerated() {
      for (column, cell) in try cells(of: line).enumerated() {
        let (left, top) = ((column + margin) * cellWidth, (row + margin) * cellWidth * 2)
        picture.fill(left, top, cellWidth, cellWidth, cell.upper)
        picture.fill(left, top + cellWidth, cellWidth, cellWidth, cell.lower)
      }
    }
    return picture
  }

  /// The upper and lower half of each character cell of a line.
  private func cells(of line: Substring) throws -> [(upper: UInt8, lower: UInt8)] {
    var cells: [(upper: UInt8, lower: UInt8)] = []
    var (foreground, background) = (themeForeground, themeBackground)
    var rest = line
    while let character = rest.popFirst() {
      switch character {
      case "\u{1b}":
        try #require(rest.popFirst() == "[")
        let end = try #require(rest.firstIndex(of: "m"))
        var codes = try rest[..<end].split(separator: ";").map { try #require(Int($0)) }[...]
        rest = rest[end...].dropFirst()
        while let code = codes.popFirst() {
          switch code {
          case 0: (foreground, background) = (themeForeground, themeBackground)
          case 38: foreground = try indexedGray(&codes)
          case 48: background = try indexedGray(&codes)
          default: Issue.record("unknown attribute \(code)")
          }
        }
      case " ": cells.append((background, background))
      case "█": cells.append((foreground, foreground))
      case "▀": cells.append((foreground, background))
      case "▄": cells.append((background, foreground))
      default: Issue.record("unexpected character \(character)")
      }
    }
    return cells
  }

  /// `5;n`: the corners of the 6 x 6 x 6 colour cube that are gray.
  private func indexedGray(_ codes: inout ArraySlice<Int>) throws -> UInt8 {
    try #require(codes.popFirst() == 5)
    let colour = codes.popFirst()
    switch colour {
    case 16: return 0
    case 231: return 255
    default:
      Issue.record("colour \(String(describing: colour)) depends on the theme or is not gray")
      return 128
    }
  }
}
