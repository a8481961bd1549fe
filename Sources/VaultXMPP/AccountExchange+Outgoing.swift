import SecretVault
import VaultProtocol
import VaultStore
import XMPPLink

// What is to be sent, and the archive.
extension AccountExchange {
  private static let pauses = (look: Duration.milliseconds(200), longest: 5000.0)
  private static let pageLimit = 200
  /// Bytes that are sent before the server is asked whether it has them.
  private static let handful = 512 << 10

  /// Hands over what is to be sent, whenever something is.
  func send() async {
    var mark: UInt64?
    var next = 0.0
    while !Task.isCancelled {
      let seen = vault.changeMark()
      if seen != mark || now >= next {
        mark = seen
        next = now + Self.pauses.longest
        await sendDue()
      }
      do { try await sleep(Self.pauses.look) } catch { return }
    }
  }

  private func sendDue() async {
    defer { state.withLock { $0.isSending = false } }
    do {
      if answers, state.withLock({ $0.hasQuestions }) {
        state.withLock { $0.hasQuestions = false }
        _ = try await vault.answerParcels()
      }
      while try await sendParcels() {}
      try await sendPlain()
      state.withLock { $0.isLookedThrough = !$0.hasQuestions }
    } catch let error as VaultError {
      log.error("account \(account.address): what waits can't be read: \(error.reason)")
    } catch {
      // The connection has ended, or this task; or the server takes too long.
      if case .unreachable? = error as? XMPPError { connection.close() }
    }
  }

  /// Whether there may be more.
  private func sendParcels() async throws -> Bool {
    let posts = try vault.outgoingParcels(to: nil, way: .account)
    guard !posts.isEmpty else { return false }
    state.withLock { $0.isSending = true }
    var sent: [[UInt8]] = []
    var size = 0
    var (hasForgotten, isAny) = (false, false)
    for post in posts {
      guard let text = try vault.accountAddress(of: post.recipient) else { continue }
      guard let to = try? JID(text) else {
        // What a peer has said itself may be no address; it holds nobody else up.
        try vault.forgetAccountAddress(text)
        hasForgotten = true
        continue
      }
      let (connection, bytes, id) = (connection, post.post.bytes, Self.digits(post.post.id))
      try await within(Self.limit(bytes.count), sleep) { () throws(XMPPError) in
        try await connection.send(parcel: bytes, to: to.bare, id: id)
      }
      size += bytes.count
      sent.append(post.record.id)
      guard size >= Self.handful else { continue }
      try await hand(sent, size)
      (isAny, size, sent) = (true, 0, [])
    }
    if !sent.isEmpty { try await hand(sent, size) }
    return hasForgotten || isAny || !sent.isEmpty
  }

  /// Notes what the server has once it answers: what the connection ends amid, isn't noted.
  private func hand(_ sent: [[UInt8]], _ size: Int) async throws {
    try await reach(Self.limit(size))
    for id in sent { try vault.handedToAccount(id) }
    happened { $0.report.parcelsSent += sent.count }
  }

  private func sendPlain() async throws {
    for waiting in try vault.plainWaiting(account.id) { try await send(waiting) }
  }

  private func send(_ waiting: WaitingPlain) async throws {
    guard let to = try? JID(waiting.contact) else { return }
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
      log.debug("account \(account.address): the archive can't be read: \(error)")
    }
  }
}
