import Sodium
import VaultStore

/// Identifies a plain message whose sender's program gave it no id, or a repeated one. It is stored in the message's route, behind
/// the word `plain`.
package struct PlainMark: Hashable, Sendable {
  package enum Kind: Character, Hashable, Sendable, CaseIterable {
    /// Its id in the archive of the account's server.
    case archive = "a"
    /// It came with neither id nor time.
    case none = "n"
    /// The time at which a server kept it.
    case stamp = "s"
  }

  static let route = "plain"
  private static let tagCount = 8

  /// Empty if its sender's program gave it an id.
  package var kinds: Set<Kind>
  /// Stands for its id in the archive of the account's server, if that is known.
  package var archived: [UInt8]?

  package init(kinds: Set<Kind> = [], archived: [UInt8]? = nil) {
    self.kinds = kinds
    self.archived = archived.map { Array($0.prefix(Self.tagCount)) }
  }

  /// Reads the mark from a plain message's route.
  init(_ record: MessageRecord) {
    let words = record.route.split(separator: " ", omittingEmptySubsequences: false)
    self.init(kinds: Set(words.dropFirst().first.map { $0.compactMap { Kind(rawValue: $0) } } ?? []))
    guard words.count == 3, let tag = Sodium.bytes(hexadecimal: words[2]), tag.count == Self.tagCount else { return }
    archived = tag
  }

  var route: String {
    guard !kinds.isEmpty || archived != nil else { return Self.route }
    let letters = String(kinds.map(\.rawValue).sorted())
    guard let archived else { return "\(Self.route) \(letters)" }
    return "\(Self.route) \(letters) \(hexadecimal(archived))"
  }
}

/// A stored plain message and its mark.
package struct KnownPlain: Sendable {
  /// 16 bytes.
  package let id: [UInt8]
  /// When it was sent, as far as is known, in milliseconds since 1970.
  package let sentAt: Int64
  package let mark: PlainMark

  init(_ record: MessageRecord) {
    (id, sentAt, mark) = (record.id, record.sentAt, PlainMark(record))
  }
}

extension MessageRecord {
  /// The route to be shown, without the mark of a plain message.
  var publicRoute: String? {
    guard account == nil else { return PlainMark.route }
    return route.isEmpty ? nil : route
  }
}
