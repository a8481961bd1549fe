package import ShamirKit
package import Sodium
package import WireCodec

/// What all blobs of one dealing have in common, and what is this one's. Servers don't see it.
package struct BlobHeader: WireValue, Hashable, Sendable {
  package let dealing: DealingID
  /// k and n.
  package let scheme: ThresholdScheme
  /// Which of the n blobs this is, from 1: the place of its server in the roster.
  package let index: UInt8
  /// Bytes of the ciphertext that the fragments make up.
  package let ciphertextByteCount: Int
  /// To the key's polynomials.
  package let commitments: Commitments
  /// Hashes of all n fragments.
  package let fragmentDigests: [Digest]

  /// What the others of the dealing must agree with.
  package struct Common: Hashable, Sendable {
    package let dealing: DealingID
    /// k and n.
    package let scheme: ThresholdScheme
    package let ciphertextByteCount: Int
    /// To the key's polynomials.
    package let commitments: Commitments
    /// Hashes of all n fragments.
    package let fragmentDigests: [Digest]
  }

  /// What the others of the dealing must agree with.
  package var common: Common {
    Common(
      dealing: dealing, scheme: scheme, ciphertextByteCount: ciphertextByteCount, commitments: commitments,
      fragmentDigests: fragmentDigests)
  }

  init(
    dealing: DealingID, scheme: ThresholdScheme, index: UInt8, ciphertextByteCount: Int, commitments: Commitments,
    fragmentDigests: [Digest]
  ) {
    self.dealing = dealing
    self.scheme = scheme
    self.index = index
    self.ciphertextByteCount = ciphertextByteCount
    self.commitments = commitments
    self.fragmentDigests = fragmentDigests
  }

  package var encodedByteCount: Int {
    16 + 3 + 4 + Digest.byteCount * fragmentDigests.count + commitments.encodedByteCount
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try dealing.encode(into: &writer)
    try writer.u8(UInt8(truncatingIfNeeded: scheme.threshold))
    try writer.u8(UInt8(truncatingIfNeeded: scheme.shareCount))
    try writer.u8(index)
    try writer.count32(ciphertextByteCount)
    for digest in fragmentDigests { try writer.bytes(digest.bytes) }
    try commitments.encode(into: &writer)
  }

  /// Reads a header; refuses what no dealing makes.
  package init(from reader: inout Reader) throws(WireError) {
    dealing = try DealingID(from: &reader)
    let threshold = Int(try reader.u8("threshold"))
    let count = Int(try reader.u8("share count"))
    do throws(ShamirError) { scheme = try ThresholdScheme(threshold: threshold, shareCount: count) } catch {
      throw .invalidValue(field: "scheme")
    }
    index = try reader.u8("index")
    guard index >= 1, Int(index) <= count else { throw .invalidValue(field: "index") }
    ciphertextByteCount = try reader.count32(limit: MessageDealing.ciphertextByteLimit, "ciphertext")
    guard ciphertextByteCount > SecretBox.overhead else { throw .invalidValue(field: "ciphertext") }
    guard count <= Roster.serverLimit else { throw .limitExceeded(field: "servers", limit: Roster.serverLimit) }
    var digests: [Digest] = []
    for _ in 0..<count {
      let bytes = try reader.bytes(Digest.byteCount, "fragment digest")
      do throws(SodiumError) { digests.append(try Digest(bytes)) } catch { throw .invalidValue(field: "digest") }
    }
    fragmentDigests = digests
    commitments = try Commitments(from: &reader)
    guard commitments.points.count == threshold else { throw .invalidValue(field: "commitments") }
  }

  /// What the blobs of a dealing have in common, as a name: a blob that somebody has made up under another's dealing has another.
  package func commonName() throws(GroupError) -> DealingID {
    let encoded = try wire { () throws(WireError) in try commitments.encoded() }
    return try sodium { () throws(SodiumError) in
      var hash = try DomainHash("vault/group-dealing/v1")
      hash.append(dealing.bytes)
      hash.append(UInt64(scheme.threshold))
      hash.append(UInt64(scheme.shareCount))
      hash.append(UInt64(ciphertextByteCount))
      hash.append(encoded)
      for digest in fragmentDigests { hash.append(digest) }
      return DealingID(hash.digest())
    }
  }
}
