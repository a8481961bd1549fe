/// What a meeting with a peer came to.
package struct MeetingReport: Hashable, Sendable {
  /// Parcels that the peer carries from now on.
  package var given = 0
  /// Those of ``given`` that aren't this device's own.
  package var passedOn = 0
  /// Parcels that this device carries for others from now on.
  package var taken = 0
  /// Own parcels that the peer, their recipient, has now.
  package var delivered = 0
  /// Parcels of others that the peer, their recipient, got from this device.
  package var handedOver = 0
  /// Parcels for this device.
  package var received = 0
  package var receipts = 0

  package var isEmpty: Bool { self == MeetingReport() }

  /// Receipts alone don't count: anybody can make as many as they like.
  var hasMovedParcels: Bool { given + taken + delivered + handedOver + received > 0 }

  var words: String {
    let parts = [
      (delivered, "delivered"), (received, "received"), (given, "given to be carried"), (taken, "taken to be carried"),
      (handedOver, "handed over for others"), (receipts, "receipts learned"),
    ]
    return parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
  }
}
