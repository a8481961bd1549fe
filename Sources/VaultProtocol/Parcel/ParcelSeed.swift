package import Sodium

/// What the receipts of one parcel follow from: 32 random bytes that its letter carries, so that only its sender and its recipient know them.
///
/// The parcel's id follows from them as well, and so whoever shows what stands between the two has opened the letter, or has it from somebody
/// who has. See ``ParcelProof``.
package struct ParcelSeed: Hashable, Sendable {
  package static let byteCount = 32

  package let bytes: [UInt8]

  /// Takes exactly 32 bytes.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }

  private init(drawn bytes: [UInt8]) { self.bytes = bytes }

  /// A seed that nobody knows yet.
  package static func fresh() throws(SodiumError) -> ParcelSeed { ParcelSeed(drawn: try Randomness.bytes(byteCount)) }

  /// The name of the parcel with this seed.
  package func parcelID() throws(SodiumError) -> ParcelID { try ParcelProof.id(of: receipt()) }

  /// What the recipient shows, to prove that the parcel has reached it in the copy of this branch: ``ParcelProof/byteCount`` bytes.
  package func proof(branch: UInt8) throws(SodiumError) -> [UInt8] {
    var hash = try DomainHash("vault/parcel-branch/v1")
    hash.append(bytes)
    hash.append(UInt64(branch))
    return try receipt() + hash.digest().bytes.prefix(ParcelProof.codeByteCount)
  }

  /// BLAKE2b-256("vault/parcel-receipt/v1", seed).
  private func receipt() throws(SodiumError) -> [UInt8] {
    var hash = try DomainHash("vault/parcel-receipt/v1")
    hash.append(bytes)
    return hash.digest().bytes
  }
}
