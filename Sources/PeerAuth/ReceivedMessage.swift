public import Sodium

/// What the peer sent next.
public struct ReceivedMessage: ~Copyable, Sendable {
  public enum Kind: Hashable, Sendable {
    /// A message of a type that the caller gave a limit for.
    case message
    /// A message of another type; its body was skipped.
    case unknown
    /// The peer is done and has closed its side in good order.
    case goodbye
  }

  /// The type that a goodbye is reported with; no message may have it.
  package static let goodbyeType: UInt16 = 0

  public let kind: Kind
  /// The type number; 0 for a goodbye.
  public let type: UInt16
  /// The body; empty unless ``kind`` is a message.
  public let body: SecretBytes

  public var isGoodbye: Bool { kind == .goodbye }

  /// The body for somebody who keeps it.
  public consuming func takeBody() -> SecretBytes { body }

  package init(type: UInt16, body: consuming SecretBytes) {
    kind = .message
    self.type = type
    self.body = body
  }

  /// A message of a type that the caller gave no limit for.
  package static func unknown(type: UInt16) throws(SessionError) -> ReceivedMessage {
    try ReceivedMessage(empty: .unknown, type: type)
  }

  package static func goodbye() throws(SessionError) -> ReceivedMessage {
    try ReceivedMessage(empty: .goodbye, type: goodbyeType)
  }

  private init(empty kind: Kind, type: UInt16) throws(SessionError) {
    do throws(SodiumError) { body = try SecretBytes(zeros: 0) } catch { throw .sodium(error) }
    self.kind = kind
    self.type = type
  }
}
