/// What a device says first when it meets another.
package struct Greeting: Hashable, Sendable {
  /// Most parcels of a greeting, and most that are read of one.
  package static let idLimit = 256

  /// Parcels that it carries or has sent, copy by copy, in the order of their bytes, so that one can't tell which is
  /// which. None of what it received: that would tell strangers whom those were for.
  package let copies: [CopyKey]
  package let takes: Bool

  /// What arrives in `copies` beyond the limit is ignored.
  package init(copies: [CopyKey], takes: Bool) {
    self.copies = copies.prefix(Self.idLimit).sorted()
    self.takes = takes
  }
}

package struct Offer: Hashable, Sendable {
  /// Most offers of a meeting, and most that are read.
  package static let limit = 256

  package let header: ParcelHeader
  /// Whether it is addressed to the other, as far as the one who offers it can tell.
  package let isYours: Bool

  package init(header: ParcelHeader, isYours: Bool) { (self.header, self.isYours) = (header, isYours) }
}

package struct Reply: Hashable, Sendable {
  package enum Answer: Hashable, Sendable {
    /// It takes the parcel; as a carrier it says how likely it is to get it to the recipient, in 1/65535.
    case wanted(UInt16)
    case had
    /// It takes no more, or not this.
    case refused
  }

  package let copy: CopyKey
  package let answer: Answer

  package init(copy: CopyKey, answer: Answer) { (self.copy, self.answer) = (copy, answer) }
}

package enum Arrival: Hashable, Sendable {
  /// It is for this device, and new: when it has been opened and found genuine, its receipt is given to
  /// ``Courier/confirmed(_:at:)``. Until then it counts as not received, so that an altered copy keeps no true one
  /// away.
  case mine
  /// It is carried; these were dropped for it.
  case carried(evicted: [CopyKey])
  /// It is here already, or was.
  case known
  case refused
}

package struct Learned: Hashable, Sendable {
  package var delivered: [ParcelKey] = []
  /// Copies of others' that needn't be carried any more.
  package var dropped: [CopyKey] = []
}
