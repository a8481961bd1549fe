import Courier
import VaultProtocol
import VaultStore

/// The dialler's side of a meeting: it offers what it has, gives what is wanted, and then takes.
struct MeetingAsker: Asker {
  /// Begins the meeting at this device, once there is a session.
  let begin: @Sendable (_ isNearby: Bool) throws -> CourierDesk
  /// Bytes of the largest parcel that waits for the peer itself: decides whether the meeting may be over Bluetooth.
  let byteCount: UInt64

  func ask(_ id: UInt64, _ conversation: Conversation) async throws(LinkFailure) -> MeetingReport {
    try await conversation.require(.courier)
    let isNearby = conversation.isNearby
    let desk = try await local { try begin(isNearby) }
    let note = MeetingNote(desk.room, with: desk.peer, isNearby: isNearby, isDialled: true)
    var meeting = DialledMeeting(
      id: id, desk: desk, conversation: conversation,
      patience: MeetingPatience(conversation.environment, isNearby: isNearby), note: note)
    do { try await meeting.run() } catch {
      await note.end(MeetingRecord.Ending(error))
      throw error
    }
    await note.end(.regular)
    return meeting.report
  }
}

/// Runs what waits for the disk; a failure is this device's own.
private func local<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws(LinkFailure) -> Value {
  do { return try await offPool { try work() } } catch {
    guard let error = VaultError(known: error) else { throw LinkFailure(.local, "could not be met") }
    throw LinkFailure(.local, "could not be met: \(error.reason)", hint: error.hint)
  }
}

private struct DialledMeeting {
  let id: UInt64
  let desk: CourierDesk
  let conversation: Conversation
  var patience: MeetingPatience
  let note: MeetingNote
  var report = MeetingReport() {
    didSet { note.keep(report) }
  }

  mutating func run() async throws(LinkFailure) {
    let desk = desk
    try await conversation.send(desk.greeting.message(id, []))
    let theirs = try await greeting()
    let (receipts, offers) = try await local {
      (try desk.receipts(for: theirs), try desk.offers(to: theirs))
    }
    note.told(receipts.count)
    try await conversation.send(CourierOffers(request: id, receipts: receipts.messages, offers: offers.messages))
    let answer = try await conversation.receive(CourierReplies.self, patience: 2)
    guard answer.request == id else { throw .notAsked }
    let replies = answer.replies.compactMap { CarriedReply($0) }
    let chosen = try await local { try desk.selection(offers, replies) }
    let isTheirs = Set(offers.filter(\.isYours).map(\.header.copy))
    let offered = answer.offers.compactMap { CarriedOffer($0) }
    patience.isForCarrying = try await local { !desk.concern(chosen + offered.map(\.header)) }
    for header in chosen where patience.mayGiveMore(isFirst: true) {
      try await give(header, isTheirs: isTheirs.contains(header.copy))
    }
    try await listen(to: offered)
  }

  private mutating func greeting() async throws(LinkFailure) -> CarrierGreeting {
    let received = try await conversation.receiveAny(patience: 2)
    // Both have dialled in the same moment, or another program of this vault has.
    guard received.type != MessageType.courierEnd.rawValue else { throw .refused(.busy) }
    let greeting = try conversation.parse(received, as: CourierGreeting.self)
    guard greeting.request == id else { throw .notAsked }
    try await learn(greeting.receipts)
    return CarrierGreeting(greeting)
  }

  private mutating func learn(_ receipts: [ParcelReceipt], handedOver: ParcelKey? = nil) async throws(LinkFailure) {
    let desk = desk
    let words = receipts.compactMap { CarriedReceipt($0) }
    report.receipts += try await local { try desk.learn(words, handedOver: handedOver) }
  }

  private mutating func give(_ header: ParcelHeader, isTheirs: Bool) async throws(LinkFailure) {
    let desk = desk
    // Without memory for it, it goes the next time.
    guard let copy = header.copy.message, let room = desk.room.carrying.memory.room(for: header.size),
      let content = try await local({ try desk.content(of: header, isTheirs: isTheirs) })
    else { return }
    defer { withExtendedLifetime(room) {} }
    for offset in stride(from: 0, to: content.count, by: CourierPiece.byteLimit) {
      try patience.check()
      let piece = CourierPiece(
        request: id, copy: copy, hopsLeft: header.hopsLeft, branch: header.branch, of: content, offset: offset)
      try await conversation.send(piece)
      patience.moved(piece.bytes.count)
      note.gave(piece.bytes.count)
    }
    let taken = try await conversation.receive(CourierTaken.self, patience: 2)
    guard taken.request == id, taken.copy == copy else { throw .notAsked }
    guard taken.outcome != .refused else {
      return try await local { try desk.wasRefused(header, isTheirs: isTheirs) }
    }
    let isOwn = try await local { try desk.gave(header, isTheirs: isTheirs) }
    let before = report.receipts
    if let receipt = taken.receipt { try await learn([receipt], handedOver: isTheirs ? header.id : nil) }
    report.note(given: taken.outcome, isTheirs: isTheirs, isOwn: isOwn, isConfirmed: report.receipts > before)
  }

  /// The peer's turn to give.
  private mutating func listen(to offers: [CarriedOffer]) async throws(LinkFailure) {
    let desk = desk
    let replies = try await local { try desk.replies(to: offers) }
    var intake = MeetingIntake(offers, replies, desk.room.carrying.memory)
    try await conversation.send(CourierTurn(request: id, replies: replies.messages))
    while true {
      try patience.check()
      let received = try await conversation.receiveAny(patience: 2)
      if received.type == MessageType.courierEnd.rawValue {
        guard try conversation.parse(received, as: CourierEnd.self).request == id else { throw .notAsked }
        return
      }
      let piece = try conversation.parse(received, as: CourierPiece.self)
      guard piece.request == id else { throw .notAsked }
      if piece.offset == 0 { try patience.checkNext() }
      patience.moved(piece.bytes.count)
      note.took(piece)
      let whole: MeetingIntake.Whole?
      do { whole = try intake.take(piece) } catch { throw LinkFailure(error) }
      guard let whole else { continue }
      let outcome = try await local { try desk.take(whole) }
      note.tookWhole()
      report.note(outcome)
      note.told(outcome.receipts)
      try await conversation.send(outcome.message(id, piece.copy))
    }
  }
}

extension MeetingReport {
  /// For a parcel that was given. An own one is delivered once its recipient has proved it.
  mutating func note(given outcome: CourierTaken.Outcome, isTheirs: Bool, isOwn: Bool, isConfirmed: Bool) {
    switch (isTheirs, isOwn) {
    case (true, true): delivered += isConfirmed ? 1 : 0
    case (true, false): handedOver += outcome == .taken ? 1 : 0
    case (false, _):
      given += outcome == .taken ? 1 : 0
      passedOn += outcome == .taken && !isOwn ? 1 : 0
    }
  }

  /// For a parcel that has come.
  mutating func note(_ outcome: CourierDesk.Outcome) {
    switch outcome {
    case .mine: received += 1
    case .carried: taken += 1
    case .known, .refused: break
    }
  }
}

extension CourierDesk.Outcome {
  func message(_ request: UInt64, _ copy: ParcelCopy) -> CourierTaken {
    switch self {
    case .mine(let receipt): CourierTaken(request: request, copy: copy, outcome: .taken, receipt: receipt?.message)
    case .carried: CourierTaken(request: request, copy: copy, outcome: .taken)
    case .known(let receipt): CourierTaken(request: request, copy: copy, outcome: .known, receipt: receipt?.message)
    case .refused: CourierTaken(request: request, copy: copy, outcome: .refused)
    }
  }
}
