import Sodium
import VaultStore

/// By what a plain message is known that its sender's program gave no name, or one that it had given before. It lies in the place of the
/// route of a message, behind the word that says that it is plain.
package struct PlainMark: Hashable, Sendable {
  /// What a message can be known by besides a name of its sender's.
  package enum Kind: Character, Hashable, Sendable, CaseIterable {
    /// What the account's server calls it in its archive.
    case archive = "a"
    /// It came without a name and without a time.
    case none = "n"
    /// When a server says that it kept it.
    case stamp = "s"
  }

  static let route = "plain"
  private static let tagCount = 8

  /// Under what kinds of names it has come; none: its sender's program named it.
  package var kinds: Set<Kind>
  /// What stands for its name in the archive of the account's server, if that is known.
  package var archived: [UInt8]?

  /// One from its parts; without any, that of a message of which nothing is known but its sender's name.
  package init(kinds: Set<Kind> = [], archived: [UInt8]? = nil) {
    self.kinds = kinds
    self.archived = archived.map { Array($0.prefix(Self.tagCount)) }
  }

  /// The mark of a plain message; what says nothing is a message that its sender named.
  init(_ record: MessageRecord) {
    let words = record.route.split(separator: " ", omittingEmptySubsequences: false)
    self.init(kinds: Set(words.dropFirst().first.map { $0.compactMap { Kind(rawValue: $0) } } ?? []))
    guard words.count == 3 else { return }
    guard let tag = Sodium.bytes(hexadecimal: words[2]), tag.count == Self.tagCount else { return }
    archived = tag
  }

  /// What is stored.
  var route: String {
    guard !kinds.isEmpty || archived != nil else { return Self.route }
    let letters = String(kinds.map(\.rawValue).sorted())
    guard let archived else { return "\(Self.route) \(letters)" }
    return "\(Self.route) \(letters) \(hexadecimal(archived))"
  }
}

/// A plain message that is here, and what it is known by.
package struct KnownPlain: Sendable {
  /// Its id, 16 bytes.
  package let id: [UInt8]
  /// When it was sent, as far as is known, in milliseconds since 1970.
  package let sentAt: Int64
  /// What it is known by.
  package let mark: PlainMark

  init(_ record: MessageRecord) {
    (id, sentAt, mark) = (record.id, record.sentAt, PlainMark(record))
  }
}

extension MessageRecord {
  /// The route as it is said to others, if it is known: what a plain message is known by is nobody's business.
  var publicRoute: String? {
    guard account == nil else { return PlainMark.route }
    return route.isEmpty ? nil : route
  }
}
