package import ShamirKit
package import Sodium
import VaultProtocol
import VaultStore

/// A shared key as a program that isn't ours encrypts to it.
package struct KeyRecipient: Sendable {
  package let id: SecretID
  /// The key's name, or the beginning of its id.
  package let name: String
  /// An X25519 public key of 32 bytes, as the key's dealer has signed it.
  package let publicHalf: [UInt8]

  package init(id: SecretID, name: String, publicHalf: [UInt8]) {
    self.id = id
    self.name = name
    self.publicHalf = publicHalf
  }
}

/// The key pair that belongs to a shared key: its public half stands in the key's header, its secret half follows from the key.
extension Items {
  /// Any key that this device knows.
  package func recipient(of key: String) throws -> KeyRecipient {
    let record = try resolveKey(key)
    let half = try publicHalf(of: record, instead: "make another key with `vault key create NAME --threshold T`")
    return KeyRecipient(id: record.id, name: Self.keyName(record), publicHalf: half)
  }

  /// Throws unless this device can recover it.
  package func recoverableRecipient(of key: String) throws -> KeyRecipient {
    let recipient = try recipient(of: key)
    _ = try heldKey(recipient.id)
    return recipient
  }

  /// What is known of a key without asking anybody for it. Throws unless this device can recover it.
  package func recoverableKey(_ id: SecretID) throws -> SecretSummary {
    let record = try heldKey(id)
    return try recovering.circles.current(directory.summary(record, names: directory.peerNames()), of: record)
  }

  /// The secret half, if the key is unlocked: nobody is asked.
  package func unlockedSecretHalf(of id: SecretID) async throws -> SecretBytes? {
    guard let key = try await unlockedKey(heldKey(id)) else { return nil }
    return try Self.secretHalf(key, id)
  }

  /// The secret half of a key that is recovered from its holders, unless it is unlocked.
  package func secretHalf(of id: SecretID, _ access: ItemAccess) async throws -> SecretBytes {
    try Self.secretHalf(try await itemKey(heldKey(id), access), id)
  }

  private static func secretHalf(_ key: borrowing SecretBytes, _ id: SecretID) throws -> SecretBytes {
    do { return try ItemKeys.secretHalf(of: key, keyID: id) } catch {
      throw VaultError(.other, "no memory is left for the key")
    }
  }

  private func heldKey(_ id: SecretID) throws -> SecretRecord {
    let record = try database.secret(id)
    guard let record, record.kind == SecretHeader.encryptionKeyKind else {
      throw VaultError(
        .notFound, "this device knows no encryption key \(id)",
        hint: "use the identity on the device of somebody who holds a share of its key")
    }
    guard Self.isHeldKey(record) else {
      throw VaultError(
        .refused, "this device holds no share of the key \(Self.keyName(record)), and peers answer only holders",
        hint: "use the identity on the device of somebody who holds one")
    }
    return record
  }

  func publicHalf(of record: SecretRecord, instead hint: String) throws -> [UInt8] {
    guard let half = try directory.header(of: record).publicHalf else {
      throw VaultError(
        .refused, "the key \(Self.keyName(record)) has no public half: its dealer's program left it out", hint: hint)
    }
    return half
  }
}
