import Testing
import WireCodec

@testable import VaultProtocol

@Suite("The copies of a parcel")
struct ParcelCopyTests {
  private func parcel(
    tag: UInt8 = 2, expiresAt: Int64 = Parcel.hour, hops: UInt8 = 8,
    sealed: [UInt8] = [UInt8](repeating: 3, count: 1024)
  ) throws -> Parcel {
    try Parcel(
      id: .decode([UInt8](repeating: 1, count: 16), limit: 16), tag: [UInt8](repeating: tag, count: 16),
      expiresAt: expiresAt, hops: hops, sealed: sealed)
  }

  @Test("are told apart by all but their hops")
  func parts() throws {
    let copy = try parcel().copy()
    #expect(copy.id == (try parcel()).id && copy.digest.count == 16)
    #expect(try parcel(hops: 3).copy() == copy)
    var sealed = [UInt8](repeating: 3, count: 1024)
    sealed[1023] ^= 1
    let others = try [
      parcel(tag: 4), parcel(expiresAt: 2 * Parcel.hour), parcel(sealed: sealed),
      parcel(sealed: [UInt8](repeating: 3, count: 2048)),
    ].map { try $0.copy() }
    #expect(Set(others + [copy]).count == 5)
  }

  @Test("have a name of 32 bytes, of which the first 16 are no zeros")
  func names() throws {
    let copy = try parcel().copy()
    #expect(try ParcelCopy.decode(copy.encoded(), limit: 32) == copy)
    #expect(try copy.encoded() == copy.bytes)
    #expect(ParcelCopy(id: copy.id, digest: [1]) == nil)
    #expect(
      wireError { () throws(WireError) in _ = try ParcelCopy.decode([UInt8](repeating: 0, count: 32), limit: 32) }
        == .invalidValue(field: "parcel id"))
  }
}
