package import Sodium
package import VaultProtocol
package import VaultStore

/// How a parcel has come here.
package struct ParcelArrival: Hashable, Sendable {
  /// The last stretch of its way.
  package enum Way: Hashable, Sendable {
    /// From its sender, over the network or over Bluetooth.
    case session, bluetooth
    /// Through an account at a server: its sender's, or that of somebody who carried it.
    case account
    /// Through the group in this folder.
    case group(folder: [UInt8])
    /// From somebody who carried it.
    case carriers

    /// As it is noted with a message.
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

  /// Stands for no branch: it didn't come by carriers.
  package static let noBranch: UInt8 = 5

  /// The last stretch of its way.
  package let way: Way
  /// Who handed it over: in a session, or at a server, as far as it is known whose account that is.
  package let from: Digest?
  /// By how many carriers it came.
  package let hops: UInt8
  /// Which of its sender's carriers had it first, from zero; or ``noBranch``.
  package let branch: UInt8

  /// A parcel that has come this way.
  package init(way: Way, from: Digest? = nil, hops: UInt8 = 0, branch: UInt8 = noBranch) {
    self.way = way
    self.from = from
    self.hops = hops
    self.branch = min(branch, Self.noBranch)
  }

  /// The folder of the group by which it came, if so.
  var folder: [UInt8]? { if case .group(let folder) = way { folder } else { nil } }

  /// The same, if this sender has made the parcel: whoever else hands one over is a carrier, whatever it says, and the sender itself is none.
  func corrected(sender: Digest) -> ParcelArrival {
    guard let from else { return self }
    if way == .account, from == sender { return ParcelArrival(way: .account, from: from) }
    guard isDirect || way == .account, from != sender else { return self }
    return ParcelArrival(way: isDirect ? .carriers : way, from: from, hops: max(1, hops), branch: branch)
  }

  /// Who has carried it, as far as anybody here knows: the last one.
  var carriers: [Digest] {
    guard way == .carriers || (way == .account && hops > 0), let from else { return [] }
    return [from]
  }

  /// Whether it has come without any server: then its sender may want none. One that came by a carrier's account was for servers, too, or its carrier
  /// has let it be known already.
  var isPrivate: Bool { isDirect || way == .carriers }

  /// Whether its sender hears in the same moment that it was taken.
  var isDirect: Bool { way == .session || way == .bluetooth }
}

/// What became of a parcel that has come.
package enum ParcelTaking: Hashable, Sendable {
  /// It is here, durably; nobody else needs it. With what tells its sender so; nil if that can't be made.
  case taken(receipt: ParcelReceipt?)
  /// The same of one that was here already, or of which nothing is kept by which it would be known again: anybody may have brought it.
  case known(receipt: ParcelReceipt?)
  /// It is worth nothing, and why.
  case ignored(String)
  /// Nobody here knows who sent it: worth nothing, unless its sender becomes a peer before its time is over.
  case unknownSender
  /// Not now, and perhaps later: so many wait here that no more are taken, or its time is not, as this device's clock has it.
  case full

  /// Whether it is here.
  package var isTaken: Bool {
    switch self {
    case .taken, .known: true
    case .ignored, .unknownSender, .full: false
    }
  }

  /// Whether it is here, and wasn't before.
  package var isNew: Bool { if case .taken = self { true } else { false } }
}

/// A parcel of this device's own that is to be handed over.
package struct OutgoingParcelPost: Hashable, Sendable {
  package let post: ParcelPost
  package let recipient: Digest
  /// What is known of it.
  package let record: ParcelRecord
}
