import ShamirKit
import Sodium
import Synchronization
import VaultStore

@testable import SecretVault

/// What is unlocked, kept by the test itself.
final class KeptSecrets: UnlockedSecrets {
  private struct Entry: ~Copyable {
    let key: SecretBytes
    let ciphertext: CiphertextFile
  }

  private final class Kept: Sendable {
    let entry: Entry
    init(_ entry: consuming Entry) { self.entry = entry }
  }

  private let kept = Mutex<[SecretID: Kept]>([:])

  func ids() -> Set<SecretID> { kept.withLock { Set($0.keys) } }

  func prepare() throws {}

  func fileKey(of id: SecretID) throws -> SecretBytes? {
    guard let found = kept.withLock({ $0[id] }) else { return nil }
    return try? found.entry.key.duplicate()
  }

  func secret(_ id: SecretID) throws -> UnlockedSecret? {
    guard let found = kept.withLock({ $0[id] }), let key = try? found.entry.key.duplicate() else { return nil }
    return UnlockedSecret(key: key, ciphertext: found.entry.ciphertext)
  }

  func keep(_ secret: consuming UnlockedSecret, as id: SecretID) throws {
    let ciphertext = secret.ciphertext
    guard let key = try? secret.key.duplicate() else { throw VaultError(.other, "no secret memory left") }
    let entry = Kept(Entry(key: key, ciphertext: ciphertext))
    kept.withLock { $0[id] = entry }
  }

  func lock(_ id: SecretID) { kept.withLock { $0[id] = nil } }
}
