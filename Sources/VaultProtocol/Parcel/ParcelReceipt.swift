package import WireCodec

/// A proof with what it is about. That a receipt has been read says nothing of whether its proof holds.
package struct ParcelReceipt: WireValue, Hashable, Sendable {
  package static let byteCount = ParcelID.byteCount + 1 + 8 + ParcelProof.byteCount

  package let id: ParcelID
  /// The branch of the copy that has arrived: the number of the sender's carrier, from 0, or ``ParcelProof/noBranch``.
  package let branch: UInt8
  /// Milliseconds since 1970, from which on nobody needs the receipt any more.
  package let expiresAt: Int64
  /// ``ParcelProof/byteCount`` bytes.
  package let proof: [UInt8]

  package init(id: ParcelID, branch: UInt8, expiresAt: Int64, proof: [UInt8]) {
    self.id = id
    self.branch = branch
    self.expiresAt = expiresAt
    self.proof = proof
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    guard branch <= ParcelProof.noBranch else { throw .invalidValue(field: "receipt branch") }
    guard (1...Parcel.timeLimit).contains(expiresAt) else { throw .invalidValue(field: "receipt expiry") }
    guard proof.count == ParcelProof.byteCount else { throw .invalidValue(field: "receipt proof") }
    try id.encode(into: &writer)
    try writer.u8(branch)
    try writer.u64(UInt64(expiresAt))
    try writer.bytes(proof)
  }

  package init(from reader: inout Reader) throws(WireError) {
    id = try ParcelID(from: &reader)
    branch = try reader.u8("receipt branch")
    guard branch <= ParcelProof.noBranch else { throw .invalidValue(field: "receipt branch") }
    expiresAt = try time(from: &reader, "receipt expiry")
    guard expiresAt > 0 else { throw .invalidValue(field: "receipt expiry") }
    proof = try reader.bytes(ParcelProof.byteCount, "receipt proof")
  }
}
