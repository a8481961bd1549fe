/// A shared encryption key of which this device holds a share, or which it has shared.
public struct KeySummary: Sendable {
  /// The secret that it is.
  public let secret: SecretSummary
  /// Items under it here.
  public let items: Int
  /// Those of them that nobody has looked at here, the ones that wait for acceptance included.
  public let newItems: Int
  /// Whether anybody can encrypt to it without having it.
  public let hasPublicHalf: Bool
  /// Whether it is unlocked just now: then it opens items without asking a peer.
  public let isUnlocked: Bool

  /// Its name, or the beginning of its id where it has none.
  public var name: String { secret.description ?? String(secret.id.prefix(12)) }
}

/// An item in a list.
public struct ItemSummary: Hashable, Sendable {
  /// How far it is.
  public enum State: String, Hashable, Sendable {
    /// A peer has sent it; it waits to be accepted.
    case waiting
    /// It came from outside, and nobody has looked at it here.
    case new
    /// An item like others.
    case seen
  }
  /// Where it came from.
  public enum Origin: String, Hashable, Sendable { case made, imported, sent, group }

  /// 64 hexadecimal digits.
  public let id: String
  /// The key's id, 32 hexadecimal digits.
  public let keyID: String
  /// The key's name, or the beginning of its id.
  public let key: String
  /// The file's name, sanitised; nil if it has none, as long as it was never opened here, or if a password hides it.
  public let name: String?
  /// What it is: file, note, password, contact; nil as long as it was never opened here, or if a password hides it.
  public let kind: String?
  /// The media type, if it says one.
  public let mediaType: String?
  /// Bytes of its contents; nil as long as it was never opened here, or if a password hides them.
  public let byteCount: UInt64?
  /// Bytes of the encrypted item: an upper bound, padded.
  public let itemByteCount: UInt64
  /// Whether it has a password of its own; nil as long as it was never opened here.
  public let hasPassword: Bool?
  /// Its public words, if any.
  public let description: String?
  /// How far it is.
  public let state: State
  /// Where it came from.
  public let origin: Origin
  /// The peer that sent it.
  public let sender: String?
  /// Whether it was encrypted to the key's public half, by anybody, and not by somebody who had the key.
  public let isSealedToPublicHalf: Bool
  /// Milliseconds since 1970: when it came here, or was made.
  public let receivedAt: Int64
}

/// What came of bringing an item in.
public struct ItemArrival: Sendable {
  /// The item.
  public let item: ItemSummary
  /// Whether it was here before.
  public let isKnown: Bool
  /// Peers that had sent something else as this item: it doesn't open, and was deleted.
  public var falseSenders: [String] = []
}

/// What came of decrypting an item to somewhere.
public struct ItemReport: Sendable {
  /// The item; nil for one that isn't kept here.
  public let item: ItemSummary?
  /// The key that opened it.
  public let key: String
  /// The path written, or nil for a descriptor.
  public let path: String?
  /// The name in it, sanitised.
  public let suggestedName: String
  /// The name in it, where the file got another one for safety. Whatever its author wrote: to be escaped.
  public var originalName: String?
  /// Bytes written.
  public let byteCount: UInt64

  /// A report from its parts.
  public init(item: ItemSummary?, key: String, path: String?, suggestedName: String, byteCount: UInt64) {
    self.item = item
    self.key = key
    self.path = path
    self.suggestedName = suggestedName
    self.byteCount = byteCount
  }
}

/// A part of an item's contents.
public struct ItemRange: Hashable, Sendable {
  /// Where it begins.
  public let offset: UInt64
  /// How long it is at most; nil goes to the end.
  public let length: UInt64?

  /// A part.
  public init(offset: UInt64, length: UInt64?) {
    self.offset = offset
    self.length = length
  }
}

/// Something to encrypt under a shared key.
public struct ItemRequest: Sendable {
  /// Where the plaintext comes from.
  public var source: ShareSource
  /// What a file is, as a media type; empty if that isn't known.
  public var mediaType: String
  /// The second encryption under a password, if there is one. What encrypts takes it.
  public var password: SharePassword?
  /// Public words, in clear.
  public var description: String?
  /// Encrypts to the public half of the key, without asking anybody.
  public var usesPublicHalf: Bool

  /// A request with the usual choices.
  public init(
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
public struct ItemAccess: Sendable {
  /// Asked for the password of an item that has one.
  public var passwords: PasswordSource
  /// Told how recovering a key goes.
  public var recovering: @Sendable (RecoveryEvent) -> Void
  /// Told how many bytes of how many are done.
  public var progress: @Sendable (_ done: UInt64, _ total: UInt64) -> Void
  /// How long a key is asked for while its holders' consent is missing, or they are; nil asks once.
  public var patience: KeyPatience?

  /// Everything that a caller may want to hear.
  public init(
    passwords: @escaping PasswordSource = Vault.noPassword,
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

/// Willingness to wait for the key of an item. See ``Vault/patiently(for:mayRepeat:waits:_:)``.
public struct KeyPatience: Sendable {
  /// Milliseconds; nil for no end.
  public var limit: Int64?
  /// Told of each pause, in milliseconds, and why.
  public var waits: @Sendable (_ pause: Int64, _ reason: VaultError) -> Void

  /// Waits for so many milliseconds, or without end.
  public init(limit: Int64?, waits: @escaping @Sendable (_ pause: Int64, _ reason: VaultError) -> Void) {
    self.limit = limit
    self.waits = waits
  }
}

/// An item that a peer has taken.
public struct ItemDelivery: Sendable {
  /// The item.
  public let item: ItemSummary
  /// The peer's local name.
  public let peer: String
  /// Whether the peer had it before.
  public let isKnown: Bool
  /// Whether it waits here in a parcel, and goes by whatever way there is.
  public var isOnItsWay = false
}
