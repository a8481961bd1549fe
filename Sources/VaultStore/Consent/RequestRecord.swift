package import ShamirKit
package import Sodium

/// Something that a peer wants and that this device's user decides about: a share to be released, or one to be kept.
package struct RequestRecord: Hashable, Sendable {
  package enum Kind: String, Hashable, Sendable {
    /// To have this device's share of a secret. It has proved that it holds another one.
    case release
    /// To leave a share here.
    case deposit
    /// That the secret's shares change hands; ``RequestRecord/headerDigest`` is the proposal's.
    case change
  }

  package enum State: String, Hashable, Sendable {
    case waiting
    /// The user said yes.
    case approved
    /// The user said no.
    case refused
    /// A deposit that was approved is arriving.
    case taken
  }

  /// Its number, never given twice. 0 before it is stored.
  package internal(set) var id: Int64 = 0
  package let kind: Kind
  package let peer: Digest
  package let secretID: SecretID
  package let headerDigest: Digest
  /// The public description of what is offered.
  package let description: String?
  /// Bytes of the fragment that is offered.
  package let byteCount: Int64?
  package var state = State.waiting
  /// When the peer asked first, in milliseconds since 1970.
  package let askedAt: Int64
  /// From when the state, or the delay, counts.
  package var startedAt: Int64
  /// Milliseconds from ``startedAt`` on after which the share is released unless the user says no; nil where the user is asked.
  package var delay: Int64?
  /// When all this ends and the row means nothing any more.
  package var endsAt: Int64

  package init(
    kind: Kind, peer: Digest, secretID: SecretID, headerDigest: Digest, description: String? = nil,
    byteCount: Int64? = nil, askedAt: Int64, startedAt: Int64? = nil, delay: Int64? = nil, endsAt: Int64
  ) {
    self.kind = kind
    self.peer = peer
    self.secretID = secretID
    self.headerDigest = headerDigest
    self.description = description
    self.byteCount = byteCount
    self.askedAt = askedAt
    self.startedAt = startedAt ?? askedAt
    self.delay = delay
    self.endsAt = endsAt
  }

  func rowMAC(_ keys: VaultKeys) throws(StoreError) -> [UInt8] {
    let presence: UInt64 = (description == nil ? 0 : 1) | (byteCount == nil ? 0 : 2) | (delay == nil ? 0 : 4)
    return try keys.mac(
      "vault/request-row/v1", id, kind.rawValue, peer, secretID, headerDigest, description ?? "", byteCount ?? 0,
      state.rawValue, askedAt, startedAt, delay ?? 0, endsAt, presence)
  }
}
