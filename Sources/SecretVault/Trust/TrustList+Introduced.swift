import PeerAuth
import Sodium
import Synchronization
import VaultProtocol
package import VaultStore

extension TrustList {
  /// Letters that wait, and what has come of others.
  package func groupLetters() throws -> [GroupLetterRecord] {
    try database.groupLetters()
  }

  /// Changes them in one step: others see them as they were, or as they are behind `body`.
  package func changeGroupLetters<Value>(
    _ body: (inout [GroupLetterRecord]) -> Value
  ) throws -> Value {
    try database.changeGroupLetters(body)
  }

  /// Makes an introduced holder a peer, by the keys that were shown. Its user and this one should have compared the fingerprint.
  package func acceptIntroduced(_ holder: IntroducedHolder, name: String?) throws -> PeerAddition {
    let card = try holder.card()
    guard !introductions.areIntroductionsOff else {
      throw VaultError(
        .refused, "\(holder.name), was not made a peer: the setting introductions is off",
        hint: "switch it on with `vault settings set introductions on`, or import the card with `vault peer add`")
    }
    guard try introductions.introducedHolder(card.keys.digest) != nil else {
      throw VaultError(.notFound, "\(holder.name), is not here any more")
    }
    return try addPeer(card, name: name)
  }
}
