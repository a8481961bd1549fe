import Sodium

/// The proof that a parcel has arrived: 32 bytes from which its id follows, and 16 bytes that say in which of its copies.
///
/// Everybody can check the first part against the id, and nobody can make it up, since the id is its hash. The second part can be checked by those
/// who know the ``ParcelSeed``: to the sender it tells which of its carriers has delivered.
package enum ParcelProof {
  package static let byteCount = Digest.byteCount + codeByteCount
  /// Bytes of the second part.
  static let codeByteCount = 16
  /// Stands for no branch: a copy that came from the sender itself. The greatest number of a branch.
  package static let noBranch: UInt8 = 5

  /// Whether the parcel with this id has arrived, as everybody can check.
  package static func isGenuine(_ proof: [UInt8], for id: ParcelID) -> Bool {
    guard proof.count == byteCount else { return false }
    do throws(SodiumError) { return try Self.id(of: Array(proof.prefix(Digest.byteCount))) == id } catch {
      return false
    }
  }

  /// Whether the copy of this branch has arrived, of the parcel with this seed.
  package static func isGenuine(_ proof: [UInt8], branch: UInt8, seed: ParcelSeed) -> Bool {
    let expected: [UInt8]
    do throws(SodiumError) { expected = try seed.proof(branch: branch) } catch { return false }
    return constantTimeEqual(proof.span.bytes, expected.span.bytes)
  }

  /// First 16 bytes of BLAKE2b-256("vault/parcel-id/v1", first part).
  static func id(of receipt: [UInt8]) throws(SodiumError) -> ParcelID {
    var hash = try DomainHash("vault/parcel-id/v1")
    hash.append(receipt)
    guard let id = ParcelID(Array(hash.digest().bytes.prefix(ParcelID.byteCount))) else { throw .verificationFailed }
    return id
  }
}
