import Courier
import GRDB
import Sodium
import VaultProtocol

/// Parcels that an older version of this program carried under their ids alone get the names of their copies.
extension VaultDatabase {
  /// Works out from the bytes which copies those of an older state are, carried ones and own ones. What isn't here any more, or damaged, is given up, as
  /// it would be when it was to be given to somebody.
  func nameCopies(_ courier: inout Courier, _ db: Database) throws {
    let (carried, own) = courier.unnamed
    for id in carried {
      let content = try formerContent(id, db)
      let copy = content.flatMap { Self.copy(of: $0, id) }
      courier.name(carried: id, copy?.digest)
      if let copy, let content {
        try db.run(
          "UPDATE carried SET digest = ?, mac = ? WHERE id = ? AND digest = zeroblob(16)",
          [copy.digest.bytes.blob, try carriedMAC(copy, content).blob, id.bytes.blob])
      }
    }
    // What has no name by now nobody carries.
    try db.run("DELETE FROM carried WHERE digest = zeroblob(16)")
    for id in own {
      let content = try ParcelID(id.bytes).flatMap { parcel in try unlessDamaged { try parcelContent(parcel, db) } }
      courier.name(own: id, content.flatMap { Self.copy(of: $0, id) }?.digest)
    }
  }

  private static func copy(of content: [UInt8], _ id: ParcelKey) -> CopyKey? {
    guard let parcel = try? Parcel.decode(content, limit: Parcel.byteLimit), parcel.id.bytes == id.bytes,
      let copy = try? parcel.copy()
    else { return nil }
    return CopyDigest(copy.digest).map { CopyKey(id: id, digest: $0) }
  }

  /// What is in a parcel of before, under the MAC of then.
  private func formerContent(_ id: ParcelKey, _ db: Database) throws -> [UInt8]? {
    guard
      let columns = try db.stored(
        "a parcel that is carried", "SELECT mac, content FROM carried WHERE id = ? AND digest = zeroblob(16)",
        [id.bytes.blob])
    else { return nil }
    let content = try columns.bytes("content")
    guard content.count <= ParcelHeader.sizeLimit,
      macsMatch(try columns.bytes("mac"), try formerCarriedMAC(id, content))
    else { return nil }
    return content
  }

  func formerCarriedMAC(_ id: ParcelKey, _ content: [UInt8]) throws(StoreError) -> [UInt8] {
    try keys.mac("vault/carried-row/v1", id.bytes, content)
  }
}
