package import Sodium

/// Leaves of a fragment's Merkle tree: one per piece, bound to the secret, the fragment and the piece's place in it.
package enum MerkleLeaf {
  /// BLAKE2b-256("vault/merkle-leaf/v1", secret id, fragment, piece number, length, bytes).
  /// Fragments count from 1, pieces from 0.
  package static func digest(
    secret: SecretID, fragment: UInt8, piece: UInt64, bytes: RawSpan
  ) throws(ShamirError) -> Digest {
    try bytes.withUnsafeBytes { (bytes) throws(ShamirError) in
      try digest(secret: secret, fragment: fragment, piece: piece, bytes: bytes)
    }
  }

  /// The same over memory that the caller holds a pointer to.
  package static func digest(
    secret: SecretID, fragment: UInt8, piece: UInt64, bytes: UnsafeRawBufferPointer
  ) throws(ShamirError) -> Digest {
    do throws(SodiumError) {
      var hash = try DomainHash("vault/merkle-leaf/v1")
      hash.append(secret.bytes)
      hash.append(UInt64(fragment))
      hash.append(piece)
      hash.append(UInt64(bytes.count))
      hash.append(bytes)
      return hash.digest()
    } catch { throw .sodium(error) }
  }
}

/// Inner nodes of a Merkle tree.
package enum MerkleNode {
  /// BLAKE2b-256("vault/merkle-node/v1", left, right).
  package static func digest(_ left: Digest, _ right: Digest) throws(ShamirError) -> Digest {
    do throws(SodiumError) {
      var hash = try DomainHash("vault/merkle-node/v1")
      hash.append(left)
      hash.append(right)
      return hash.digest()
    } catch { throw .sodium(error) }
  }
}
