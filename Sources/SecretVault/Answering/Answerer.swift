import Concurrency
import PeerAuth
import ShamirKit
import VaultProtocol
import VaultStore
import WireCodec

/// The answering side of one session, or of one parcel: carries out what ``Exchanges`` allow.
struct Answerer {
  let room: Answering
  let channel: any AnswererChannel
  let peer: PeerRecord
  /// When the parcel that these messages came in expires, in milliseconds since 1970; nil in a session, where somebody waits for answers.
  let parcelEnd: Int64?
  /// Whether the session came over Bluetooth.
  let isNearby: Bool
  var exchanges: Exchanges
  /// What the peer's program has said it knows.
  var greeting = Hello(services: [])
  var hasHeardGoodbye = false
  /// The state in which the peer's row was verified last.
  var trustMark = TrustMark()
  var deposit: DepositInProgress?
  var releases = AnsweredReleases()
  var drill: AnsweredDrill?
  var introductions = AnsweredIntroductions()
  var lifecycle = AnsweredLifecycle()
  var item: ItemBox?
  var meetings = AnsweredMeetings()

  init(
    room: Answering, channel: any AnswererChannel, peer: PeerRecord, isNearby: Bool, parcelEnd: Int64? = nil,
    opening: [UInt8]
  ) {
    self.room = room
    exchanges = Exchanges(opening: opening)
    self.channel = channel
    self.peer = peer
    self.isNearby = isNearby
    self.parcelEnd = parcelEnd
  }

  var bindingKind: ProofContext.Kind { parcelEnd == nil ? .session : .parcel }

  func reply<Message: PeerMessage>(_ message: Message) async throws {
    let channel = channel
    try await withDeadline(room.environment.deadlines.reply, sleeper: room.environment.sleep) {
      () async throws(SessionError) in
      try await channel.send(type: Message.type.rawValue, count: message.encodedByteCount) {
        (writer) throws(WireError) in try message.encode(into: &writer)
      }
    }
  }

  /// Why so many bytes of a fragment or an item can't go in this session, either way: this device's user limits what goes over Bluetooth.
  func limitRefusal(_ byteCount: UInt64) -> RefusalReason? {
    isNearby && byteCount > room.core.nearbySettings().byteLimit ? .bluetoothLimit : nil
  }

  /// Why a fragment of this size would not be taken in this session.
  func refusal(adding byteCount: UInt64) -> RefusalReason? {
    limitRefusal(byteCount) ?? quotaRefusal(adding: byteCount)
      ?? (room.core.diskReserve.allows(byteCount) ? nil : .diskFull)
  }

  /// Why a fragment of this size would not be taken from this peer. `replaced` are bytes of the peer's that make room for it.
  func quotaRefusal(adding byteCount: UInt64, replacing replaced: Int64? = nil) -> RefusalReason? {
    guard let quota = room.core.quota, let usage = try? room.messages.usage(of: peer.digest) else {
      return .internalFailure
    }
    if usage.count - (replaced == nil ? 0 : 1) >= quota.shares { return .quotaCount }
    let used = UInt64(max(0, usage.byteCount - (replaced ?? 0)))
    let (total, overflow) = byteCount.addingReportingOverflow(used)
    return overflow || total > quota.bytes ? .quotaBytes : nil
  }
}
