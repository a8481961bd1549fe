package import Sodium
package import VaultProtocol
package import VaultStore

/// How a parcel has come here.
package struct ParcelArrival: Hashable, Sendable {
  package enum Way: Hashable, Sendable {
    /// From its sender, over the network or Bluetooth.
    case session, bluetooth
    /// Through an account: its sender's, or a carrier's.
    case account
    /// Through the group in this folder.
    case group(folder: [UInt8])
    /// From a carrier.
    case carriers

    /// As the route of a message.
    package var name: String {
      switch self {
      case .bluetooth: "bluetooth"
      case .session: VaultStore.Way.session.name
      case .account: VaultStore.Way.account.name
      case .group: VaultStore.Way.group.name
      case .carriers: VaultStore.Way.carriers.name
      }
    }
  }

  /// It didn't come by carriers.
  package static let noBranch: UInt8 = 5

  /// The last stretch.
  package let way: Way
  /// Who handed it over; by an account nil if its owner is unknown.
  package let from: Digest?
  /// By how many carriers it came.
  package let hops: UInt8
  /// Which of its sender's carriers had it first, from zero; or ``noBranch``.
  package let branch: UInt8

  package init(way: Way, from: Digest? = nil, hops: UInt8 = 0, branch: UInt8 = noBranch) {
    self.way = way
    self.from = from
    self.hops = hops
    self.branch = min(branch, Self.noBranch)
  }

  /// Of the group by which it came.
  var folder: [UInt8]? { if case .group(let folder) = way { folder } else { nil } }

  /// Given the sender: whoever else hands a parcel over is a carrier, whatever it says, and the sender is none.
  func corrected(sender: Digest) -> ParcelArrival {
    guard let from else { return self }
    if way == .account, from == sender { return ParcelArrival(way: .account, from: from) }
    guard isDirect || way == .account, from != sender else { return self }
    return ParcelArrival(way: isDirect ? .carriers : way, from: from, hops: max(1, hops), branch: branch)
  }

  /// The last carrier: others are unknown here.
  var carriers: [Digest] {
    guard way == .carriers || (way == .account && hops > 0), let from else { return [] }
    return [from]
  }

  /// Whether it came without servers: then its sender may want none.
  var isPrivate: Bool { isDirect || way == .carriers }

  /// Whether its sender hears at once that it was taken.
  var isDirect: Bool { way == .session || way == .bluetooth }
}

/// What became of a parcel that has come.
package enum ParcelTaking: Hashable, Sendable {
  /// It is here, durably. The receipt is nil if it can't be made.
  case taken(receipt: ParcelReceipt?)
  /// It was here already, or is of a kind of which nothing is remembered: anybody may have brought it.
  case known(receipt: ParcelReceipt?)
  /// Worthless, and why.
  case ignored(String)
  /// Worthless, unless its sender becomes a peer before it expires.
  case unknownSender
  /// Not now, perhaps later: too many wait here, or its times don't fit this device's clock.
  case full

  package var isTaken: Bool {
    switch self {
    case .taken, .known: true
    case .ignored, .unknownSender, .full: false
    }
  }

  /// Whether it is here, and wasn't before.
  package var isNew: Bool { if case .taken = self { true } else { false } }
}

/// An own parcel that is to be handed over.
package struct OutgoingParcelPost: Hashable, Sendable {
  package let post: ParcelPost
  package let recipient: Digest
  package let record: ParcelRecord
}
