import SealedPayload
package import ShamirKit
import Sodium
package import VaultStore

/// All secrets of a vault, newest first, packed: for lists of very many. ``summary(_:)`` unpacks one.
package struct SecretList: Sendable {
  package let listing: SecretListing
  /// The dealers' names here, by their places in ``listing``.
  package let dealers: [String]
  private let unlocked: Set<SecretID>

  package init(listing: SecretListing, dealers: [String], unlocked: Set<SecretID> = []) {
    self.listing = listing
    self.dealers = dealers
    self.unlocked = unlocked
  }

  package func isUnlocked(_ line: SecretListing.Line) -> Bool { unlocked.contains(line.id) }

  /// Every kind's word, by its number.
  private static let kinds: [String] = (0...255).map { PayloadKind(rawValue: UInt8($0))?.word ?? "unknown" }

  /// The word for a kind: file, note, password, contact, key.
  package static func kind(_ number: UInt8) -> String { kinds[Int(number)] }

  package func summary(_ line: SecretListing.Line) -> SecretSummary {
    let isDealt = line.origin == .dealt
    return SecretSummary(
      id: line.id.description, description: listing.description(of: line),
      kind: Self.kind(line.kind), origin: isDealt ? .dealt : .held, dealer: isDealt ? "you" : dealers[line.dealer],
      threshold: Int(line.threshold), shareCount: Int(line.shareCount),
      ownIndex: line.ownIndex == 0 ? nil : Int(line.ownIndex), createdAt: line.createdAt,
      delivered: isDealt ? Int(line.delivered) : nil, waiting: isDealt ? Int(line.waiting) : nil,
      isUnlocked: isUnlocked(line))
  }
}
