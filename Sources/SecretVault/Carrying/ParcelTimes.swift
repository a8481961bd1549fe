/// When a parcel takes which way, in milliseconds, and how much of anything there may be.
enum ParcelTimes {
  /// After which a way that costs others something is taken as well, because no receipt has come by the others.
  static let patience: Int64 = 600_000
  /// After which an account gets a parcel again for the first time: what comes to a server while its recipient comes or goes is lost now and then.
  static let accountPatience: Int64 = 30_000
  /// How long word of what arrived here is worth something.
  static let receiptLifetime: Int64 = 2 * 86_400_000
  /// After which word of the same parcel is sent once more, if the parcel comes again.
  static let receiptRepetition = 240_000.0
  /// Within which somebody who could be a carrier has to have been met, for parcels to be made for carriers.
  static let encounter: Int64 = 7 * 86_400_000
  /// The shortest and the longest time for which it may be tried to send a message.
  static let lifetimes: ClosedRange<Int64> = 3_600_000...(30 * 86_400_000)
  /// Most messages that a peer can leave here.
  static let messagesOfPeer = 10_000
  /// Most messages of a device's own that wait for a peer.
  static let waitingForPeer = 1000
  /// Most parcels with receipts that are kept for a peer.
  static let receiptsForPeer = 64
  /// Most bytes of parcels that are handed over at a time.
  static let postByteLimit = 16 << 20
  /// Most bytes that a parcel has beyond the power of two that is sealed in it.
  static let sealing = 1024
  /// Most messages that are looked at in one search.
  static let searchLimit = 100_000
}
