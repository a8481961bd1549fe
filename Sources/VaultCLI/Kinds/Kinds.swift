import SealedPayload

/// What a kind of secret is to people: which parts it has, and how it is edited and handed over. Besides ``PayloadKind`` and
/// this table only the command that makes a kind knows it by name.
struct KindTraits: Sendable {
  enum Editing: Sendable {
    /// Text as it is.
    case text
    /// Text that must be a vCard.
    case card
    /// Its fields, as lines.
    case entry
    /// Nobody edits it; and what to say.
    case never(String)
  }

  /// How another program gets it by a URL.
  enum Handover: Sendable { case text, file, never }

  /// Fields that come first, if it has them, in this order.
  var fields: [String] = []
  /// Those of its parts that are shown only when asked for.
  var hidden: Set<String> = []
  /// Whether the name of its file is a part.
  var hasFileName = false
  /// The name of its body as a part.
  let body: String
  /// Whether an empty body is one, too.
  var isBodyAlwaysThere = true
  /// Whether its body is a card, whose properties are its parts.
  var isCard: Bool { if case .card = editing { true } else { false } }
  /// Whether people are shown its body as it is, and no other part.
  var isShownAsText = false
  /// The part that `--clip` takes if none is named, where that isn't the body; what `-o` writes is JSON of all parts then.
  var mainField: String?
  let editing: Editing
  var handover = Handover.never
}

extension PayloadKind {
  var traits: KindTraits {
    switch self {
    case .file: KindTraits(hasFileName: true, body: "content", editing: .text, handover: .file)
    case .note:
      KindTraits(fields: ["title"], body: "text", isShownAsText: true, editing: .text, handover: .text)
    case .password:
      KindTraits(
        fields: EntryField.allCases.map(\.rawValue), hidden: [EntryField.password.rawValue], body: "content",
        isBodyAlwaysThere: false, mainField: EntryField.password.rawValue, editing: .entry)
    case .contact: KindTraits(body: "vcard", editing: .card)
    case .encryptionKey:
      KindTraits(hidden: ["content"], body: "content", editing: .never("a key can't be edited"))
    }
  }
}
