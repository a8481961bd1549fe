package import PeerAuth

/// Somebody who is no peer of this device, but whom a peer has introduced as a holder of its secrets.
package struct IntroducedHolder: Hashable, Sendable {
  /// What its own card calls it; its owner's word.
  package let label: String
  /// Who has introduced it: peers' names.
  package let introducedBy: [String]
  package let secrets: [SecretReference]
  /// 5×5 digits.
  package let fingerprint: String
  /// Digest over its three keys.
  package let cardDigest: String
  package let addresses: [PeerAddress]
  package let cardText: String
  /// Milliseconds since 1970 of the first introduction.
  package let introducedAt: Int64

  /// How it is called where others' names stand too.
  package var name: String { Self.name(label, by: introducedBy) }

  package func card() throws -> PeerCard {
    do { return try PeerCard.parse(text: cardText) } catch {
      throw VaultError(.damaged, "the card of \(name) is damaged")
    }
  }

  static func name(_ label: String, by dealers: [String]) -> String {
    (label.isEmpty ? "a holder" : label) + ", introduced by " + dealers.joined(separator: " and ")
  }
}
