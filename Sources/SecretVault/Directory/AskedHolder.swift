package import Sodium
import VaultStore

/// Somebody who is asked for a share: is who its card says, whatever it is called here at the moment.
package struct AskedHolder: Hashable, Sendable {
  /// Digest over its card's keys.
  package let digest: Digest
  /// What it is called.
  package let name: String

  /// Two of one name are two.
  package static func == (one: AskedHolder, other: AskedHolder) -> Bool { one.digest == other.digest }

  /// See `==`.
  package func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}

extension Recipient {
  /// It as somebody who is asked for a share.
  var asked: AskedHolder { AskedHolder(digest: keys.digest, name: name) }
}

extension PeerRecord {
  /// It as somebody who is asked for a share.
  var asked: AskedHolder { AskedHolder(digest: digest, name: name) }
}
