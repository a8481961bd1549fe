/// Which side of a session this is.
public enum SessionRole: String, Hashable, Sendable {
  /// Dialled.
  case initiator
  /// Answered.
  case responder

  package var opposite: SessionRole { self == .initiator ? .responder : .initiator }
}
