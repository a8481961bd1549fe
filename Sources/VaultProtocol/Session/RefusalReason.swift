/// Why a peer says no. A number, never a peer's own words; the text is this program's.
package enum RefusalReason: UInt8, Hashable, Sendable, CaseIterable {
  /// Not held, proof wrong, other header, other epoch, or not allowed: one answer for all, until possession is proved.
  case unavailable = 1
  case quotaBytes = 2
  case quotaCount = 3
  case deleted = 4
  case conflictingHeader = 5
  case invalidHeader = 6
  case notTheDealer = 7
  case invalidShare = 8
  case invalidFragment = 9
  case diskFull = 10
  case notAccepted = 11
  case busy = 12
  case internalFailure = 13
  case fragmentDamaged = 14
  case notTrusted = 15
  /// The proof held, but the holder's user has to say yes first.
  case userAsked = 16
  /// The proof held, and the share is released later unless the holder's user says no.
  case releaseDelayed = 17
  /// The proof held, but the holder releases no more secrets to this peer today.
  case releaseLimit = 18
  /// The receiver of an item holds no share of its key.
  case keyNotHeld = 19
  /// It lets so much not go over Bluetooth, but it may by network.
  case bluetoothLimit = 20
  /// Who asks to join was not invited to that group, or is no member.
  case notInvited = 21
  /// Too few of the group's servers can be reached.
  case serversUnreachable = 22

  /// The reason in words that fit behind "the peer refused: ".
  package var explanation: String {
    switch self {
    case .unavailable: "it holds no share of this secret for you, or doesn't accept your proof"
    case .quotaBytes: "the file is larger than it accepts from you"
    case .quotaCount: "it keeps as many shares from you as it accepts"
    case .deleted: "its user deleted this share"
    case .conflictingHeader: "it holds another secret under the same id"
    case .invalidHeader: "it can't read the secret's header; one of the two programs may be too old"
    case .notTheDealer: "the share comes from somebody else than the secret's dealer"
    case .invalidShare: "the share does not verify"
    case .invalidFragment: "the fragment arrived damaged"
    case .diskFull: "its disk is full"
    case .notAccepted: "its user did not accept it"
    case .busy: "it is busy"
    case .internalFailure: "it had a failure of its own; its log says more"
    case .fragmentDamaged: "its fragment of the file is damaged or missing"
    case .notTrusted: "it no longer trusts this device"
    case .userAsked: "it asks its user first"
    case .releaseDelayed: "it releases its share only some time after you ask"
    case .releaseLimit: "it gives no more shares to you today"
    case .keyNotHeld: "it holds no share of this item's key"
    case .bluetoothLimit: "it lets nothing so large go over Bluetooth, by its setting ble-limit"
    case .notInvited: "it has not invited you to this group, or not any more"
    case .serversUnreachable: "it doesn't reach enough of the group's servers just now"
    }
  }
}
