/// Which side of a session this is.
public enum SessionRole: String, Hashable, Sendable {
  /// Dialled.
  case initiator
  /// Answered.
  case responder

  /// The other side.
  public var opposite: SessionRole { self == .initiator ? .responder : .initiator }
}
