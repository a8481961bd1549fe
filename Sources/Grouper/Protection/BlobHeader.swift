package import ShamirKit
package import Sodium
package import WireCodec

/// What stands sealed in a blob, before its share of the key. Servers don't see it.
package struct BlobHeader: WireValue, Hashable, Sendable {
  /// What all blobs of one dealing agree in.
  package struct Common: Hashable, Sendable {
    package let dealing: DealingID
    /// k and n.
    package let scheme: ThresholdScheme
    /// Bytes of the ciphertext that the fragments make up.
    package let ciphertextByteCount: Int
    /// To the key's polynomials.
    package let commitments: Commitments
    /// Hashes of all n fragments.
    package let fragmentDigests: [Digest]
  }

  package let common: Common
  /// Which of the n blobs this is, from 1: the place of its server in the roster.
  package let index: UInt8

  init(_ common: Common, index: UInt8) {
    self.common = common
    self.index = index
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try common.dealing.encode(into: &writer)
    try writer.u8(UInt8(truncatingIfNeeded: common.scheme.threshold))
    try writer.u8(UInt8(truncatingIfNeeded: common.scheme.shareCount))
    try writer.u8(index)
    try writer.count32(common.ciphertextByteCount)
    for digest in common.fragmentDigests { try writer.bytes(digest.bytes) }
    try common.commitments.encode(into: &writer)
  }

  /// Reads a header; refuses what no dealing makes.
  package init(from reader: inout Reader) throws(WireError) {
    let dealing = try DealingID(from: &reader)
    let threshold = Int(try reader.u8("threshold"))
    let count = Int(try reader.u8("share count"))
    let scheme: ThresholdScheme
    do throws(ShamirError) { scheme = try ThresholdScheme(threshold: threshold, shareCount: count) } catch {
      throw .invalidValue(field: "scheme")
    }
    index = try reader.u8("index")
    guard index >= 1, Int(index) <= count else { throw .invalidValue(field: "index") }
    let ciphertextByteCount = try reader.count32(limit: MessageDealing.ciphertextByteLimit, "ciphertext")
    guard ciphertextByteCount > SecretBox.overhead else { throw .invalidValue(field: "ciphertext") }
    guard count <= Roster.serverLimit else { throw .limitExceeded(field: "servers", limit: Roster.serverLimit) }
    var digests: [Digest] = []
    for _ in 0..<count { digests.append(try reader.digest("fragment digest")) }
    let commitments = try Commitments(from: &reader)
    guard commitments.points.count == threshold else { throw .invalidValue(field: "commitments") }
    common = Common(
      dealing: dealing, scheme: scheme, ciphertextByteCount: ciphertextByteCount, commitments: commitments,
      fragmentDigests: digests)
  }
}

extension BlobHeader.Common {
  /// The hash of all of it, as a name: a blob that somebody has made up under another's dealing has another.
  func name() throws(GroupError) -> DealingID {
    let numbers = [scheme.threshold, scheme.shareCount, ciphertextByteCount].map { octets(UInt64($0)) }
    let parts = [dealing.bytes] + numbers + [try wire(commitments.encoded())] + fragmentDigests.map(\.bytes)
    return DealingID(try publicHash("vault/group-dealing/v1", parts))
  }
}
