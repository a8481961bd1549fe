import Courier
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

// What a session keeps of each exchange while it lasts.

struct DepositInProgress {
  let header: SecretHeader
  /// Share and salt, in secret memory until they are sealed into the store.
  let held: HeldShare
  let partial: PartialFragment
  var receiver: DepositReceiver
  /// Leaf hashes, as long as they are few; the tree of a very large fragment is computed by reading it again.
  var leaves: LeafList
  let reserve: DiskReserve
  /// Why it can't succeed any more: the rest is read and dropped, and the dealer hears of it at the end.
  var failure: RefusalReason?
}

struct AnsweredReleases {
  /// Secrets whose shares were released, with this device's index, by request number.
  /// Only their names are kept: headers are large, and a session may stay.
  var secrets: [UInt64: (id: SecretID, index: UInt8)] = [:]
  /// Fragments whose pieces are being sent, those that drills show among them.
  var fragments: [SecretID: LocalPieces] = [:]
}

/// What a peer has said so far about how a secret changes hands.
struct AnsweredLifecycle {
  var secret: SecretID?
  /// Whether the peer has proved a share of it.
  var hasProved = false
  /// The tag of a secret that isn't known here, where the peer says what it is.
  var invitation: Digest?
  var objects: [LifecycleObject] = []
  /// What the peer knows once it has the answer; nil if not all went into it.
  var known: Set<ObjectMark>?
}

/// The last drill of a session.
struct AnsweredDrill {
  let id: SecretID
  let index: UInt8
  /// Bytes of the fragment that were shown.
  var byteCount: UInt64 = 0
}

/// What was said in a session about the holders of secrets.
struct AnsweredIntroductions {
  /// The state in which the peer's own introductions were verified last.
  var mark = TrustMark()
  /// Secrets of whose holders cards were given.
  var cardsGiven: Set<SecretID> = []
}

struct ItemInProgress: ~Copyable {
  let record: ItemRecord
  let expected: Digest
  let file: ItemFile
  var digest: ItemDigest
  let reserve: DiskReserve
  /// Why it can't succeed any more: the rest is read and dropped, and the sender hears of it at the end.
  var failure: RefusalReason?
}

/// Hands an ``ItemInProgress`` from one thread to another. What has arrived stays if the session ends in the middle.
final class ItemBox: @unchecked Sendable {
  private var item: ItemInProgress?

  init(_ item: consuming ItemInProgress?) { self.item = consume item }

  /// Whether an end would come too early.
  var isPremature: Bool {
    switch item {
    case .some(let item): (item.failure == nil || item.failure == .invalidFragment) && !item.digest.isComplete
    case .none: false
    }
  }

  func take() -> ItemInProgress? { item.take() }
  func put(_ item: consuming ItemInProgress) { self.item = consume item }
}

/// A meeting that a peer has begun.
struct AnsweredMeeting: Sendable {
  let request: UInt64
  let desk: CourierDesk
  /// Nobody else of this peer's meets this device while it lasts.
  let place: MeetingPlace
  /// What the peer said first.
  let theirs: CarrierGreeting
  var patience: MeetingPatience
  let note: MeetingNote
  var report = MeetingReport() {
    didSet { note.keep(report) }
  }
  /// What this device has offered.
  var offers: [CarriedOffer] = []
  var intake: MeetingIntake
  /// What is still to be given.
  var giving: ArraySlice<ParcelHeader> = []
  var given: ParcelHeader?

  /// Whether what was offered is for the peer itself.
  func isTheirs(_ header: ParcelHeader) -> Bool { offers.contains { $0.header.copy == header.copy && $0.isYours } }
}

struct AnsweredMeetings {
  var running: AnsweredMeeting?
  var note: MeetingNote?
}
