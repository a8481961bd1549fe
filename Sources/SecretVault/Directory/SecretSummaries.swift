/// A secret in the list.
package struct SecretSummary: Hashable, Sendable {
  package enum Origin: String, Hashable, Sendable { case dealt, held }
  /// 32 hexadecimal digits.
  package let id: String
  /// The dealer's public description, if any.
  package let description: String?
  /// What it is: file, note, password, contact, encryption key.
  package let kind: String
  package let origin: Origin
  /// The dealer's name here, or its key's fingerprint if it is no peer any more; "you" is said by the caller.
  package let dealer: String
  package var threshold: Int
  package var shareCount: Int
  /// This device's share, if it holds one.
  package let ownIndex: Int?
  /// Milliseconds since 1970, by the dealer's clock.
  package let createdAt: Int64
  /// Deliveries done, if this device is the dealer.
  package let delivered: Int?
  /// Deliveries that still wait, if this device is the dealer.
  package let waiting: Int?
  /// Whether it is unlocked just now, where somebody has looked.
  package var isUnlocked = false
}
