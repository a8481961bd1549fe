import SecretVault
import Sodium
import VaultProtocol
import VaultStore
import XMPPRequests

// What is to be sent.
extension AccountExchange {
  private static let pauses = (note: 3_600_000.0, count: 5000.0)
  /// Milliseconds in which nothing has happened before a command leaves anything of others', and bytes of that.
  private static let others = (silence: 200.0, bytes: 65 << 10)

  /// Hands over what is to be sent, whenever something is.
  func send() async {
    var (carried, nextNote, nextCount) = (CarriedSearch(), -Double.infinity, now + Self.pauses.count)
    while !Task.isCancelled {
      if now >= nextNote {
        nextNote = now + Self.pauses.note
        note { try rooms.meetings.noteServer() }
      }
      if now >= nextCount {
        nextCount = now + Self.pauses.count
        count()
      }
      let seen = rooms.core.pulse.count
      await attempt {
        try await sendDue()
        // What is this device's own goes first, also while much is carried.
        if !answers { while try await sendCarried(&carried, Meetings.carriedByteLimit) > 0 { try await sendDue() } }
      }
      // Whoever waits for a command waits for what is its own.
      if answers, state.withLock({ !$0.areOthersLeft }), isIdle(for: Self.others.silence) {
        await attempt { try await leaveSome(&carried) }
      }
      // A command's silences are shorter than that.
      let pause: Duration? = answers ? .milliseconds(200) : nil
      do { try await rooms.core.wait(since: seen, atMost: pause, isHurried: answers) } catch { return }
    }
  }

  private func attempt(_ body: () async throws -> Void) async {
    defer { state.withLock { ($0.isSending, $0.underway) = (false, 0) } }
    do { try await body() } catch {
      // The connection has ended, or this task; or the server takes too long.
      if case .unreachable? = error as? XMPPError { return connection.close() }
      guard !(error is CancellationError), let error = VaultError(known: error) else { return }
      log.error("\(account.logName): what waits can't be read: \(error.reason)")
    }
  }

  private func sendDue() async throws {
    if answers, state.withLock({ $0.hasQuestions }) {
      state.withLock { $0.hasQuestions = false }
      _ = try await rooms.answering.answerParcels()
    }
    repeat { try await sendSmall() } while try await sendLarge()
    state.withLock { $0.isLookedThrough = !$0.hasQuestions }
  }

  private struct Delivery {
    /// The parcel's id; of somebody else's the copy's, as its carrier may have several under one id.
    let id: [UInt8]
    let bytes: [UInt8]
    let to: JID
    /// Of somebody else's.
    var carriage: XMPPCarriage?
  }

  // MARK: - This device's own

  /// What never waits for long.
  private func sendSmall() async throws {
    repeat { try await sendPlain() } while try await sendSmallParcels()
  }

  /// Whether there may be more.
  private func sendSmallParcels() async throws -> Bool {
    var (sent, size, hasForgotten): ([ParcelID], Int, Bool) = ([], 0, false)
    for one in try rooms.post.smallAccountPosts() {
      guard let to = try place(of: one.recipient, &hasForgotten) else { continue }
      size += one.post.bytes.count
      begin(size)
      try await write(Delivery(id: one.post.id.bytes, bytes: one.post.bytes, to: to), part: 0)
      sent.append(one.post.id)
    }
    guard !sent.isEmpty else { return hasForgotten }
    try await reach()
    // What the connection ends before, isn't noted.
    for id in sent { try rooms.post.handedToAccount(id) }
    happened { state in
      state.report.parcelsSent += sent.count
      state.report.bytesSent += size
    }
    return true
  }

  /// One large parcel. Whether there may be more.
  private func sendLarge() async throws -> Bool {
    guard let one = try rooms.post.largeAccountPost(memory.attempts) else { return false }
    var hasForgotten = false
    guard let to = try place(of: one.recipient, &hasForgotten) else { return hasForgotten }
    memory.begin(one.post.id)
    log.debug("\(account.logName): a large parcel begins: \(one.post.bytes.count) bytes")
    try await sendParts(Delivery(id: one.post.id.bytes, bytes: one.post.bytes, to: to))
    memory.end(one.post.id)
    log.debug("\(account.logName): the server has it")
    try rooms.post.handedToAccount(one.post.id)
    happened { state in
      state.report.parcelsSent += 1
      state.report.bytesSent += one.post.bytes.count
    }
    return true
  }

  /// What a peer has said itself may be no address; it holds nobody else up, and is forgotten.
  private func place(of recipient: Digest, _ hasForgotten: inout Bool) throws -> JID? {
    guard let text = try rooms.accounts.accountAddress(of: recipient) else { return nil }
    if let to = try? JID(text) { return to.bare }
    try rooms.accounts.forgetAccountAddress(text)
    hasForgotten = true
    return nil
  }

  /// Sends a parcel part by part, and waits for the server to have each, so that what else is to be said waits for one
  /// part at most. What is small goes between them.
  private func sendParts(_ delivery: Delivery) async throws {
    let count = XMPPParcelPart.parts(delivery.bytes.count)
    var mark: UInt64?
    for number in 0..<count {
      begin(min(delivery.bytes.count, XMPPParcelPart.sizeLimit))
      try await write(delivery, part: number)
      try await reach()
      let seen = rooms.core.pulse.count
      guard number + 1 < count, seen != mark else { continue }
      mark = seen
      try await sendSmall()
    }
  }

  private func begin(_ size: Int) { state.withLock { ($0.isSending, $0.underway) = (true, size) } }

  private func write(_ one: Delivery, part: Int) async throws(XMPPError) {
    let connection = connection
    try await patiently { () throws(XMPPError) in
      try await connection.send(part: part, of: one.bytes, to: one.to, id: hexadecimal(one.id), carriage: one.carriage)
    }
  }

  // MARK: - What is carried for others

  /// A command leaves a little of it, when all else is done.
  private func leaveSome(_ search: inout CarriedSearch) async throws {
    defer { state.withLock { $0.areOthersLeft = true } }
    var left = Self.others.bytes
    while left > 0, state.withLock({ $0.isLookedThrough }) {
      let size = try await sendCarried(&search, left)
      guard size > 0 else { return }
      left -= size
    }
  }

  /// Leaves at the server one parcel that is carried for others. Its bytes, as long as there may be more.
  private func sendCarried(_ search: inout CarriedSearch, _ limit: Int) async throws -> Int {
    let found = try rooms.meetings.carriedForAccounts(&search, count: 1, bytes: limit, except: memory.resting(at: now))
      .first
    guard let found else { return 0 }
    var hasForgotten = false
    guard let to = try place(of: found.recipient, &hasForgotten) else { return hasForgotten ? 1 : 0 }
    let id = found.copy
    memory.leave(id, to: to.description)
    try rooms.meetings.carriedWereLeft([id])
    do {
      try await sendParts(
        Delivery(
          id: id, bytes: found.post.bytes, to: to, carriage: XMPPCarriage(branch: found.branch, hops: found.hops)))
    } catch {
      cameBack(id, from: to)
      throw error
    }
    happened { state in
      state.report.parcelsSent += 1
      state.report.bytesSent += found.post.bytes.count
    }
    log.debug("\(account.logName): a parcel of somebody else's was left at the server")
    return max(1, found.post.bytes.count)
  }

  /// What doesn't get there is left again, but not at once and not for ever; by the daemon, as each command would begin
  /// it anew.
  func cameBack(_ id: [UInt8], from address: JID) {
    guard !answers, memory.cameBack(id, from: address.bare.description, at: now) else { return }
    note { try rooms.meetings.carriedCameBack([id]) }
  }

  // MARK: - Plain messages

  private func sendPlain() async throws {
    for waiting in try rooms.messages.plainWaiting(account.id) { try await send(waiting) }
  }

  private func send(_ waiting: WaitingPlain) async throws {
    guard let to = try? JID(waiting.contact) else {
      return try rooms.messages.notePlain(waiting.id, account: account.id, contact: waiting.contact, .lost)
    }
    begin(waiting.text.count)
    let isSound = try await write(
      waiting.text.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }, to, waiting.id)
    if isSound { try await reach() }
    try rooms.messages.notePlain(waiting.id, account: account.id, contact: waiting.contact, isSound ? .underway : .lost)
    guard isSound else { return }
    happened { state in
      state.report.plainSent += 1
      state.report.bytesSent += waiting.text.count
    }
  }

  /// Whether it could be sent at all.
  private func write(_ text: String, _ to: JID, _ id: [UInt8]) async throws(XMPPError) -> Bool {
    let (connection, name) = (connection, hexadecimal(id))
    do {
      try await patiently { () throws(XMPPError) in try await connection.send(text, to: to.bare, id: name) }
      return true
    } catch .invalidContent { return false }
  }
}
