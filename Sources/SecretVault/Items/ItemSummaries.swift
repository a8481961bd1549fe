/// A shared encryption key of which this device holds a share, or which it has shared.
package struct KeySummary: Sendable {
  package let secret: SecretSummary
  /// Items under it here.
  package let items: Int
  /// Those that nobody has looked at here, including those that wait for acceptance.
  package let newItems: Int
  /// With one, anybody can encrypt to the key without having it.
  package let hasPublicHalf: Bool
  /// Then it opens items without asking a peer.
  package let isUnlocked: Bool

  /// Its name, or the beginning of its id where it has none.
  package var name: String { secret.description ?? String(secret.id.prefix(12)) }
}

package struct ItemSummary: Hashable, Sendable {
  package enum State: String, Hashable, Sendable {
    /// A peer has sent it; it waits to be accepted.
    case waiting
    /// It came from outside, and nobody has looked at it here.
    case new
    /// Looked at, or made here.
    case seen
  }
  package enum Origin: String, Hashable, Sendable { case made, imported, sent, group }

  /// 64 hexadecimal digits.
  package let id: String
  /// The key's id, 32 hexadecimal digits.
  package let keyID: String
  /// The key's name, or the beginning of its id.
  package let key: String
  /// The file's name, sanitised; nil if it has none, as long as it was never opened here, or if a password hides it.
  package let name: String?
  /// What it is: file, note, password, contact; nil as long as it was never opened here, or if a password hides it.
  package let kind: String?
  /// Nil if it says none.
  package let mediaType: String?
  /// Bytes of its contents; nil as long as it was never opened here, or if a password hides them.
  package let byteCount: UInt64?
  /// Bytes of the encrypted item: an upper bound, padded.
  package let itemByteCount: UInt64
  /// A password of its own; nil as long as it was never opened here.
  package let hasPassword: Bool?
  /// Its public words.
  package let description: String?
  package let state: State
  package let origin: Origin
  package let sender: String?
  /// Whether it was encrypted to the key's public half: anybody may have made it.
  package let isSealedToPublicHalf: Bool
  /// Milliseconds since 1970: when it came here, or was made.
  package let receivedAt: Int64
}

/// The outcome of bringing an item in.
package struct ItemArrival: Sendable {
  package let item: ItemSummary
  /// Whether it was here before.
  package let isKnown: Bool
  /// Peers that had sent something else as this item: it doesn't open, and was deleted.
  package var falseSenders: [String] = []
}

/// The outcome of decrypting an item to somewhere.
package struct ItemReport: Sendable {
  /// Nil for an item that isn't kept here.
  package let item: ItemSummary?
  /// The name of the key that opened it.
  package let key: String
  /// The path written, or nil for a descriptor.
  package let path: String?
  /// The name in it, sanitised.
  package let suggestedName: String
  /// The name in it, where the file got another one for safety. Whatever its author wrote: to be escaped.
  package var originalName: String?
  package let byteCount: UInt64

  package init(item: ItemSummary?, key: String, path: String?, suggestedName: String, byteCount: UInt64) {
    self.item = item
    self.key = key
    self.path = path
    self.suggestedName = suggestedName
    self.byteCount = byteCount
  }
}

/// A part of an item's contents.
package struct ItemRange: Hashable, Sendable {
  package let offset: UInt64
  /// At most; nil goes to the end.
  package let length: UInt64?

  package init(offset: UInt64, length: UInt64?) {
    self.offset = offset
    self.length = length
  }
}

/// Something to encrypt under a shared key.
package struct ItemRequest: Sendable {
  package var source: ShareSource
  /// Of a file; empty if unknown.
  package var mediaType: String
  /// For a second encryption. Encrypting consumes it.
  package var password: SharePassword?
  /// Public, in clear.
  package var description: String?
  /// Without asking anybody.
  package var usesPublicHalf: Bool

  package init(
    source: ShareSource, mediaType: String = "", password: SharePassword? = nil, description: String? = nil,
    usesPublicHalf: Bool = false
  ) {
    self.source = source
    self.mediaType = mediaType
    self.password = password
    self.description = description
    self.usesPublicHalf = usesPublicHalf
  }
}

/// What the caller is told and asked while items are opened.
package struct ItemAccess: Sendable {
  /// Asked for the password of an item that has one.
  package var passwords: PasswordSource
  /// Told how recovering a key goes.
  package var recovering: @Sendable (RecoveryEvent) -> Void
  /// Told how many bytes of how many are done.
  package var progress: @Sendable (_ done: UInt64, _ total: UInt64) -> Void
  /// How long a key is asked for while its holders' consent is missing, or they are; nil asks once.
  package var patience: KeyPatience?

  package init(
    passwords: @escaping PasswordSource = Recovering.noPassword,
    recovering: @escaping @Sendable (RecoveryEvent) -> Void = { _ in },
    progress: @escaping @Sendable (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in },
    patience: KeyPatience? = nil
  ) {
    self.passwords = passwords
    self.recovering = recovering
    self.progress = progress
    self.patience = patience
  }
}

/// Willingness to wait for the key of an item. See ``Recovering/patiently(for:mayRepeat:waits:_:)``.
package struct KeyPatience: Sendable {
  /// Milliseconds; nil for no end.
  package var limit: Int64?
  /// Told of each pause, in milliseconds, and why.
  package var waits: @Sendable (_ pause: Int64, _ reason: VaultError) -> Void

  package init(limit: Int64?, waits: @escaping @Sendable (_ pause: Int64, _ reason: VaultError) -> Void) {
    self.limit = limit
    self.waits = waits
  }
}

/// An item that a peer has taken.
package struct ItemDelivery: Sendable {
  package let item: ItemSummary
  package let peer: String
  /// Whether the peer had it before.
  package let isKnown: Bool
  /// Whether it waits here in a parcel.
  package var isOnItsWay = false
}

extension RecoveredOutput.Written {
  func report(_ item: ItemSummary?, key: String) -> ItemReport {
    var report = ItemReport(item: item, key: key, path: path, suggestedName: name, byteCount: byteCount)
    report.originalName = originalName
    return report
  }
}
