/// What everybody sees of a parcel, without its sealed content.
///
/// None of it is signed. A carrier that changes the tag or the expiry, or the content, makes another copy, which keeps
/// nobody from taking a true one; hops are capped by whoever takes it, and the branch and whether servers may have it
/// are the carrier's word. A dishonest carrier can leave at a server what its sender wanted at none, as it can give it
/// to anybody; an honest one never does.
package struct ParcelHeader: Hashable, Sendable {
  /// Most bytes of one parcel: 8 MiB of sealed content, and 64 around it.
  package static let sizeLimit = 8 << 20 | 64
  /// Most carriers that the sender gives a parcel to, and so the number of branches.
  package static let branchLimit = 5
  /// Stands for no branch: a copy that comes from the sender itself.
  package static let noBranch: UInt8 = 5
  package static let hopLimit: UInt8 = 8
  /// How long a parcel can last, in milliseconds: 31 days.
  package static let longest: Int64 = 31 * 86_400_000

  package internal(set) var copy: CopyKey
  /// Whom it is for, to those who can tell.
  package let tag: RecipientTag
  package let size: Int
  /// When it is worth nothing any more, in milliseconds since 1970.
  package let expiresAt: Int64
  /// Carriers that may still take it. One that holds it with none left gives it to its recipient or a server only.
  package internal(set) var hopsLeft: UInt8
  /// Which of its sender's carriers this copy went to first, from zero, or ``noBranch``: what the recipient's receipt
  /// tells the sender.
  package internal(set) var branch: UInt8
  /// Whether it may be left at servers: its sender uses them for it, too.
  package let allowsServers: Bool

  /// Nil if a number is out of bounds.
  package init?(
    copy: CopyKey, tag: RecipientTag, size: Int, expiresAt: Int64, hopsLeft: UInt8, branch: UInt8,
    allowsServers: Bool = false
  ) {
    guard size > 0, size <= Self.sizeLimit, expiresAt > 0, hopsLeft <= Self.hopLimit, branch <= Self.noBranch
    else { return nil }
    (self.copy, self.tag, self.size, self.expiresAt) = (copy, tag, size, expiresAt)
    (self.hopsLeft, self.branch, self.allowsServers) = (hopsLeft, branch, allowsServers)
  }

  package var id: ParcelKey { copy.id }

  /// The same parcel in the hands of its next carrier: one hop less.
  func handedOn(branch: UInt8) -> ParcelHeader? {
    guard hopsLeft > 0 else { return nil }
    var header = self
    (header.hopsLeft, header.branch) = (hopsLeft - 1, branch)
    return header
  }
}

package struct CarriedParcel: Hashable, Sendable {
  package internal(set) var header: ParcelHeader
  /// Who gave it: its sender, as this device knows it, or the carrier before.
  package let from: DeviceKey
  /// Whether that was a peer rather than a stranger, when it came.
  let fromPeer: Bool
  package let receivedAt: Int64
  var handedTo: [DeviceKey] = []
  package internal(set) var isDeposited = false
  /// Whether its recipient got it from here, though the receipt may not have come back.
  package internal(set) var isHandedOver = false
}

package struct OutgoingParcel: Hashable, Sendable {
  /// One that was given to a carrier.
  ///
  /// It has the branch to itself as soon as the first byte may have gone out; whether it has the parcel, only its own
  /// word tells.
  package struct Grant: Hashable, Sendable {
    /// How often a parcel goes out to a carrier that doesn't say that it has it.
    package static let limit = 4

    package let carrier: DeviceKey
    package let at: Int64
    /// How often it has gone out to it, from once to ``limit``.
    package internal(set) var times = 1
    package internal(set) var isConfirmed = false

    /// Whether it may have got lost on its way, and may go out once more.
    var isOpen: Bool { !isConfirmed && times < Self.limit }
  }

  package internal(set) var header: ParcelHeader
  package let recipient: DeviceKey
  /// When it was made, in milliseconds since 1970.
  package let createdAt: Int64
  /// The carriers that it has gone out to, at most five; a carrier's place is its branch.
  package internal(set) var carriers: [Grant] = []
  package internal(set) var isDeposited = false
}
