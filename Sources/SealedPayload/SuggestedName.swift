/// File names from inside a payload are suggestions by whoever sealed it, not paths to be trusted.
public enum SuggestedName {
  /// The name used when nothing usable is left.
  package static let fallback = "recovered"
  /// Most bytes of a sanitised name in UTF-8.
  package static let byteLimit = 255

  /// The same as ``sanitised(_:)`` with a `limit` that leaves room for an ending. With `hides`, dots may lead: for a name that is only shown.
  package static func sanitised(_ name: RawSpan, limit: Int = byteLimit, hides: Bool = false) -> String {
    let text = name.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    // Scalars, not characters: a slash or dot with a combining mark behind it is still one to the file system.
    let components = text.unicodeScalars.split { $0 == "/" || $0 == "\\" }
    var kept = String.UnicodeScalarView()
    for scalar in components.last ?? Substring.UnicodeScalarView() {
      if isBlank(scalar) { kept.append(" ") } else if isVisible(scalar) { kept.append(scalar) }
    }
    let start = kept.firstIndex { $0 != " " && (hides || $0 != ".") } ?? kept.endIndex
    let cut = shortened(String(kept[start...]), limit)
    let end = cut.unicodeScalars.lastIndex { $0 != " " }.map { cut.unicodeScalars.index(after: $0) }
    let result = String(cut.unicodeScalars[..<(end ?? cut.startIndex)])
    return result.isEmpty || result == "." || result == ".." ? fallback : result
  }

  /// The name as it was given, where ``sanitised(_:)`` makes another one of it; nil where nothing is changed, and where there
  /// is none. Only to be told to the user, escaped.
  package static func original(_ name: RawSpan) -> String? {
    guard name.byteCount > 0 else { return nil }
    let text = name.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    // Bytes that are not UTF-8 have been replaced: that is a change, too.
    let isSame = name.withUnsafeBytes { $0.elementsEqual(sanitised(name).utf8) }
    return isSame ? nil : text
  }

  private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.generalCategory == .spaceSeparator
  }

  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    // Format characters include everything that changes the direction of text, and the zero-width ones.
    case .control, .format, .surrogate, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse: false
    default: !scalar.properties.isDefaultIgnorableCodePoint
    }
  }

  private static func shortened(_ text: String, _ limit: Int) -> String {
    guard text.utf8.count > limit else { return text }
    var result = ""
    for character in text {
      guard result.utf8.count + character.utf8.count <= limit else { break }
      result.append(character)
    }
    guard result.isEmpty else { return result }
    // One character of hundreds of combining marks.
    var scalars = String.UnicodeScalarView()
    var count = 0
    for scalar in text.unicodeScalars {
      count += UTF8.width(scalar)
      guard count <= limit else { break }
      scalars.append(scalar)
    }
    return String(scalars)
  }
}
