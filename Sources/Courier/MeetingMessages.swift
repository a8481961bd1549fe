/// What a device says first when it meets another.
public struct Greeting: Hashable, Sendable {
  /// Most ids of a greeting, and most that are read of one.
  public static let idLimit = 256

  /// Ids of parcels that it carries or has sent, in the order of their bytes, so that one can't tell which is which.
  /// None of what it received: that would tell strangers whom those were for.
  public let ids: [ParcelKey]
  /// Whether it takes parcels for others at present.
  public let takes: Bool

  /// What arrives in `ids` beyond the limit is ignored.
  public init(ids: [ParcelKey], takes: Bool) {
    self.ids = ids.prefix(Self.idLimit).sorted()
    self.takes = takes
  }

  /// Whether `id` is among ``ids``.
  func contains(_ id: ParcelKey) -> Bool {
    var range = 0..<ids.count
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      if ids[middle] == id { return true }
      range = ids[middle] < id ? middle + 1..<range.upperBound : range.lowerBound..<middle
    }
    return false
  }
}

/// A parcel that a device could give to the one it meets.
public struct Offer: Hashable, Sendable {
  /// Most offers of a meeting, and most that are read.
  public static let limit = 256

  /// The parcel as the other would have it.
  public let header: ParcelHeader
  /// Whether it is addressed to the other, as far as the one who offers it can tell.
  public let isYours: Bool

  /// An offer of this parcel.
  public init(header: ParcelHeader, isYours: Bool) { (self.header, self.isYours) = (header, isYours) }
}

/// What a device says to an offer.
public struct Reply: Hashable, Sendable {
  /// The words of a reply.
  public enum Answer: Hashable, Sendable {
    /// It takes the parcel; as a carrier it says how likely it is to get it to the recipient, in 1/65535.
    case wanted(UInt16)
    /// It is here, or was.
    case had
    /// It takes no more, or not this.
    case refused
  }

  /// The parcel.
  public let id: ParcelKey
  /// What is said.
  public let answer: Answer

  /// A reply to the offer of `id`.
  public init(id: ParcelKey, answer: Answer) { (self.id, self.answer) = (id, answer) }
}

/// What became of a parcel that came from another device.
public enum Arrival: Hashable, Sendable {
  /// It is for this device, and new: when it has been opened and found genuine, its receipt is given to
  /// ``Courier/confirmed(_:at:)``. Until then it counts as not received, so that an altered copy keeps no true one
  /// away.
  case mine
  /// It is carried; these were dropped for it.
  case carried(evicted: [ParcelKey])
  /// It is here already, or was.
  case known
  /// It isn't taken.
  case refused
}

/// What receipts led to.
public struct Learned: Hashable, Sendable {
  /// Own parcels that have arrived.
  public var delivered: [ParcelKey] = []
  /// Parcels of others that needn't be carried any more.
  public var dropped: [ParcelKey] = []
}
