/// A place on a network of this device where a peer may be, as it was heard there. Anybody may have said so: the session tells.
package struct LocalPlace: Sendable {
  /// For people.
  package let description: String
  package let connect: @Sendable () async throws(TransportError) -> any PeerTransport
  /// To be called when the peer was there.
  package let reached: @Sendable () -> Void

  package init(
    _ description: String, connect: @escaping @Sendable () async throws(TransportError) -> any PeerTransport,
    reached: @escaping @Sendable () -> Void
  ) {
    self.description = description
    self.connect = connect
    self.reached = reached
  }
}
