import SealedPayload
import Sodium
import VaultStore
import WireCodec

/// What a list shows of an item, kept beside it and sealed under the vault's own keys, so that a list needs no peers. Of the contents it
/// has only the sanitised name of a file.
struct ItemLabel: WireValue, Hashable {
  static let byteLimit = 2048

  /// Nil if a password hides it.
  let kind: UInt8?
  let hasPassword: Bool
  /// Of the body; nil if a password hides it.
  let byteCount: UInt64?
  let name: String?
  let mediaType: String?

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(kind ?? 0)
    try writer.flag(hasPassword)
    try writer.u64(byteCount ?? .max)
    try writer.text16(name ?? "")
    try writer.text16(mediaType ?? "")
    try Extensions().encode(into: &writer)
  }

  init(from reader: inout Reader) throws(WireError) {
    let kind = try reader.u8("kind")
    self.kind = kind == 0 ? nil : kind
    hasPassword = try reader.flag("password")
    let count = try reader.u64("byte count")
    byteCount = count == .max ? nil : count
    let name = try reader.text16(limit: SuggestedName.byteLimit, "name")
    self.name = name.isEmpty ? nil : name
    let mediaType = try reader.text16(limit: PayloadHeader.mediaTypeByteLimit, "media type")
    self.mediaType = mediaType.isEmpty ? nil : mediaType
    let extensions = try Extensions(from: &reader)
    try extensions.require()
    guard extensions.entries.isEmpty else { throw .invalidValue(field: "extensions") }
  }

  /// Of a payload behind a password.
  init(locked: Void) {
    kind = nil
    hasPassword = true
    byteCount = nil
    name = nil
    mediaType = nil
  }

  /// Of a payload whose header is known.
  init(_ header: borrowing PayloadHeader, byteCount: UInt64, hasPassword: Bool) {
    kind = header.kind.rawValue
    self.hasPassword = hasPassword
    self.byteCount = byteCount
    mediaType = header.mediaType.isEmpty ? nil : header.mediaType
    name = header.fileName.byteCount > 0 ? SuggestedName.sanitised(header.fileName, hides: true) : nil
  }

  /// Notes, passwords and contacts also go by their titles, without the ending that they would get as files.
  func isCalled(_ reference: String) -> Bool {
    guard let name else { return false }
    return name == reference || title.map { $0 == reference } == true
  }

  /// The name of a note, a password or a contact without the ending that it would get as a file.
  private var title: Substring? {
    guard let name, let kind, kind != PayloadKind.file.rawValue, let dot = name.lastIndex(of: ".") else { return nil }
    return name[..<dot]
  }

  /// As it is stored with its item.
  func sealed(for id: [UInt8], _ keys: VaultKeys) throws -> [UInt8] {
    do {
      let count = encodedByteCount
      let plain = try SecretBytes(count: count, allocation: { $0 as any Error }) { output throws(any Error) in
        try write(into: &output) { (writer) throws(WireError) in try encode(into: &writer) }
      }
      return try keys.seal(plain, ItemRecord.labelName(id))
    } catch {
      throw VaultError(.other, "an item's name can't be kept: \(error)")
    }
  }
}
