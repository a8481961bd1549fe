package import PeerAuth
package import Sodium
package import WireCodec

/// What is shown on every device: the same names and the same words, or somebody is deceived.
package struct GatheringList: Hashable, Sendable {
  /// All cards, the opener's first, then in the order in which guests came.
  package let cards: [PeerCard]
  /// Where among them this device's own is.
  package let own: Int
  package let check: GroupCheck
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
  /// The words of the code are wrong, or whoever answers doesn't know them.
  case notLetIn
  /// There are as many guests as there may be.
  case full
  /// The opening was guessed at too often.
  case tooManyWrongCodes
  /// Something has taken too long.
  case timeIsUp
  /// The opener can't be reached any more, before the list was closed.
  case openerGone
  /// Somebody left, or couldn't be reached any more.
  case left(GatheringParticipant)
  /// Somebody's user said no.
  case saidNo(GatheringParticipant)
  /// Somebody showed what it had not committed to, another's key, or something that doesn't belong there.
  case brokeRules(GatheringParticipant)
  /// What came is no message of a gathering, or not sealed by the one who may.
  case malformed(WireError)
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
