package import ShamirKit
package import Sodium
package import VaultStore

/// What is unlocked on this device just now: secrets whose file keys somebody, the agent in `vault daemon` as a rule, keeps
/// in locked memory until they are locked, their time is over, or the machine sleeps.
///
/// Everything here answers at once, and as if nothing were unlocked where nobody answers. To get at what a secret holds, don't decrypt it yourself:
/// ``Recovering/recover(_:to:events:)``, and all that recovers into memory, looks here before it asks a peer. These methods are for who must know
/// *whether* it would ask.
package protocol UnlockedSecrets: Sendable {
  /// Ids of all secrets that are unlocked. Asking does not count as a use.
  func ids() -> Set<SecretID>

  /// A secret's file key, or nil if it isn't unlocked. Counts as a use: the time until it is locked begins anew.
  func fileKey(of id: SecretID) throws -> SecretBytes?

  /// A secret's file key and ciphertext, or nil if it isn't unlocked. Counts as a use.
  func secret(_ id: SecretID) throws -> UnlockedSecret?

  /// Throws if there is nobody to keep what is unlocked: to be asked before peers are.
  func prepare() throws

  /// Unlocks a secret. Throws if there is nobody to keep it.
  func keep(_ secret: consuming UnlockedSecret, as id: SecretID) throws

  /// Locks one secret, for example because it has been deleted. Nothing happens if it isn't unlocked.
  func lock(_ id: SecretID)
}

/// A secret's file key and its whole ciphertext, as `SealedPayload` opens it.
package struct UnlockedSecret: ~Copyable, Sendable {
  /// 32 bytes.
  package let key: SecretBytes
  /// The ciphertext. It was checked against the dealer's roots when the secret was unlocked, and each chunk verifies under the key.
  package let ciphertext: CiphertextFile

  package init(key: consuming SecretBytes, ciphertext: CiphertextFile) {
    self.key = key
    self.ciphertext = ciphertext
  }
}

/// Nothing is unlocked, and nothing can be.
struct NothingUnlocked: UnlockedSecrets {
  func ids() -> Set<SecretID> { [] }
  func fileKey(of id: SecretID) throws -> SecretBytes? { nil }
  func secret(_ id: SecretID) throws -> UnlockedSecret? { nil }
  func prepare() throws { throw VaultError(.other, "nobody keeps secrets unlocked here") }
  func keep(_ secret: consuming UnlockedSecret, as id: SecretID) throws { try prepare() }
  func lock(_ id: SecretID) {}
}
