import Grouper
import Sodium
import Testing
import VaultProtocol
import WireCodec

@testable import VaultGroups

@Suite struct ParcelObjectTests {
  private let notice: ParcelNotice

  init() throws {
    notice = ParcelNotice(
      tag: [UInt8](repeating: 0xaa, count: 16), id: try #require(ParcelID([UInt8](repeating: 0xbb, count: 16))),
      expiresAt: 1_700_000_000_000)
  }

  private func file(_ byteCount: UInt64) throws -> FileReference {
    FileReference(
      author: StreamID(node: try NodeID.random(), incarnation: 7), id: try FileID.random(), byteCount: byteCount,
      digest: try DomainHash("vault/test/v1").digest())
  }

  @Test func `an object is written as the page says, and read back`() throws {
    let object = ParcelObject.inline([1, 2, 3, 4])
    let bytes = try object.encoded()
    #expect(hexadecimal(bytes) == "01000000000401020304")
    #expect(try ParcelObject.decode(bytes, limit: ParcelObject.byteLimit) == object)
  }

  @Test func `one that names a file is read back, with the file and what stands on the parcel`() throws {
    let file = try file(5_000_000)
    let object = ParcelObject.file(notice, file)
    let bytes = try object.encoded()
    #expect(
      hexadecimal(bytes.prefix(42)) == "0101" + String(repeating: "aa", count: 16) + String(repeating: "bb", count: 16)
        + "0000018bcfe56800")
    let read = try ParcelObject.decode(bytes, limit: ParcelObject.byteLimit)
    #expect(read == object && read.files == [file])
  }

  @Test func `every object that is cut short, or has more behind it, is refused`() throws {
    for object in [ParcelObject.inline([1, 2, 3]), .file(notice, try file(300_000))] {
      let bytes = try object.encoded()
      for count in 0..<bytes.count {
        #expect(throws: WireError.self) {
          try ParcelObject.decode(Array(bytes.prefix(count)), limit: ParcelObject.byteLimit)
        }
      }
      #expect(throws: WireError.self) { try ParcelObject.decode(bytes + [0], limit: ParcelObject.byteLimit) }
    }
  }

  @Test func `another version, a file that is no parcel's and a parcel that is too long to be there are refused`()
    throws
  {
    var bytes = try ParcelObject.inline([1]).encoded()
    bytes[0] = 2
    #expect(throws: WireError.unsupported(field: "parcel object version", value: 2)) {
      try ParcelObject.decode(bytes, limit: ParcelObject.byteLimit)
    }
    let large = try ParcelObject.file(notice, try file(ParcelObject.parcelByteLimit + 1)).encoded()
    #expect(throws: WireError.invalidValue(field: "parcel length")) {
      try ParcelObject.decode(large, limit: ParcelObject.byteLimit)
    }
    let long = try ParcelObject.inline([UInt8](repeating: 0, count: ParcelObject.inlineByteLimit + 1)).encoded()
    #expect(throws: WireError.self) { try ParcelObject.decode(long, limit: long.count) }
  }
}
