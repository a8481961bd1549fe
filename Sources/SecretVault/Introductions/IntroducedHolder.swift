public import PeerAuth

/// Somebody who is no peer of this device, but whom a peer has introduced as a holder of its secrets.
public struct IntroducedHolder: Hashable, Sendable {
  /// What its own card calls it; its owner's word.
  public let label: String
  /// Who has introduced it: peers' names.
  public let introducedBy: [String]
  /// The secrets for which it was introduced.
  public let secrets: [SecretReference]
  /// 5×5 digits.
  public let fingerprint: String
  /// Digest over its three keys.
  public let cardDigest: String
  /// Where it listens.
  public let addresses: [PeerAddress]
  /// The card's text form.
  public let cardText: String
  /// Milliseconds since 1970 of the first introduction.
  public let introducedAt: Int64

  /// How it is called where others' names stand too.
  public var name: String { Self.name(label, by: introducedBy) }

  /// Its card.
  public func card() throws(VaultError) -> PeerCard {
    do { return try PeerCard.parse(text: cardText) } catch {
      throw VaultError(.damaged, "the card of \(name) is damaged")
    }
  }

  static func name(_ label: String, by dealers: [String]) -> String {
    (label.isEmpty ? "a holder" : label) + ", introduced by " + dealers.joined(separator: " and ")
  }
}
