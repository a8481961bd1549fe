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
    do throws(SodiumError) {
      var message = try DomainHash("vault/group-message-key/v1", key: secret.bytes)
      message.append(group.bytes)
      message.append(UInt64(epoch))
      messageKey = try message.secret()
      var blob = try DomainHash("vault/group-blob-key/v1", key: secret.bytes)
      blob.append(group.bytes)
      blob.append(UInt64(epoch))
      blobKey = try blob.secret()
    } catch { throw .sodium(error) }
    self.group = group
    self.epoch = epoch
    self.secret = secret
  }

  package static func random(group: GroupID, epoch: UInt32) throws(GroupError) -> EpochKey {
    let secret = try sodium { () throws(SodiumError) in try SecretBytes(random: byteCount) }
    return try EpochKey(group: group, epoch: epoch, secret: secret)
  }

  /// What the roster says of the key, so that nobody can be given another one: a hash of 32 random bytes tells nothing of them.
  func hash() throws(GroupError) -> Digest {
    do throws(SodiumError) {
      var hash = try keyedHash("vault/group-epoch-hash/v1", secret)
      hash.append(group.bytes)
      hash.append(UInt64(epoch))
      return hash.digest()
    } catch { throw .sodium(error) }
  }

  /// What one message is encrypted under: it takes this key and what k servers hold, `shared`.
  func encryptionKey(
    dealing: DealingID, shared: borrowing SecretBytes
  ) throws(GroupError) -> SecretBytes {
    do throws(SodiumError) {
      var hash = try keyedHash("vault/group-message/v1", messageKey)
      hash.append(group.bytes)
      hash.append(UInt64(epoch))
      hash.append(dealing.bytes)
      hash.append(shared.bytes)
      return try hash.secret()
    } catch { throw .sodium(error) }
  }
}

/// Begins a hash that is keyed with a secret.
func keyedHash(_ label: StaticString, _ key: borrowing SecretBytes) throws(SodiumError) -> DomainHash {
  try DomainHash(label, key: key.bytes)
}
