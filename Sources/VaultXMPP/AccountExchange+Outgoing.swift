import SecretVault
import Sodium
import VaultProtocol
import VaultStore
import XMPPLink

// What is to be sent, and the archive.
extension AccountExchange {
  private static let pauses = (look: Duration.milliseconds(200), longest: 5000.0, note: 3_600_000.0)
  private static let pageLimit = 200
  /// Bytes that are sent before the server is asked whether it has them.
  private static let handful = 512 << 10

  /// Hands over what is to be sent, whenever something is.
  func send() async {
    var mark: UInt64?
    var next = 0.0
    var (carried, nextNote) = (CarriedSearch(), -Double.infinity)
    while !Task.isCancelled {
      if now >= nextNote {
        nextNote = now + Self.pauses.note
        note { () throws(VaultError) in try vault.noteServer() }
      }
      // Before looking. What can't be asked just now is asked again, and looked at all the same after a while.
      let seen = try? vault.changeMark()
      if seen != mark || now >= next {
        mark = seen
        next = now + Self.pauses.longest
        await sendDue(&carried)
      }
      do { try await sleep(Self.pauses.look) } catch { return }
    }
  }

  private func sendDue(_ carried: inout CarriedSearch) async {
    defer { state.withLock { $0.isSending = false } }
    do {
      if answers, state.withLock({ $0.hasQuestions }) {
        state.withLock { $0.hasQuestions = false }
        _ = try await vault.answerParcels()
      }
      // What is this device's own goes first, also while much is carried.
      repeat {
        while try await sendParcels() {}
        try await sendPlain()
      } while try await sendCarried(&carried)
      state.withLock { $0.isLookedThrough = !$0.hasQuestions }
    } catch let error as VaultError {
      log.error("\(account.logName): what waits can't be read: \(error.reason)")
    } catch {
      // The connection has ended, or this task; or the server takes too long.
      if case .unreachable? = error as? XMPPError { connection.close() }
    }
  }

  /// A parcel that goes to the server for a peer.
  private struct Delivery {
    let id: [UInt8]
    let bytes: [UInt8]
    let recipient: Digest
    /// What is said of somebody else's.
    var carriage: XMPPCarriage?
  }

  /// Whether there may be more.
  private func sendParcels() async throws -> Bool {
    let posts = try vault.outgoingParcels(to: nil, way: .account)
    return try await send(posts.map { Delivery(id: $0.record.id, bytes: $0.post.bytes, recipient: $0.recipient) }) {
      sent in
      for id in sent { try vault.handedToAccount(id) }
      happened { $0.report.parcelsSent += sent.count }
    }
  }

  /// Leaves at the server what is carried for others, some at a time. Whether there may be more.
  private func sendCarried(_ search: inout CarriedSearch) async throws -> Bool {
    let deliveries = try vault.carriedForAccounts(&search).map { one in
      Delivery(
        id: one.post.id, bytes: one.post.bytes, recipient: one.recipient,
        carriage: XMPPCarriage(branch: one.branch, hops: one.hops))
    }
    return try await send(deliveries) { sent in
      try vault.carriedWereLeft(sent)
      happened()
      log.debug("\(account.logName): \(sent.count) parcels of others were left at the server")
    }
  }

  /// Sends parcels, and lets those be noted that the server has. Whether there may be more.
  private func send(_ deliveries: [Delivery], _ note: ([[UInt8]]) throws -> Void) async throws -> Bool {
    guard !deliveries.isEmpty else { return false }
    state.withLock { $0.isSending = true }
    var sent: [[UInt8]] = []
    var size = 0
    var (hasForgotten, isAny) = (false, false)
    for delivery in deliveries {
      guard let text = try vault.accountAddress(of: delivery.recipient) else { continue }
      guard let to = try? JID(text) else {
        // What a peer has said itself may be no address; it holds nobody else up.
        try vault.forgetAccountAddress(text)
        hasForgotten = true
        continue
      }
      let connection = connection
      try await within(Self.limit(delivery.bytes.count), sleep) { () throws(XMPPError) in
        try await connection.send(
          parcel: delivery.bytes, to: to.bare, id: Self.digits(delivery.id), carriage: delivery.carriage)
      }
      size += delivery.bytes.count
      sent.append(delivery.id)
      guard size >= Self.handful else { continue }
      // What the connection ends amid, isn't noted.
      try await reach(Self.limit(size))
      try note(sent)
      (isAny, size, sent) = (true, 0, [])
    }
    guard !sent.isEmpty else { return hasForgotten || isAny }
    try await reach(Self.limit(size))
    try note(sent)
    return true
  }

  private func sendPlain() async throws {
    for waiting in try vault.plainWaiting(account.id) { try await send(waiting) }
  }

  private func send(_ waiting: WaitingPlain) async throws {
    guard let to = try? JID(waiting.contact) else {
      return try vault.notePlain(waiting.id, account: account.id, contact: waiting.contact, .lost)
    }
    let isSound = try await write(
      waiting.text.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }, to, waiting.id)
    if isSound { try await reach() }
    try vault.notePlain(waiting.id, account: account.id, contact: waiting.contact, isSound ? .underway : .lost)
    if isSound { happened { $0.report.plainSent += 1 } }
  }

  /// Whether it could be sent at all.
  private func write(_ text: String, _ to: JID, _ id: [UInt8]) async throws(XMPPError) -> Bool {
    let (connection, name) = (connection, Self.digits(id))
    do throws(XMPPError) {
      try await within(Self.answerLimit, sleep) { () throws(XMPPError) in
        try await connection.send(text, to: to.bare, id: name)
      }
      return true
    } catch .invalidContent { return false }
  }

  /// How long so many bytes may take over a slow line.
  private static func limit(_ count: Int) -> Duration { answerLimit + .milliseconds(count / 16) }

  static func digits(_ id: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: id.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  // MARK: - Archive

  /// Reads what the server keeps of what was said while this device was away, from where it was left.
  func readArchive() async {
    defer { happened { $0.isArchiveRead = true } }
    let (connection, sleep) = (connection, sleep)
    do throws(XMPPError) {
      guard
        try await within(Self.answerLimit, sleep, { () throws(XMPPError) in try await connection.hasArchive() })
      else { return }
      var place = account.archivedTo.map { XMPPArchivePlace.after($0) } ?? .end
      for _ in 0..<Self.pageLimit {
        let from = place
        let page: XMPPArchivePage
        do throws(XMPPError) {
          page = try await within(Self.answerLimit, sleep) { () throws(XMPPError) in
            try await connection.archive(from: from, limit: from == .end ? XMPPArchivePage.limit : 50)
          }
        } catch .refused where from != .end {
          // The archive doesn't go back so far any more.
          place = .end
          continue
        }
        for message in page.messages where await !take(message, isArchived: true) {
          // Asked for again with the next connection.
          return
        }
        guard let last = page.last else { return }
        guard note({ () throws(VaultError) in try vault.noteArchive(of: account.id, to: last) }) else { return }
        if page.isComplete, from != .end { return }
        place = .after(last)
      }
    } catch {
      log.debug("\(account.logName): the archive can't be read: \(error)")
    }
  }
}
