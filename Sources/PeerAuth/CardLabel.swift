/// Which labels a card may carry: anything that people write, nothing that could forge what a terminal shows.
enum CardLabel {
  /// Most bytes in UTF-8.
  static let byteLimit = 64

  /// Whether `label` fits and holds no control, line-breaking, bidirectional-control or invisible tag character.
  static func isAcceptable(_ label: String) -> Bool {
    label.utf8.count <= byteLimit && label.unicodeScalars.allSatisfy { !isForbidden($0) }
  }

  private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0...0x1f, 0x7f...0x9f: true  // control characters
    case 0x2028, 0x2029: true  // line and paragraph separator
    case 0x61c, 0x200e, 0x200f, 0x202a...0x202e, 0x2066...0x2069: true  // bidirectional controls
    case 0xfeff, 0xfff9...0xfffb, 0xe0000...0xe007f: true  // byte order mark, annotations, tags
    default: false
    }
  }
}
