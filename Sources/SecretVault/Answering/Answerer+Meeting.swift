import Courier
import VaultProtocol
import VaultStore

extension Answerer {
  /// Takes the dialler's next message, in the order that ``MeetingAnswerer`` has checked.
  mutating func carryOut(_ message: CourierMessage) async throws {
    do {
      switch message {
      case .greeting(let greeting): try await begin(greeting)
      case .offers(let offers): try await consider(offers)
      case .piece(let piece): try await take(piece)
      case .turn(let turn): try await begin(turn)
      case .taken(let taken): try await note(taken)
      }
    } catch {
      await meetings.note?.end(MeetingRecord.Ending(error))
      throw error
    }
  }

  private func running(_ type: MessageType) throws -> AnsweredMeeting {
    guard let meeting = meetings.running else { throw ProtocolError.unexpectedMessage(type.rawValue) }
    return meeting
  }

  private mutating func begin(_ greeting: CourierGreeting) async throws {
    meetings.running = nil
    let note = MeetingNote(room.meetings, with: peer, isNearby: isNearby, isDialled: false)
    guard let place = room.carrying.memory.begin(with: peer.digest, isDialling: false),
      room.carrying.memory.admits(peer.digest, at: room.environment.monotonic())
    else {
      exchanges.meeting.metToTheEnd()
      try await reply(CourierEnd(request: greeting.request))
      await note.end(.busy)
      return
    }
    await meetings.note?.end(.brokenOff)
    meetings.note = note
    let (room, peer, isNearby) = (room, peer, isNearby)
    let theirs = CarrierGreeting(greeting)
    let words = greeting.receipts.compactMap { CarriedReceipt($0) }
    let (desk, learned, receipts) = try await offPool {
      let desk = try CourierDesk(room.meetings, meeting: peer, isNearby: isNearby)
      let learned = try desk.learn(words)
      return (desk, learned, try desk.receipts(for: theirs))
    }
    var meeting = AnsweredMeeting(
      request: greeting.request, desk: desk, place: place, theirs: theirs,
      patience: MeetingPatience(room.environment, isNearby: isNearby), note: note,
      intake: MeetingIntake([], [], room.carrying.memory))
    meeting.report.receipts += learned
    meetings.running = meeting
    note.told(receipts.count)
    try await reply(desk.greeting.message(greeting.request, receipts))
  }

  private mutating func consider(_ offers: CourierOffers) async throws {
    var meeting = try running(.courierOffers)
    try meeting.patience.check()
    let (desk, greeting) = (meeting.desk, meeting.theirs)
    let words = offers.receipts.compactMap { CarriedReceipt($0) }
    let theirs = offers.offers.compactMap { CarriedOffer($0) }
    let (learned, replies, own, isForCarrying) = try await offPool {
      let learned = try desk.learn(words)
      let (replies, own) = (try desk.replies(to: theirs), try desk.offers(to: greeting))
      return (learned, replies, own, !desk.concern((own + theirs).map(\.header)))
    }
    meeting.patience.isForCarrying = isForCarrying
    meeting.report.receipts += learned
    meeting.offers = own
    meeting.intake = MeetingIntake(theirs, replies, room.carrying.memory)
    meetings.running = meeting
    let answers = replies.messages
    exchanges.meeting.wants(answers.compactMap { if case .wanted = $0.answer { $0.copy } else { nil } })
    try await reply(CourierReplies(request: meeting.request, replies: answers, offers: own.messages))
  }

  private mutating func take(_ piece: CourierPiece) async throws {
    var meeting = try running(.courierPiece)
    // Nobody else refers to what has come so far: it isn't copied for each piece.
    meetings.running = nil
    meeting.patience.moved(piece.bytes.count)
    meeting.note.took(piece)
    if piece.offset == 0 { try meeting.patience.checkNext() } else { try meeting.patience.check() }
    guard let whole = try meeting.intake.take(piece) else {
      meetings.running = meeting
      return
    }
    let desk = meeting.desk
    let outcome = try await offPool { try desk.take(whole) }
    meeting.note.tookWhole()
    meeting.report.note(outcome)
    noteUse(of: meeting)
    meeting.note.told(outcome.receipts)
    meetings.running = meeting
    try await reply(outcome.message(meeting.request, piece.copy))
  }

  // MARK: - This device's turn

  private mutating func begin(_ turn: CourierTurn) async throws {
    var meeting = try running(.courierTurn)
    let (desk, offers) = (meeting.desk, meeting.offers)
    let replies = turn.replies.compactMap { CarriedReply($0) }
    meeting.giving = try await offPool { try desk.selection(offers, replies) }[...]
    try await giveNext(meeting)
  }

  private mutating func note(_ taken: CourierTaken) async throws {
    var meeting = try running(.courierTaken)
    guard let header = meeting.given else { throw ProtocolError.unexpectedMessage(CourierTaken.type.rawValue) }
    let desk = meeting.desk
    let isTheirs = meeting.isTheirs(header)
    if taken.outcome == .refused {
      try await offPool { try desk.wasRefused(header, isTheirs: isTheirs) }
    } else {
      let words = taken.receipt.flatMap { CarriedReceipt($0) }.map { [$0] } ?? []
      let (isOwn, learned) = try await offPool {
        (try desk.gave(header, isTheirs: isTheirs), try desk.learn(words, handedOver: isTheirs ? header.id : nil))
      }
      meeting.report.note(given: taken.outcome, isTheirs: isTheirs, isOwn: isOwn, isConfirmed: learned > 0)
      meeting.report.receipts += learned
      noteUse(of: meeting)
    }
    try await giveNext(meeting)
  }

  /// A meeting that has brought something counts at once, however it ends.
  private func noteUse(of meeting: AnsweredMeeting) {
    if meeting.report.hasMovedParcels { room.carrying.memory.noteUseful(peer.digest) }
  }

  /// Gives the next parcel, and waits for what becomes of it; or says that this was all.
  private mutating func giveNext(_ now: AnsweredMeeting) async throws {
    var meeting = now
    while meeting.patience.mayGiveMore(isFirst: false), let header = meeting.giving.popFirst() {
      let desk = meeting.desk
      let isTheirs = meeting.isTheirs(header)
      // What there is no memory for now goes the next time.
      guard let copy = header.copy.message, let room = room.carrying.memory.room(for: header.size),
        let content = try await offPool({ try desk.content(of: header, isTheirs: isTheirs) })
      else { continue }
      defer { withExtendedLifetime(room) {} }
      for offset in stride(from: 0, to: content.count, by: CourierPiece.byteLimit) {
        try meeting.patience.check()
        let piece = CourierPiece(
          request: meeting.request, copy: copy, hopsLeft: header.hopsLeft, branch: header.branch, of: content,
          offset: offset)
        try await reply(piece)
        meeting.patience.moved(piece.bytes.count)
        meeting.note.gave(piece.bytes.count)
      }
      exchanges.meeting.gave(copy)
      meeting.given = header
      meetings.running = meeting
      return
    }
    meetings.running = nil
    exchanges.meeting.metToTheEnd()
    room.meetings.finishedMeeting(with: peer, meeting.report)
    // Who hears the end may begin anew at once.
    meeting.place.end()
    try await reply(CourierEnd(request: meeting.request))
    await meeting.note.end(.regular)
  }
}
