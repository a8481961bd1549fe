import SealedPayload
import SecretVault
import Sodium

/// A note, password or contact that has just been made, in memory only.
struct NewContent: ~Copyable {
  /// What a note may have at most; more is a file.
  static let noteByteLimit = RecoveredContent.usualLimit

  private(set) var header: PayloadHeader
  /// Text of a note, card of a contact.
  let body: SecretBytes

  /// For a request to share.
  consuming func shared() -> SecretContent { SecretContent(header: header, body: body) }

  /// A note from its text, which must be UTF-8.
  static func note(_ text: consuming SecretBytes, title: String?) throws -> NewContent {
    guard text.count <= noteByteLimit else {
      throw VaultError(
        .usage, "a note has at most \(Measures.size(UInt64(noteByteLimit)))", hint: SecretStream.asFile)
    }
    guard isText(text.bytes) else {
      throw VaultError(.usage, "a note is text in UTF-8, and this is not", hint: SecretStream.asFile)
    }
    var header = try header(.note, name: fileName(title ?? "note", "txt"), mediaType: "text/plain;charset=utf-8")
    if let title { try add("title", Array(title.utf8).span.bytes, to: &header) }
    return NewContent(header: header, body: text)
  }

  static func password(_ fields: borrowing EntryFields) throws -> NewContent {
    var name = "password"
    switch fields.title {
    case .some(let title): name = SuggestedName.sanitised(title.bytes)
    case .none: break
    }
    var header = try header(.password, name: fileName(name, "json"), mediaType: "")
    try add(.title, fields.title, to: &header)
    try add(.user, fields.user, to: &header)
    try add(.url, fields.url, to: &header)
    try add(.notes, fields.notes, to: &header)
    try add(EntryField.password.rawValue, fields.password.bytes, to: &header)
    return NewContent(header: header, body: try SecretText.memory(0))
  }

  /// A contact from a card, which is checked and kept as it is.
  static func contact(_ card: consuming SecretBytes, named source: String) throws -> NewContent {
    let parsed: VCard
    do throws(VCard.Fault) { parsed = try VCard(card.bytes) } catch { throw error.error(in: source, .usage) }
    var name = "contact"
    if let property = parsed.properties.first(where: { $0.name == "FN" }) {
      let plain = try parsed.plainValue(of: property)
      name = SuggestedName.sanitised(plain.bytes)
    }
    let header = try header(.contact, name: fileName(name, "vcf"), mediaType: "text/vcard")
    return NewContent(header: header, body: card)
  }

  /// Adds a field that this program has no name for.
  mutating func add(field name: String, _ value: RawSpan) throws { try Self.add(name, value, to: &header) }

  // MARK: - Parts

  private static func header(_ kind: PayloadKind, name: String, mediaType: String) throws -> PayloadHeader {
    do {
      return try PayloadHeader(kind: kind, fileName: Array(name.utf8).span.bytes, mediaType: mediaType)
    } catch {
      throw VaultError(.other, "the header could not be made: \(error)")
    }
  }

  /// The name of the file that it becomes when it is written to one.
  private static func fileName(_ name: String, _ suffix: String) -> String {
    let safe = SuggestedName.sanitised(Array(name.utf8).span.bytes)
    var shortened = ""
    for character in safe where shortened.utf8.count + character.utf8.count <= 120 { shortened.append(character) }
    return (shortened.isEmpty ? SuggestedName.fallback : shortened) + "." + suffix
  }

  private static func add(_ field: EntryField, _ value: borrowing SecretBytes?, to header: inout PayloadHeader) throws {
    switch value {
    case .some(let value): if value.count > 0 { try add(field.rawValue, value.bytes, to: &header) }
    case .none: break
    }
  }

  private static func add(_ name: String, _ value: RawSpan, to header: inout PayloadHeader) throws {
    do { try header.add(field: name, value: value) } catch {
      throw VaultError(.usage, "\(name) is too long: all fields together have at most \(PayloadHeader.byteLimit) bytes")
    }
  }

  static func isBlank(_ bytes: RawSpan) -> Bool {
    bytes.withUnsafeBytes { bytes in bytes.allSatisfy { [0x20, 0x0A, 0x0D, 0x09].contains($0) } }
  }

  /// Whether bytes are UTF-8.
  static func isText(_ bytes: RawSpan) -> Bool {
    bytes.withUnsafeBytes { bytes in
      var decoder = UTF8()
      var rest = bytes.makeIterator()
      while true {
        switch decoder.decode(&rest) {
        case .scalarValue: continue
        case .error: return false
        case .emptyInput: return true
        }
      }
    }
  }
}

/// The parts of a password entry.
struct EntryFields: ~Copyable {
  var title: SecretBytes?
  var user: SecretBytes?
  var url: SecretBytes?
  var notes: SecretBytes?
  var password: SecretBytes

  init(password: consuming SecretBytes) {
    self.password = password
    title = nil
    user = nil
    url = nil
    notes = nil
  }
}
