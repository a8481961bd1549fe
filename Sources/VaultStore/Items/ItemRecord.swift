package import ShamirKit
package import Sodium

/// An item under a shared key: its public header, and how it came here. The ciphertext lies in a file of its own.
package struct ItemRecord: Hashable, Sendable {
  package static let idByteCount = 32
  package static let headerByteLimit = 8192
  package static let labelByteLimit = 4096

  package enum State: String, Hashable, Sendable, NumberedWord {
    /// Its ciphertext is still arriving from a peer; the file isn't whole.
    case arriving
    /// A peer has sent it, and the user hasn't accepted it.
    case waiting
    /// It came from outside, and the user hasn't looked at it.
    case new
    /// An item like others.
    case seen
  }

  package enum Origin: String, Hashable, Sendable, NumberedWord {
    case made
    /// Imported by the user, from a file or a picture.
    case imported
    /// Sent by a peer, over a session.
    case sent
    /// Brought by a group that keeps it in step. Only its maker has verified it.
    case group
  }

  /// 32 bytes: the item's own id, and until the user accepts what a peer has sent
  /// ``VaultDatabase/arrivalID(of:from:)``.
  package let id: [UInt8]
  /// The secret that is its key, 16 bytes.
  package let keyID: SecretID
  /// The encoded header, at most 8 KiB: what its file begins with.
  package let header: [UInt8]
  /// Bytes of the ciphertext behind it.
  package let byteCount: Int64
  package var state: State
  package let origin: Origin
  /// The card digest of the peer that sent it.
  package let sender: Digest?
  /// What a list shows of the contents, sealed under the vault's own keys (``VaultKeys/seal(_:_:)``); nil as long as
  /// nobody here has opened it.
  package var label: [UInt8]?
  /// When it came, by this device's clock; while it is arriving, when the last piece of work on it began.
  package var receivedAt: Int64

  package init(
    id: [UInt8], keyID: SecretID, header: [UInt8], byteCount: Int64, state: State, origin: Origin, sender: Digest?,
    label: [UInt8]?, receivedAt: Int64
  ) {
    self.id = id
    self.keyID = keyID
    self.header = header
    self.byteCount = byteCount
    self.state = state
    self.origin = origin
    self.sender = sender
    self.label = label
    self.receivedAt = receivedAt
  }

  package static func labelName(_ id: [UInt8]) -> RecordName { RecordName(table: "items", row: id) }

  /// Whether somebody else has brought it and nobody here has looked into it: it may be anything under that id.
  package var isUnopened: Bool { label == nil && (origin == .sent || origin == .group) }

  var fileByteCount: Int64 { Int64(header.count) + byteCount }

  /// Whether ``fileByteCount`` is a number.
  var hasLength: Bool { byteCount >= 0 && byteCount <= Int64.max - Int64(header.count) }

  func rowMAC(_ keys: VaultKeys) throws(StoreError) -> [UInt8] {
    try keys.mac(
      "vault/item-row/v1", id, keyID, header, byteCount,
      [state.code, origin.code, sender == nil ? 0 : 1, label == nil ? 0 : 1], sender?.bytes ?? [], label ?? [],
      receivedAt)
  }
}

/// How many items a key has here.
package struct ItemCount: Hashable, Sendable {
  /// All of them but those that are still arriving.
  package var all = 0
  /// Those that came from outside and were not looked at, the waiting ones included.
  package var new = 0
  package init() {}
}
