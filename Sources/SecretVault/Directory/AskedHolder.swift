import Sodium
import VaultStore

/// Somebody who is asked for a share: who its card says, whatever it is called here at the moment.
struct AskedHolder: Hashable, Sendable {
  /// Digest over its card's keys.
  let digest: Digest
  let name: String

  /// Two of one name are two.
  static func == (one: AskedHolder, other: AskedHolder) -> Bool { one.digest == other.digest }

  func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}

extension Recipient {
  var asked: AskedHolder { AskedHolder(digest: keys.digest, name: name) }
}

extension PeerRecord {
  var asked: AskedHolder { AskedHolder(digest: digest, name: name) }
}
