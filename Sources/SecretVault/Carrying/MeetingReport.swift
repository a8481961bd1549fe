/// What a meeting with a peer came to.
package struct MeetingReport: Hashable, Sendable {
  /// Parcels that were given to the peer as a carrier.
  package var given = 0
  /// Those of them that were others' already.
  package var passedOn = 0
  /// Parcels that were taken to be carried for others.
  package var taken = 0
  /// Own parcels that the peer, their recipient, has now.
  package var delivered = 0
  /// Parcels of others that the peer, their recipient, got from this device.
  package var handedOver = 0
  /// Parcels for this device.
  package var received = 0
  /// Receipts that were learned.
  package var receipts = 0

  /// Nothing so far.
  package init() {}

  /// Whether anything has changed hands.
  package var isEmpty: Bool { self == MeetingReport() }

  /// Whether a parcel has changed hands. Receipts alone cost nothing: anybody can make as many as they like.
  var hasMovedParcels: Bool { given + taken + delivered + handedOver + received > 0 }

  /// The same in words, for the log.
  var words: String {
    let parts = [
      (delivered, "delivered"), (received, "received"), (given, "given to be carried"), (taken, "taken to be carried"),
      (handedOver, "handed over for others"), (receipts, "receipts learned"),
    ]
    return parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
  }
}
