package import Sodium

/// The key that all members hold, and no server, from one removal of a member to the next: 32 random bytes.
///
/// It never encrypts anything itself: what does is derived from it by keyed BLAKE2b (``DomainHash``), bound to group and
/// epoch.
package final class EpochKey: Sendable {
  package static let byteCount = 32

  package let group: GroupID
  /// Which key of the group this is, from 1.
  package let epoch: UInt32
  let secret: SecretBytes
  /// Seals the secret part of blobs.
  let blobKey: SecretBytes
  private let messageKey: SecretBytes

  /// Takes exactly 32 bytes.
  package init(group: GroupID, epoch: UInt32, secret: consuming SecretBytes) throws(GroupError) {
    guard secret.count == Self.byteCount else {
      throw .sodium(.invalidLength(expected: Self.byteCount, actual: secret.count))
    }
    messageKey = try sodium(Self.hash("vault/group-message-key/v1", secret, group, epoch).secret())
    blobKey = try sodium(Self.hash("vault/group-blob-key/v1", secret, group, epoch).secret())
    self.group = group
    self.epoch = epoch
    self.secret = secret
  }

  package static func random(group: GroupID, epoch: UInt32) throws(GroupError) -> EpochKey {
    let secret = try sodium(SecretBytes(random: byteCount))
    return try EpochKey(group: group, epoch: epoch, secret: secret)
  }

  /// What the roster says of the key, so that nobody can be given another one: a hash of 32 random bytes tells nothing of them.
  func hash() throws(GroupError) -> Digest {
    try sodium(Self.hash("vault/group-epoch-hash/v1", secret, group, epoch).digest())
  }

  /// What one message is encrypted under: it takes this key and what k servers hold, `shared`.
  func encryptionKey(
    dealing: DealingID, shared: borrowing SecretBytes
  ) throws(GroupError) -> SecretBytes {
    do throws(SodiumError) {
      var hash = try Self.hash("vault/group-message/v1", messageKey, group, epoch)
      hash.append(dealing.bytes)
      hash.append(shared.bytes)
      return try hash.secret()
    } catch { throw .sodium(error) }
  }

  /// Begins a hash that is keyed with a secret, for one group and epoch.
  private static func hash(
    _ label: StaticString, _ key: borrowing SecretBytes, _ group: GroupID, _ epoch: UInt32
  ) throws(SodiumError) -> DomainHash {
    var hash = try keyedHash(label, key)
    hash.append(group.bytes)
    hash.append(UInt64(epoch))
    return hash
  }
}
