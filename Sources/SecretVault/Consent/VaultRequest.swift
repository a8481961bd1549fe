/// Something that a peer wants and the user decides about.
package struct VaultRequest: Hashable, Sendable {
  package enum Kind: String, Hashable, Sendable {
    /// This device's share of a secret. It has proved that it holds another one.
    case release
    /// To leave a share here.
    case deposit
    /// That the shares of a secret change hands.
    case change
  }

  package enum State: String, Hashable, Sendable {
    case waiting
    /// The user said yes; it holds until ``VaultRequest/endsAt``.
    case approved
    /// The user said no; it holds until ``VaultRequest/endsAt``.
    case refused
    /// A share that was approved is arriving.
    case arriving
  }

  /// Never given twice on this device.
  package let id: Int64
  package let kind: Kind
  package let peer: String
  /// 5×5 digits of its keys.
  package let fingerprint: String
  package let secret: String
  /// The dealer's words.
  package let description: String?
  /// Bytes of the fragment that is offered; nil for a release.
  package let byteCount: UInt64?
  package let state: State
  /// Milliseconds since 1970 when the peer asked first.
  package let askedAt: Int64
  /// When the share is released unless the user says no; nil where nothing happens by itself.
  package let releasesAt: Int64?
  /// When the request, or the decision, ends.
  package let endsAt: Int64
  /// What would change; nil for requests of other kinds.
  package var change: ChangeSummary?
}
