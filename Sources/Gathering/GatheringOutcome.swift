package import PeerAuth
package import Sodium
package import WireCodec

/// What is shown on every device: the same names and the same words, or somebody is deceived.
///
/// Whoever shows it says how many people are in it, too, and which of them have the same name: names are all that
/// people can compare with who is there. Before it asks its user it compares the cards with those of its peers: one
/// that shares a key with a peer's (``CardKeys/sharesKey(with:)``), but not all three, can't be imported, and the
/// answer is no.
package struct GatheringList: Hashable, Sendable {
  /// All cards, the opener's first, then in the order in which guests came.
  package let cards: [PeerCard]
  /// Where among them this device's own is.
  package let own: Int
  package let check: GroupCheck

  /// Where cards are that can't be told apart by their names: case, spaces and what can't be seen don't count. Letters
  /// of other alphabets that look the same do.
  package var sameNames: [Int] {
    let names = cards.map { VisibleName.of($0.label) }
    return names.indices.filter { place in names.indices.contains { $0 != place && names[$0] == names[place] } }
  }
}

/// What people see of a label.
enum VisibleName {
  /// Without spaces and what can't be seen, in lower case; empty where nothing can be seen.
  static func of(_ label: String) -> String {
    var name = String.UnicodeScalarView()
    name.append(contentsOf: label.unicodeScalars.filter(isVisible))
    // A mark alone has nothing to stand on.
    return name.allSatisfy(isMark) ? "" : String(name).lowercased()
  }

  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    let properties = scalar.properties
    // U+2800, a Braille pattern without dots, is no space by its properties.
    guard !properties.isWhitespace, !properties.isDefaultIgnorableCodePoint, scalar.value != 0x2800 else {
      return false
    }
    return switch properties.generalCategory {
    case .control, .format, .unassigned, .privateUse, .surrogate: false
    default: true
    }
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .spacingMark: true
    default: false
    }
  }
}

extension PeerCard {
  /// Whether people who look at its label see something.
  var hasVisibleName: Bool { !VisibleName.of(label).isEmpty }
}

/// Somebody in a gathering's list.
package struct GatheringParticipant: Hashable, Sendable {
  static let opener = GatheringParticipant(position: 0, label: nil)

  /// 0 is the opener.
  package let position: Int
  /// What its card calls it, once it has shown it.
  package let label: String?
}

/// Why a gathering has ended without cards.
package enum GatheringFailure: Error, Hashable, Sendable {
  /// The number of the code is another opening's.
  case otherOpening
  /// Not let in: the words of the code are wrong, whoever answers doesn't know them, or the list was just closed.
  case notLetIn
  /// There are as many guests as there may be.
  case full
  /// The opening was guessed at too often.
  case tooManyWrongCodes
  /// Something has taken too long.
  case timeIsUp
  /// The opener can't be reached any more, before the list was closed.
  case openerGone
  /// Somebody left, couldn't be reached any more, or what came from there was changed on its way.
  case left(GatheringParticipant)
  /// Somebody's user said no.
  case saidNo(GatheringParticipant)
  /// Somebody showed what it had not committed to, the opener's key, no name, or something that doesn't belong there.
  case brokeRules(GatheringParticipant)
  /// Two showed the same key: one of them has the other's card, and nobody can tell which.
  case sameKey(GatheringParticipant, GatheringParticipant)
  /// This device's own card has a name of which nothing can be seen.
  case noName
  /// What came is no message of a gathering.
  case malformed(WireError)
  /// What came was changed on its way, or isn't sealed by the one who may.
  case damaged
  /// The library or the memory failed.
  case sodium(SodiumError)

  init(_ error: CPaceError) {
    switch error {
    case .invalidShare: self = .malformed(.invalidValue(field: "share"))
    case .sodium(let error): self = .sodium(error)
    }
  }

  init(_ error: SessionError) {
    switch error {
    case .malformed(let error): self = .malformed(error)
    case .sodium(let error): self = .sodium(error)
    default: self = .malformed(.invalidValue(field: "frame"))
    }
  }
}

/// What the library's errors are called here.
func gathering<Result: ~Copyable>(
  _ body: @autoclosure () throws(SodiumError) -> Result
) throws(GatheringFailure) -> Result {
  do throws(SodiumError) { return try body() } catch { throw .sodium(error) }
}

/// Where random bytes come from: so many, in secret memory. Only walked examples and fuzzing have another source.
package typealias GatheringChance = (Int) throws(SodiumError) -> SecretBytes
