import PeerAuth
import Sodium
import VaultProtocol
import VaultStore

/// The seed and times of a new parcel with a message.
struct MessageEnvelope {
  let seed: ParcelSeed
  let id: ParcelID
  let createdAt: Int64
  let expiresAt: Int64

  init(lifetime: Int64, at now: Int64) throws {
    do {
      seed = try ParcelSeed.fresh()
      id = try seed.parcelID()
    } catch { throw VaultError(.other, "no parcel can be made: \(error)") }
    createdAt = min(max(0, now), Parcel.timeLimit)
    expiresAt = Parcel.expiry(createdAt: createdAt, lifetime: lifetime)
  }

  func seal(_ content: MessageContent, from sender: Identity, to keys: CardKeys) throws -> [UInt8] {
    do {
      return try MessageLetter.seal(
        seed: seed, createdAt: createdAt, expiresAt: expiresAt, content: content, from: sender, to: keys
      ).encoded()
    } catch { throw VaultError(.other, "a parcel can't be made: \(error)") }
  }

  func record(
    _ direction: ParcelRecord.Direction, to peer: Digest, message: [UInt8]? = nil, ways: ParcelRecord.Ways
  ) -> ParcelRecord {
    ParcelRecord(
      id: id, direction: direction, peer: peer, createdAt: createdAt, expiresAt: expiresAt, seed: seed.bytes,
      message: message, ways: ways)
  }
}
