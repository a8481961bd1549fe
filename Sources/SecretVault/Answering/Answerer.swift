import Concurrency
import PeerAuth
import ShamirKit
import VaultProtocol
import VaultStore
import WireCodec

/// The answering side of one session, or of one parcel: carries out what the dialogue allows.
struct Answerer {
  let room: Answering
  let channel: any AnswererChannel
  let peer: PeerRecord
  /// When the parcel expires whose messages these are, in milliseconds since 1970; nil in a session, in which somebody waits for the answers.
  let parcelEnd: Int64?
  /// Whether the session came over Bluetooth.
  let isNearby: Bool
  var dialogue: AnswererDialogue
  var deposit: DepositInProgress?
  /// Whether the peer's program knows answers that wait for this device's user.
  var knowsConsent = false
  /// Whether it knows of introductions.
  var knowsIntroductions = false
  /// An item whose pieces are arriving; what has arrived stays if the session ends in the middle.
  var item: ItemBox?
  /// A meeting that is under way.
  var meeting: AnsweredMeeting?
  /// What is noted of the last one.
  var meetingNote: MeetingNote?
  /// Whether the peer has nothing more to ask.
  var hasHeardGoodbye = false
  /// The state in which the peer's row was verified last.
  var trustMark = TrustMark()
  /// The same of its introductions.
  var introductionMark = TrustMark()
  /// Secrets whose shares were released in this session, with this device's index, by request number.
  /// Only their names are kept: headers are large, and a session may stay.
  var released: [UInt64: (id: SecretID, index: UInt8)] = [:]
  /// The secret that the last drill was about, with this device's index.
  var drilled: (id: SecretID, index: UInt8)?
  /// Secrets of whose holders cards were given.
  var cardsGiven: Set<SecretID> = []
  /// Bytes of its fragment that were shown.
  var drilledByteCount: UInt64 = 0
  /// Fragments whose pieces are being sent.
  var fragments: [SecretID: LocalPieces] = [:]
  static let openFragmentLimit = 4

  init(
    room: Answering, channel: any AnswererChannel, peer: PeerRecord, isNearby: Bool, parcelEnd: Int64? = nil,
    opening: [UInt8]
  ) {
    self.room = room
    dialogue = AnswererDialogue(opening: opening)
    self.channel = channel
    self.peer = peer
    self.isNearby = isNearby
    self.parcelEnd = parcelEnd
  }

  /// What proofs are bound to.
  var bindingKind: ProofContext.Kind { parcelEnd == nil ? .session : .parcel }

  /// Sends a public message.
  func reply<Message: PeerMessage>(_ message: Message) async throws {
    let channel = channel
    try await withDeadline(room.environment.deadlines.reply, sleeper: room.environment.sleep) {
      () async throws(SessionError) in
      try await channel.send(type: Message.type.rawValue, count: message.encodedByteCount) {
        (writer) throws(WireError) in try message.encode(into: &writer)
      }
    }
  }

  /// Why so many bytes of a fragment or an item can't go in this session, in either direction, if so: the user of this device has said how
  /// much of one may go over Bluetooth.
  func limitRefusal(_ byteCount: UInt64) -> RefusalReason? {
    isNearby && byteCount > room.core.nearbySettings().byteLimit ? .bluetoothLimit : nil
  }

  /// Why a fragment of this size would not be taken from this peer in this session, if so.
  func refusal(adding byteCount: UInt64) -> RefusalReason? {
    limitRefusal(byteCount) ?? quotaRefusal(adding: byteCount)
      ?? (room.core.diskReserve.allows(byteCount) ? nil : .diskFull)
  }

  /// Why a fragment of this size would not be taken from this peer, if so. `replaced` are bytes of the peer's that make room for it.
  func quotaRefusal(adding byteCount: UInt64, replacing replaced: Int64? = nil) -> RefusalReason? {
    guard let quota = room.core.quota else { return .internalFailure }
    guard let usage = try? room.messages.usage(of: peer.digest) else { return .internalFailure }
    if usage.count - (replaced == nil ? 0 : 1) >= quota.shares { return .quotaCount }
    let used = UInt64(max(0, usage.byteCount - (replaced ?? 0)))
    let (total, overflow) = byteCount.addingReportingOverflow(used)
    return overflow || total > quota.bytes ? .quotaBytes : nil
  }
}
