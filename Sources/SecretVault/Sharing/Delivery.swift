/// One peer's share on its way.
package struct Delivery: Hashable, Sendable {
  package enum State: String, Hashable, Sendable { case delivered, waiting, refused, unreachable, cancelled }
  package let peer: String
  package let index: Int
  package let state: State
  package let reason: String?
  /// How it travels if its peer can't be reached.
  package var onItsWay: ParcelWay?
  /// How the request to prove its keys travels, which the peer has to answer first.
  package var probe: ParcelWay?
}
