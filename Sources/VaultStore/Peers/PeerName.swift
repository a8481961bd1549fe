import Foundation

/// When two local names of peers count as the same: if they look the same, or nearly.
///
/// A name is compared by its skeleton. Letters of different scripts that look alike (Latin and Cyrillic a) stay different.
package enum PeerName {
  /// The skeleton: compatibility forms are composed (NFKC), what doesn't show is dropped (joiners, format and control
  /// characters, fillers, variation selectors), upper and lower case are one, white space is trimmed, and each run of it is
  /// one space.
  ///
  /// One step may make work for another (a full-width letter has a case, a folded one may compose), so all are repeated
  /// until nothing changes.
  package static func skeleton(_ name: String) -> String {
    var skeleton = name
    for _ in 0..<8 {
      let next = folded(skeleton)
      if next.utf8.elementsEqual(skeleton.utf8) { break }
      skeleton = next
    }
    return skeleton
  }

  /// Whether it reads as that of a holder whom somebody has introduced, which no peer is.
  package static func claimsIntroduction(_ name: String) -> Bool {
    skeleton(name).contains(skeleton(", introduced by"))
  }

  package static func isBlank(_ name: String) -> Bool { skeleton(name).isEmpty }

  private static func folded(_ text: String) -> String {
    // By way of the upper case, so that ß is ss and the final sigma a sigma.
    let oneCase = text.precomposedStringWithCompatibilityMapping.uppercased().lowercased()
    var result = String.UnicodeScalarView()
    var isAfterSpace = false
    for scalar in oneCase.unicodeScalars {
      if isSpace(scalar) {
        isAfterSpace = true
      } else if isVisible(scalar) {
        if isAfterSpace && !result.isEmpty { result.append(" ") }
        isAfterSpace = false
        result.append(scalar)
      }
    }
    return String(result).precomposedStringWithCompatibilityMapping
  }

  private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
    // The braille pattern without dots is a symbol by its properties, but nobody sees it.
    scalar.properties.isWhitespace || scalar == "\u{2800}"
  }

  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    let properties = scalar.properties
    return !properties.isDefaultIgnorableCodePoint && properties.generalCategory != .format
      && properties.generalCategory != .control
  }
}
