/// One peer's share on its way.
package struct Delivery: Hashable, Sendable {
  /// How far it got.
  package enum State: String, Hashable, Sendable { case delivered, waiting, refused, unreachable, cancelled }
  /// The peer's local name.
  package let peer: String
  /// The share's number.
  package let index: Int
  /// How far it got.
  package let state: State
  /// Why it is not delivered.
  package let reason: String?
  /// The way by which it travels meanwhile, if its peer can't be reached.
  package var onItsWay: ParcelWay?
  /// The way by which its peer is asked to prove its keys, which has to come before the share.
  package var probe: ParcelWay?
}
