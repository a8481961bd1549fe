package import ShamirKit
package import Sodium

/// A share that this device holds, opened. Reference semantics, because several sessions prove with it at once.
package final class HeldShare: Sendable {
  package let share: KeyShare
  /// The salt of its row.
  package let salt: SecretBytes

  init(share: consuming KeyShare, salt: consuming SecretBytes) {
    self.share = share
    self.salt = salt
  }
}
