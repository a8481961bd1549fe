/// What a payload is, so that a program knows how to show it.
public enum PayloadKind: UInt8, Sendable, Hashable, CaseIterable {
  /// A file: the body is its content, the header has its name.
  case file = 1
  /// A text note: the body is UTF-8.
  case note = 2
  /// A password entry: its parts are fields.
  case password = 3
  /// A contact: its parts are fields.
  case contact = 4
  /// A shared encryption key, under which items are sealed: the body is the key's bytes.
  case encryptionKey = 5

  /// What people call it, and programs that read this one's output.
  package var word: String { self == .encryptionKey ? "key" : "\(self)" }
}
