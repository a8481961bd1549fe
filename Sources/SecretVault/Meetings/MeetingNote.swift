import Sodium
import Synchronization
import VaultProtocol
import VaultStore

/// Writes what a meeting came to into the log of meetings when it is over, and counts what was still coming as in vain.
final class MeetingNote: Sendable {
  private struct State {
    var report = MeetingReport()
    var bytesGiven: UInt64 = 0
    var bytesTaken: UInt64 = 0
    var receiptsTold = 0
    /// Bytes of a parcel that isn't whole, or of which it isn't known what became.
    var arriving = 0
    var isArrivingCarried = false
    var isOver = false
  }

  private let room: Meetings
  private let peer: PeerRecord
  private let isNearby: Bool
  private let isDialled: Bool
  private let beganAt: Int64
  private let began: Double
  private let state = Mutex(State())

  init(_ room: Meetings, with peer: PeerRecord, isNearby: Bool, isDialled: Bool) {
    (self.room, self.peer, self.isNearby, self.isDialled) = (room, peer, isNearby, isDialled)
    (beganAt, began) = (room.environment.now(), room.environment.monotonic())
  }

  func keep(_ report: MeetingReport) { state.withLock { $0.report = report } }

  func gave(_ count: Int) { state.withLock { $0.bytesGiven &+= UInt64(max(0, count)) } }

  func took(_ piece: CourierPiece) {
    state.withLock { state in
      state.bytesTaken &+= UInt64(piece.bytes.count)
      // By its first piece: later ones may say anything.
      if state.arriving == 0 { state.isArrivingCarried = piece.branch != ParcelProof.noBranch }
      state.arriving += piece.bytes.count
    }
  }

  /// The parcel that was coming is here, or was counted as in vain.
  func tookWhole() { state.withLock { $0.arriving = 0 } }

  /// So many receipts were sent.
  func told(_ count: Int) { state.withLock { $0.receiptsTold += count } }

  /// Only the first call counts. One busy answer a minute is noted: a peer that has to wait may try as often as it likes.
  func end(_ ending: MeetingRecord.Ending) async {
    guard let record = record(ending) else { return }
    await countBroken(isOwnFault: ending == .failed)
    let name = "\(isDialled ? "busy with" : "busy for") \(peer.name)"
    if ending == .busy, !room.core.strangers.isNew(name, at: room.environment.monotonic()) { return }
    let room = room
    do {
      try await offPool { try room.database.addMeeting(record, at: room.environment.now()) }
    } catch {
      room.core.logFault("the meeting with \(peer.name) can't be noted: \(error)")
    }
  }

  /// After an own failure the bytes count, but against nobody.
  private func countBroken(isOwnFault: Bool) async {
    let (count, isCarried) = state.withLock { ($0.arriving, $0.isArrivingCarried) }
    guard count > 0 else { return }
    let room = room
    if !isOwnFault { room.noteVain(count, of: peer, isCarried: isCarried) }
    do {
      try await offPool {
        let now = room.environment.now()
        try room.carrying.changeCourier { courier, _ in courier.movedInVain(count, at: now) }
      }
    } catch {
      room.core.logFault("what came in vain from \(peer.name) can't be counted: \(VaultError(error))")
    }
  }

  private func record(_ ending: MeetingRecord.Ending) -> MeetingRecord? {
    let last = state.withLock { state -> State? in
      guard !state.isOver else { return nil }
      state.isOver = true
      return state
    }
    guard let last else { return nil }
    let report = last.report
    var given = MeetingRecord.Given()
    given.delivered = UInt32(clamping: report.delivered)
    given.toCarry = UInt32(clamping: report.given - report.passedOn)
    given.handedOver = UInt32(clamping: report.handedOver)
    given.passedOn = UInt32(clamping: report.passedOn)
    given.byteCount = last.bytesGiven
    given.receipts = UInt32(clamping: last.receiptsTold)
    var taken = MeetingRecord.Taken()
    taken.received = UInt32(clamping: report.received)
    taken.toCarry = UInt32(clamping: report.taken)
    taken.byteCount = last.bytesTaken
    taken.receipts = UInt32(clamping: report.receipts)
    let duration = UInt64(min(max(0, room.environment.monotonic() - began), 1e12))
    return MeetingRecord(
      peer: peer.digest, beganAt: beganAt, duration: duration, isNearby: isNearby, isDialled: isDialled,
      ending: ending, given: given, taken: taken)
  }
}

extension MeetingRecord.Ending {
  /// How a meeting ended with this error.
  init(_ error: any Error) {
    switch error {
    case let error as LinkFailure:
      switch error.kind {
      case .refused: self = error.refusal == .busy ? .busy : .refused
      case .misbehaved, .unknownHere: self = .refused
      case .local: self = .failed
      case .unreachable, .cutOff, .slow: self = .brokenOff
      }
    case is ProtocolError: self = .refused
    case is VaultError, is StoreError, is SodiumError: self = .failed
    default: self = .brokenOff
    }
  }
}

extension CourierDesk.Outcome {
  /// Receipts that the giver is sent.
  var receipts: Int {
    switch self {
    case .mine(let receipt), .known(let receipt): receipt == nil ? 0 : 1
    case .carried, .refused: 0
    }
  }
}
