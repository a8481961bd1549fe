import Grouper
import Sodium
import Testing
import WireCodec

@testable import VaultGroups

@Suite struct ItemObjectTests {
  private let object = ItemObject(header: [10, 11, 12], body: .inline([1, 2, 3, 4]))

  @Test func `an object is written as the page says, and read back`() throws {
    let bytes = try object.encoded()
    #expect(hexadecimal(bytes) == "0100030a0b0c000000000401020304")
    #expect(try ItemObject.decode(bytes, limit: ItemObject.byteLimit) == object)
  }

  @Test func `one that names a file is read back, with the file`() throws {
    let file = FileReference(
      author: StreamID(node: try NodeID.random(), incarnation: 7), id: try FileID.random(), byteCount: 500_000,
      digest: try DomainHash("vault/test/v1").digest())
    let object = ItemObject(header: [1], body: .file(file))
    let read = try ItemObject.decode(object.encoded(), limit: ItemObject.byteLimit)
    #expect(read == object && read.files == [file])
  }

  @Test func `every object that is cut short, or has more behind it, is refused`() throws {
    let bytes = try object.encoded()
    for count in 0..<bytes.count {
      #expect(throws: WireError.self) { try ItemObject.decode(Array(bytes.prefix(count)), limit: ItemObject.byteLimit) }
    }
    #expect(throws: WireError.self) { try ItemObject.decode(bytes + [0], limit: ItemObject.byteLimit) }
  }

  @Test func `another version, and a ciphertext that is too long to be there, are refused`() throws {
    var bytes = try object.encoded()
    bytes[0] = 2
    #expect(throws: WireError.unsupported(field: "item version", value: 2)) {
      try ItemObject.decode(bytes, limit: ItemObject.byteLimit)
    }
    let long = ItemObject(header: [], body: .inline([UInt8](repeating: 0, count: ItemObject.inlineByteLimit + 1)))
    let encoded = try long.encoded()
    #expect(throws: WireError.self) { try ItemObject.decode(encoded, limit: encoded.count) }
  }
}
