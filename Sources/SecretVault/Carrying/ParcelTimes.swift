/// Times of parcels, in milliseconds, and limits.
enum ParcelTimes {
  /// After which, without a receipt, a parcel also goes by ways that cost others something.
  static let patience: Int64 = 600_000
  /// After which a parcel is first sent by an account again: servers lose some while their recipients come or go.
  static let accountPatience: Int64 = 30_000
  /// Of parcels with receipts.
  static let receiptLifetime: Int64 = 2 * 86_400_000
  /// After which a receipt is sent again if its parcel comes again.
  static let receiptRepetition = 240_000.0
  /// Within which a possible carrier must have been met for parcels to be made for carriers.
  static let encounter: Int64 = 7 * 86_400_000
  /// For how long a message may be tried to be sent.
  static let lifetimes: ClosedRange<Int64> = 3_600_000...(30 * 86_400_000)
  /// Messages that a peer can leave here.
  static let messagesOfPeer = 10_000
  /// Own messages that wait for a peer.
  static let waitingForPeer = 1000
  /// Parcels with receipts that are kept for a peer.
  static let receiptsForPeer = 64
  /// Bytes of parcels that are handed over at a time.
  static let postByteLimit = 16 << 20
  /// Bytes of a parcel beyond the power of two that is sealed in it.
  static let sealing = 1024
  /// Messages that one search looks at.
  static let searchLimit = 100_000
}
