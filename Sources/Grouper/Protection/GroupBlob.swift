package import ShamirKit
import Sodium
import WireCodec

/// What one server gets of one message: version, epoch, nonce, a sealed box with header and key share, and a fragment of
/// the ciphertext.
///
/// The box is crypto_secretbox under a key that only members derive, so its tag proves that a member made the blob, and
/// to a server it is noise, as the fragment is: two servers' blobs of one message aren't recognised by what is in them. In the
/// clear are the epoch, and lengths: n and k can be worked out of the box's, and about how long the message is of the rest's.
package struct GroupBlob: ~Copyable {
  package let header: BlobHeader
  package let share: KeyShare
  package let fragment: [UInt8]

  static let version: UInt8 = 1
  /// Longest box: 64 servers, of which all are needed.
  static let boxByteLimit = 16 + 23 + 64 * 32 + 1 + 64 * 32 + KeyShare.byteCount

  /// The epoch whose key opens a blob, told without opening it.
  package static func epoch(of bytes: [UInt8]) throws(GroupError) -> UInt32 {
    var reader = Reader(bytes.span.bytes)
    return try wire(epoch(&reader))
  }

  private static func epoch(_ reader: inout Reader) throws(WireError) -> UInt32 {
    try reader.version(version, "blob version")
    return try reader.u32("epoch")
  }

  /// Opens a blob from a server: the box first, so that whatever a server has changed or made up is refused in constant
  /// time before anything in it is read.
  package static func open(_ bytes: [UInt8], key: EpochKey) throws(GroupError) -> GroupBlob {
    guard bytes.count <= ServerLimits.shareByteLimit else {
      throw .malformed(.limitExceeded(field: "blob", limit: ServerLimits.shareByteLimit))
    }
    let parts = try wire(Self.parts(bytes))
    guard parts.epoch == key.epoch else { throw .unknownEpoch(parts.epoch) }
    let opened = try Self.opened(parts, key)
    let header = try wire(Self.header(opened))
    let digest = try Self.digest(
      of: parts.fragment, group: key.group, dealing: header.common.dealing, index: header.index)
    guard digest == header.common.fragmentDigests[Int(header.index) - 1] else { throw .forged("the blob's fragment") }
    return GroupBlob(header: header, share: try Self.share(opened, header.index), fragment: parts.fragment)
  }

  private init(header: BlobHeader, share: consuming KeyShare, fragment: [UInt8]) {
    self.header = header
    self.share = share
    self.fragment = fragment
  }

  private static func opened(_ parts: Parts, _ key: EpochKey) throws(GroupError) -> SecretBytes {
    do throws(SodiumError) {
      return try SecretBox.open(parts.box.span.bytes, key: key.blobKey, nonce: parts.nonce)
    } catch .verificationFailed { throw .forged("the blob") } catch { throw .sodium(error) }
  }

  private static func share(_ opened: borrowing SecretBytes, _ index: UInt8) throws(GroupError) -> KeyShare {
    let bytes = try sodium(SecretBytes(copying: opened.bytes.extracting(last: KeyShare.byteCount)))
    do throws(ShamirError) { return try KeyShare(index: index, bytes: bytes) } catch { throw .sharing(error) }
  }

  private struct Parts {
    let epoch: UInt32
    let nonce: [UInt8]
    let box: [UInt8]
    let fragment: [UInt8]
  }

  private static func parts(_ bytes: [UInt8]) throws(WireError) -> Parts {
    var reader = Reader(bytes.span.bytes)
    let epoch = try epoch(&reader)
    let nonce = try reader.bytes(SecretBox.nonceByteCount, "nonce")
    let box = try reader.bytes16(limit: boxByteLimit, "box")
    guard box.count > SecretBox.overhead + KeyShare.byteCount else { throw .truncated(field: "box") }
    let fragment = try reader.bytes(reader.remaining, "fragment")
    return Parts(epoch: epoch, nonce: nonce, box: box, fragment: fragment)
  }

  private static func header(_ opened: borrowing SecretBytes) throws(WireError) -> BlobHeader {
    var reader = Reader(opened.bytes.extracting(droppingLast: KeyShare.byteCount))
    let header = try BlobHeader(from: &reader)
    try reader.finish()
    return header
  }

  static func seal(
    header: BlobHeader, share: borrowing KeyShare, fragment: [UInt8], nonce: [UInt8], key: EpochKey
  ) throws(GroupError) -> [UInt8] {
    let encoded = try wire(header.encoded())
    var inside = try sodium(SecretBytes(zeros: encoded.count + KeyShare.byteCount))
    inside.withUnsafeMutableBytes { inside in
      inside.copyBytes(from: encoded)
      share.bytes.withUnsafeBytes {
        UnsafeMutableRawBufferPointer(rebasing: inside[encoded.count...]).copyMemory(from: $0)
      }
    }
    let box = try sodium(SecretBox.seal(inside.bytes, key: key.blobKey, nonce: nonce))
    let count = 1 + 4 + nonce.count + 2 + box.count + fragment.count
    guard count <= ServerLimits.shareByteLimit else { throw .invalid("the message is too large for its shares") }
    return try wire(
      publicBytes(count: count) { writer throws(WireError) in
        try writer.u8(version)
        try writer.u32(key.epoch)
        try writer.bytes(nonce)
        try writer.bytes16(box)
        try writer.bytes(fragment)
      })
  }

  static func digest(
    of fragment: [UInt8], group: GroupID, dealing: DealingID, index: UInt8
  ) throws(GroupError) -> Digest {
    try publicHash("vault/group-fragment/v1", [group.bytes, dealing.bytes, octets(UInt64(index)), fragment])
  }

  /// What a blob is called on its server: a hash, so that the same blob put again is known for the same.
  package static func shareID(_ bytes: [UInt8]) throws(GroupError) -> ServerShareID {
    ServerShareID(try publicHash("vault/group-share-id/v1", [bytes]))
  }
}
