/// What everybody sees of a parcel, without its sealed content.
///
/// None of it is signed. A carrier that changes the tag or the expiry, or the content, makes another copy, which keeps
/// nobody from taking a true one; hops are capped by whoever takes it, and the branch and whether servers may have it are
/// the carrier's word. A dishonest
/// carrier can leave at a server what its sender wanted at none, as it can give it to anybody; an honest one never does.
package struct ParcelHeader: Hashable, Sendable, Codable {
  /// Most bytes of one parcel: 8 MiB of sealed content, and 64 around it.
  package static let sizeLimit = 8 << 20 | 64
  /// Most carriers that the sender gives a parcel to, and so the number of branches.
  package static let branchLimit = 5
  /// Stands for no branch: a copy that comes from the sender itself.
  package static let noBranch: UInt8 = 5
  /// Most carriers in a row.
  package static let hopLimit: UInt8 = 8
  /// How long a parcel can last, in milliseconds: 31 days.
  package static let longest: Int64 = 31 * 86_400_000

  /// The copy: the parcel's id, and what its bytes hash to.
  package let copy: CopyKey
  /// Whom it is for, to those who can tell.
  package let tag: RecipientTag
  /// Bytes of the whole parcel.
  package let size: Int
  /// When it is worth nothing any more, in milliseconds since 1970.
  package let expiresAt: Int64
  /// Carriers that may still take it. One that holds it with none left gives it to its recipient or a server only.
  package let hopsLeft: UInt8
  /// Which of its sender's carriers this copy went to first, from zero, or ``noBranch``: what the recipient's receipt
  /// tells the sender.
  package let branch: UInt8
  /// Whether it may be left at servers: its sender uses them for it, too.
  package let allowsServers: Bool

  /// A header, or nil if a number is out of bounds. Not for servers, unless that is said.
  package init?(
    copy: CopyKey, tag: RecipientTag, size: Int, expiresAt: Int64, hopsLeft: UInt8, branch: UInt8,
    allowsServers: Bool = false
  ) {
    guard size > 0, size <= Self.sizeLimit, expiresAt > 0, hopsLeft <= Self.hopLimit,
      branch <= Self.noBranch
    else {
      return nil
    }
    (self.copy, self.tag, self.size, self.expiresAt) = (copy, tag, size, expiresAt)
    (self.hopsLeft, self.branch, self.allowsServers) = (hopsLeft, branch, allowsServers)
  }

  /// The parcel's id.
  package var id: ParcelKey { copy.id }

  /// The same parcel in the hands of its next carrier: one hop less.
  func handedOn(branch: UInt8) -> ParcelHeader? {
    guard hopsLeft > 0 else { return nil }
    return ParcelHeader(
      copy: copy, tag: tag, size: size, expiresAt: expiresAt, hopsLeft: hopsLeft - 1, branch: branch,
      allowsServers: allowsServers)
  }

  /// The same copy, now that it is known which one it is.
  func named(_ digest: CopyDigest) -> ParcelHeader? {
    ParcelHeader(
      copy: CopyKey(id: id, digest: digest), tag: tag, size: size, expiresAt: expiresAt, hopsLeft: hopsLeft,
      branch: branch, allowsServers: allowsServers)
  }

  /// The same with at most so many hops left.
  func capped(hops: UInt8) -> ParcelHeader? {
    ParcelHeader(
      copy: copy, tag: tag, size: size, expiresAt: expiresAt, hopsLeft: min(hops, hopsLeft), branch: branch,
      allowsServers: allowsServers)
  }
}

/// A parcel that this device carries for somebody else.
package struct CarriedParcel: Hashable, Sendable, Codable {
  /// What everybody sees of it.
  package internal(set) var header: ParcelHeader
  /// Who gave it: its sender, as this device knows it, or the carrier before.
  package let from: DeviceKey
  /// Whether that was a peer rather than a stranger, when it came.
  package let fromPeer: Bool
  /// When it came, in milliseconds since 1970.
  package let receivedAt: Int64
  /// Carriers that it was handed on to.
  package internal(set) var handedTo: [DeviceKey] = []
  /// Whether a server has it.
  package internal(set) var isDeposited = false
  /// Whether its recipient got it from here, though the receipt may not have come back.
  package internal(set) var isHandedOver = false

  /// A parcel that `from` gave at `receivedAt`.
  package init(header: ParcelHeader, from: DeviceKey, fromPeer: Bool, receivedAt: Int64) {
    (self.header, self.from, self.fromPeer, self.receivedAt) = (header, from, fromPeer, receivedAt)
  }
}

/// A parcel of this device's own, on its way.
package struct OutgoingParcel: Hashable, Sendable, Codable {
  /// One that was given to a carrier.
  ///
  /// It has the branch to itself as soon as the first byte may have gone out; whether it has the parcel, only its own
  /// word tells.
  package struct Grant: Hashable, Sendable, Codable {
    /// How often a parcel goes out to a carrier that doesn't say that it has it.
    package static let limit = 4

    package let carrier: DeviceKey
    /// When the parcel first went out to it.
    package let at: Int64
    /// How often it has gone out to it, from once to ``limit``.
    package internal(set) var times = 1
    /// Whether the carrier has said that it has it.
    package internal(set) var isConfirmed = false

    /// Whether it may have got lost on its way, and may go out once more.
    var isOpen: Bool { !isConfirmed && times < Self.limit }
  }

  /// What everybody sees of it, before the first carrier.
  package internal(set) var header: ParcelHeader
  package let recipient: DeviceKey
  /// When it was made, in milliseconds since 1970.
  package let createdAt: Int64
  /// The carriers that it has gone out to, at most five; a carrier's place is its branch.
  package internal(set) var carriers: [Grant] = []
  /// Whether a server has it.
  package internal(set) var isDeposited = false
}
