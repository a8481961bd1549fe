import ShamirKit
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
    try item.keyID.encode(into: &writer)
    try writer.bytes16(item.header)
    try writer.signed(item.byteCount)
    try writer.u8(item.state.code)
    try writer.u8(item.origin.code)
    try writer.optionalDigest(item.sender)
    try writer.flag(item.label != nil)
    if let label = item.label { try writer.bytes16(label) }
    try writer.signed(item.receivedAt)
    try extensions.encode(into: &writer)
  }

  init(from reader: inout Reader) throws(WireError) {
    try reader.head(Self.magic, version: Self.version)
    let id = try reader.bytes(ItemRecord.idByteCount, "id")
    let keyID = try SecretID(from: &reader)
    let header = try reader.bytes16(limit: ItemRecord.headerByteLimit, "header")
    let byteCount = try reader.signed("bytes")
    let state: ItemRecord.State = try reader.word("state")
    guard state != .arriving else { throw .invalidValue(field: "state") }
    let origin: ItemRecord.Origin = try reader.word("origin")
    let sender = try reader.optionalDigest("whether there is a sender")
    let label =
      try reader.flag("whether there is a label") ? reader.bytes16(limit: ItemRecord.labelByteLimit, "label") : nil
    item = ItemRecord(
      id: id, keyID: keyID, header: header, byteCount: byteCount, state: state, origin: origin, sender: sender,
      label: label, receivedAt: try reader.signed("received"))
    guard item.hasLength else { throw .invalidValue(field: "bytes") }
    extensions = try reader.extensions()
  }

  private static let label: StaticString = "vault/item-note/v1"

  /// The bytes of the file: the value, and its MAC.
  func file(_ keys: VaultKeys) throws(StoreError) -> [UInt8] {
    try keys.authenticated(VaultStore.encoded(self, "an item"), Self.label)
  }

  /// What the note of item `id` says. Throws ``StoreError/damaged(_:)`` if anything in it isn't as it was written.
  static func read(_ path: String, of id: [UInt8], _ keys: VaultKeys) throws(StoreError) -> ItemNote {
    let body = try keys.readAuthenticated(path, limit: byteLimit, label)
    let note: ItemNote
    do throws(WireError) { note = try decode(body, limit: byteLimit) } catch {
      throw StoreError(reading: path, error)
    }
    guard note.item.id == id else { throw .damaged(path) }
    return note
  }
}
