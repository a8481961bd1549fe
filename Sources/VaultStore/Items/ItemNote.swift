import Sodium
import WireCodec

/// What the database has about one item, in a file beside the item's own: enough to make its row anew. The byte-exact
/// format is in `docs/formats/store.md`.
struct ItemNote: WireValue, Hashable {
  static let magic = Array("VAULTITN".utf8)
  static let version: UInt8 = 1
  static let byteLimit = 16_384

  /// The row, never of an item that is still arriving.
  let item: ItemRecord
  /// What a later version has added, as it was read.
  private(set) var extensions = Extensions()

  init(_ item: ItemRecord) { self.item = item }

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.bytes(Self.magic)
    try writer.u8(Self.version)
    try writer.bytes(item.id)
    try writer.bytes(item.keyID)
    try writer.bytes16(item.header)
    try writer.u64(UInt64(bitPattern: item.byteCount))
    try writer.u8(item.state.number)
    try writer.u8(item.origin.number)
    try writer.flag(item.sender != nil)
    if let sender = item.sender { try writer.bytes(sender.bytes) }
    try writer.flag(item.label != nil)
    if let label = item.label { try writer.bytes16(label) }
    try writer.u64(UInt64(bitPattern: item.receivedAt))
    try extensions.encode(into: &writer)
  }

  init(from reader: inout Reader) throws(WireError) {
    guard try reader.bytes(8, "magic") == Self.magic else { throw .invalidValue(field: "magic") }
    let version = try reader.u8("version")
    guard version == Self.version else { throw .unsupported(field: "version", value: UInt64(version)) }
    let id = try reader.bytes(ItemRecord.idByteCount, "id")
    let keyID = try reader.bytes(SecretRecord.idByteCount, "key")
    let header = try reader.bytes16(limit: ItemRecord.headerByteLimit, "header")
    let byteCount = Int64(bitPattern: try reader.u64("bytes"))
    guard byteCount >= 0, byteCount <= Int64.max - Int64(header.count) else { throw .invalidValue(field: "bytes") }
    let states: [UInt8: ItemRecord.State] = [2: .waiting, 3: .new, 4: .seen]
    guard let state = states[try reader.u8("state")] else { throw .invalidValue(field: "state") }
    let origins: [UInt8: ItemRecord.Origin] = [1: .made, 2: .imported, 3: .sent, 4: .group]
    guard let origin = origins[try reader.u8("origin")] else { throw .invalidValue(field: "origin") }
    var sender: Digest?
    if try reader.flag("whether there is a sender") {
      let bytes = try reader.bytes(Digest.byteCount, "sender")
      do throws(SodiumError) { sender = try Digest(bytes) } catch { throw .invalidValue(field: "sender") }
    }
    let label =
      try reader.flag("whether there is a label") ? reader.bytes16(limit: ItemRecord.labelByteLimit, "label") : nil
    item = ItemRecord(
      id: id, keyID: keyID, header: header, byteCount: byteCount, state: state, origin: origin, sender: sender,
      label: label, receivedAt: Int64(bitPattern: try reader.u64("received")))
    let extensions = try Extensions(from: &reader)
    try extensions.require()
    self.extensions = extensions
  }

  /// The bytes of the file: the value, and its MAC.
  func file(_ keys: VaultKeys) throws(StoreError) -> [UInt8] {
    let body: [UInt8]
    do throws(WireError) { body = try encoded() } catch { throw .invalid("an item") }
    return body + (try Self.mac(body, keys))
  }

  /// What the note of item `id` says. Throws ``StoreError/damaged(_:)`` if anything in it isn't as it was written.
  static func read(_ path: String, of id: [UInt8], _ keys: VaultKeys) throws(StoreError) -> ItemNote {
    let bytes = try AtomicFile.read(path, limit: byteLimit)
    let body = Array(bytes.dropLast(Digest.byteCount))
    guard bytes.count > Digest.byteCount, macsMatch(Array(bytes.suffix(Digest.byteCount)), try mac(body, keys)) else {
      throw .damaged(path)
    }
    let note: ItemNote
    do throws(WireError) { note = try decode(body, limit: byteLimit) } catch .unsupported {
      throw .tooNew(path)
    } catch { throw .damaged(path) }
    guard note.item.id == id else { throw .damaged(path) }
    return note
  }

  private static func mac(_ body: [UInt8], _ keys: VaultKeys) throws(StoreError) -> [UInt8] {
    try keys.mac("vault/item-note/v1") { $0.append(body) }
  }
}
