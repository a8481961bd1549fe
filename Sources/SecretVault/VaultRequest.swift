/// Something that a peer wants and the user decides about.
public struct VaultRequest: Hashable, Sendable {
  /// What the peer wants.
  public enum Kind: String, Hashable, Sendable {
    /// This device's share of a secret. It has proved that it holds another one.
    case release
    /// To leave a share here.
    case deposit
  }

  /// How far it is.
  public enum State: String, Hashable, Sendable {
    /// Nobody has decided.
    case waiting
    /// The user said yes; it holds until ``VaultRequest/endsAt``.
    case approved
    /// The user said no; it holds until ``VaultRequest/endsAt``.
    case refused
    /// A share that was approved is arriving.
    case arriving
  }

  /// Its number, never given twice on this device.
  public let id: Int64
  /// What the peer wants.
  public let kind: Kind
  /// The peer's local name.
  public let peer: String
  /// 5×5 digits of its keys.
  public let fingerprint: String
  /// The secret's id.
  public let secret: String
  /// The secret's public description: its dealer's words.
  public let description: String?
  /// Bytes of the fragment that is offered; nil for a release.
  public let byteCount: UInt64?
  /// How far it is.
  public let state: State
  /// Milliseconds since 1970 when the peer asked first.
  public let askedAt: Int64
  /// When the share is released unless the user says no; nil where nothing happens by itself.
  public let releasesAt: Int64?
  /// When the request, or the decision, ends.
  public let endsAt: Int64
}
