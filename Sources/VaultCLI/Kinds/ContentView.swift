import SealedPayload
import SecretVault
import Sodium

/// A secret, or an item, that lies open in memory: what it has, by names, and how it is shown.
struct ContentView: ~Copyable {
  /// A part that can be taken out by itself.
  struct Field: Equatable {
    let name: String
    let place: Place
    /// Whether it is shown only when asked for.
    var isHidden = false
  }

  enum Place: Equatable {
    case body, fileName
    case field(String)
    case property(VCard.Property)
  }

  let kind: PayloadKind
  let traits: KindTraits
  /// Its parts, in the order in which they are shown.
  let fields: [Field]
  private let header: PayloadHeader
  private let body: SecretBytes
  private let card: VCard?

  /// Takes something that was recovered. A contact that is no vCard is the fault of whoever made it.
  init(_ content: consuming RecoveredContent) throws {
    let content = content
    do {
      try self.init(header: content.header.duplicate(), body: content.body.duplicate())
    } catch {
      throw VaultError(known: error) ?? SecretText.noMemory
    }
  }

  init(header: consuming PayloadHeader, body: consuming SecretBytes) throws {
    kind = header.kind
    traits = kind.traits
    if traits.isCard {
      do throws(VCard.Fault) { card = try VCard(body.bytes) } catch {
        throw error.error(in: "this contact", .damaged)
      }
    } else {
      card = nil
    }
    fields = Self.fields(header, traits, hasBody: body.count > 0, card)
    self.header = header
    self.body = body
  }

  /// Name of the part that `--clip` takes if none is named.
  var mainField: String { traits.mainField ?? traits.body }

  private static func fields(
    _ header: borrowing PayloadHeader, _ kind: KindTraits, hasBody: Bool, _ card: borrowing VCard?
  ) -> [Field] {
    let names = header.fieldNames
    var fields: [Field] = []
    for name in kind.fields where names.contains(name) {
      fields.append(Field(name: name, place: .field(name), isHidden: kind.hidden.contains(name)))
    }
    switch card {
    case .some(let card): fields += contactFields(card.properties)
    case .none: break
    }
    if kind.hasFileName { fields.append(Field(name: "name", place: .fileName)) }
    if hasBody || kind.isBodyAlwaysThere {
      fields.append(Field(name: kind.body, place: .body, isHidden: kind.hidden.contains(kind.body)))
    }
    for name in names where !fields.contains(where: { $0.name == name }) {
      fields.append(Field(name: name, place: .field(name)))
    }
    return fields
  }

  /// Names of the properties of a contact, the second of the same kind with a 2 behind it.
  private static func contactFields(_ properties: [VCard.Property]) -> [Field] {
    var counts: [String: Int] = [:]
    return properties.map { property in
      let name = contactNames[property.name] ?? property.name.lowercased()
      let count = (counts[name] ?? 0) + 1
      counts[name] = count
      return Field(name: count == 1 ? name : "\(name)-\(count)", place: .property(property))
    }
  }

  private static let contactNames = [
    "FN": "name", "N": "full-name", "TEL": "phone", "EMAIL": "email", "ORG": "organization", "ADR": "address",
    "BDAY": "birthday", "NICKNAME": "nickname",
  ]
  /// Properties that say nothing to people, or too much for a screen.
  private static let machineProperties: Set<String> = ["PRODID", "UID", "REV", "N"]
  private static let pictureProperties: Set<String> = ["PHOTO", "LOGO", "SOUND", "KEY"]

  /// A copy of one part, in secret memory.
  func value(of name: String) throws -> SecretBytes {
    guard let field = fields.first(where: { $0.name == name }) else {
      throw VaultError(
        .notFound, "this \(SecretList.kind(kind.rawValue)) has no field '\(name)'",
        hint: "it has: \(fields.map(\.name).joined(separator: ", "))")
    }
    return try value(of: field.place)
  }

  private func value(of place: Place) throws -> SecretBytes {
    switch place {
    case .body: return try SecretText.copy(body.bytes)
    case .fileName: return try SecretText.copy(header.fileName)
    case .field(let name):
      guard let value = header.field(name) else { return try SecretText.memory(0) }
      return try SecretText.copy(value)
    case .property(let property):
      switch card {
      case .some(let card): return try card.plainValue(of: property)
      case .none: return try SecretText.memory(0)
      }
    }
  }

  // MARK: - Forms

  /// What a person is shown. On a terminal, everything that it would act on is spelled out. The password stays hidden unless
  /// `showsHidden`.
  func text(forTerminal: Bool, showsHidden: Bool) throws -> SecretBytes {
    var text = try SecretText(capacity: body.count + 256)
    if traits.isShownAsText {
      let hasTitle = fields.contains { $0.name == "title" }
      if hasTitle {
        try append("title", to: &text, forTerminal)
        try text.append("\n")
      }
      try Self.append(body.bytes, to: &text, forTerminal, keepsLines: true)
      let endsLine = body.count == 0 || body.withUnsafeBytes { $0[$0.count - 1] == UInt8(ascii: "\n") }
      if !endsLine { try text.append("\n") }
      return try text.finish()
    }
    for field in fields {
      if case .property(let property) = field.place {
        guard !Self.machineProperties.contains(property.name) else { continue }
        try append(property, as: field.name, to: &text, forTerminal)
        continue
      }
      if field.place == .body, traits.isCard { continue }
      if field.isHidden, !showsHidden {
        try text.append("\(field.name): (hidden; --field \(field.name) prints it, --clip copies it, --show shows it)\n")
        continue
      }
      try append(field.name, to: &text, forTerminal)
    }
    return try text.finish()
  }

  private func append(_ name: String, to text: inout SecretText, _ forTerminal: Bool) throws {
    let value = try value(of: name)
    try text.append(Printable.escape(name) + ": ")
    try Self.append(value.bytes, to: &text, forTerminal, keepsLines: true)
    try text.append("\n")
  }

  private func append(
    _ property: VCard.Property, as name: String, to text: inout SecretText, _ forTerminal: Bool
  ) throws {
    switch card {
    case .some(let card):
      try text.append(name)
      if let type = Self.type(in: card.parameters(of: property)) {
        try text.append(" (")
        try Self.append(card.parameters(of: property).extracting(type), to: &text, true, keepsLines: false)
        try text.append(")")
      }
      try text.append(": ")
      if Self.pictureProperties.contains(property.name) {
        try text.append("(\(Measures.size(UInt64(property.value.count))) as text; it is in the vCard)\n")
        return
      }
      let plain = try card.plainValue(of: property)
      try Self.append(plain.bytes, to: &text, forTerminal, keepsLines: true)
      try text.append("\n")
    case .none: break
    }
  }

  /// Where the value of `TYPE=` stands in the parameters of a property.
  private static func type(in parameters: RawSpan) -> Range<Int>? {
    parameters.withUnsafeBytes { bytes in
      var start = 0
      while start < bytes.count {
        var end = start
        while end < bytes.count, bytes[end] != UInt8(ascii: ";") { end += 1 }
        let isType = end - start > 5 && bytes[start..<start + 5].elementsEqual("TYPE=".utf8) { $0 & 0xDF == $1 & 0xDF }
        if isType { return start + 5..<end }
        start = end + 1
      }
      return nil
    }
  }

  private static func append(
    _ value: RawSpan, to text: inout SecretText, _ forTerminal: Bool, keepsLines: Bool
  ) throws {
    if forTerminal { try text.append(printable: value, keepsLines: keepsLines) } else { try text.append(value) }
  }

  /// All parts as an object of JSON; null for those that are hidden, unless `showsHidden`. A contact's card is left out: its
  /// parts are there.
  func json(showsHidden: Bool) throws -> SecretBytes {
    var text = try SecretText(capacity: body.count + 256)
    try text.append("{")
    var isFirst = true
    for field in fields where !(traits.isCard && field.place == .body) {
      if !isFirst { try text.append(",") }
      isFirst = false
      try text.append(JSONValue.string(field.name).text + ":")
      if field.isHidden, !showsHidden {
        try text.append("null")
      } else {
        let value = try value(of: field.place)
        try text.append(json: value.bytes)
      }
    }
    try text.append("}")
    return try text.finish()
  }
}

/// The usual fields of a password entry, by their names in the payload.
enum EntryField: String, CaseIterable {
  case title, user, password, url, notes
}
