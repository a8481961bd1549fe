/// What a meeting with a peer came to.
public struct MeetingReport: Hashable, Sendable {
  /// Parcels that were given to the peer as a carrier.
  public var given = 0
  /// Those of them that were others' already.
  public var passedOn = 0
  /// Parcels that were taken to be carried for others.
  public var taken = 0
  /// Own parcels that the peer, their recipient, has now.
  public var delivered = 0
  /// Parcels of others that the peer, their recipient, got from this device.
  public var handedOver = 0
  /// Parcels for this device.
  public var received = 0
  /// Receipts that were learned.
  public var receipts = 0

  /// Nothing so far.
  public init() {}

  /// Whether anything has changed hands.
  public var isEmpty: Bool { self == MeetingReport() }

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
