import Logging
import SecretVault
import Sodium
import VaultProtocol
import VaultStore
import XMPPRequests

// Plain messages that come, at once or out of the archive.
extension AccountExchange {
  /// Milliseconds between two looks of servers at one message, and between their clocks and this one.
  private static let difference: Int64 = 120_000
  /// How long after a message another one under its sender's name for it is taken for the same, where the archive gives
  /// no names.
  private static let day: Int64 = 86_400_000
  /// Messages out of the archive that are remembered.
  private static let archivedLimit = 4096
  /// Texts of somebody who asks to be a friend that are kept before that is answered.
  private static let askingLimit = 16
  /// Texts of strangers, and bytes of them, that are held for those who ask in the next moment.
  private static let heldLimit = (count: 32, bytes: 256 << 10)
  /// Marks of texts that were passed over: what the archive brings again is among the latest.
  private static let passedLimit = 1024

  /// What became of a plain message.
  private enum Taking {
    /// It is here, or was already.
    case kept
    /// Nobody wants it.
    case unwanted
    /// A stranger's.
    case strange
    /// It should be here, and isn't: there is no room, or something failed.
    case failed
  }

  /// Keeps a plain message of a contact, or of somebody who was written to. False if it should be kept, and isn't.
  func take(_ message: XMPPMessage, isArchived: Bool = false, isCopy: Bool = false) async -> Bool {
    let own = connection.address.bare
    let isMine = message.from.bare == own
    guard let contact = isMine ? message.to?.bare : message.from.bare, contact != own, !isMine || isArchived || isCopy
    else { return true }
    var taking = Taking.failed
    note { taking = try keep(message, of: contact, isMine: isMine, isArchived: isArchived) }
    if taking == .strange || taking == .unwanted {
      passOver(message, isHeld: taking == .strange, isArchived: isArchived)
    } else if taking == .kept, !isMine {
      countNoMore(message)
    }
    // Of what another program has got that one says so.
    guard taking == .kept, !isMine, !isArchived, !isCopy, message.wantsReceipt, let id = message.id,
      (try? isFriend(contact)) == true
    else { return taking != .failed }
    await acknowledge(id, to: message.from)
    return true
  }

  /// Counts what isn't kept, once: it may come at once and from the archive, and from there to several connections.
  private func passOver(_ message: XMPPMessage, isHeld: Bool, isArchived: Bool) {
    let held = HeldText(message: message, isArchived: isArchived)
    let marks = self.marks(of: held)
    happened { state in
      let new = marks.filter { !state.passed.contains($0) }
      if marks.isEmpty || new.count == marks.count { state.report.passedOver += 1 }
      if !new.isEmpty {
        state.passed += new
        state.passed.removeFirst(max(0, state.passed.count - Self.passedLimit))
        state.isPassedNews = true
      }
      guard isHeld, state.held.count < Self.heldLimit.count,
        !state.held.contains(where: { !Set($0.names).isDisjoint(with: held.names) }),
        state.held.reduce(held.byteCount, { $0 + $1.byteCount }) <= Self.heldLimit.bytes
      else { return }
      state.held.append(held)
    }
  }

  /// What was passed over before and is here now, because its sender is no stranger any more, doesn't count as passed
  /// over.
  private func countNoMore(_ message: XMPPMessage) {
    guard state.withLock({ !$0.passed.isEmpty }) else { return }
    let marks = self.marks(of: HeldText(message: message, isArchived: false))
    state.withLock { state in
      guard marks.contains(where: state.passed.contains) else { return }
      state.passed.removeAll(where: marks.contains)
      state.isPassedNews = true
      state.report.passedOver -= 1
    }
  }

  private func marks(of text: HeldText) -> [UInt64] {
    do {
      var marks: [UInt64] = []
      for name in text.names {
        var hash = try DomainHash("vault/passed-over/v1")
        hash.append(account.id)
        hash.append(name)
        marks.append(hash.digest().bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
      }
      return marks
    } catch { return [] }
  }

  /// Looks again at what somebody wrote who is no stranger any more.
  func takeHeld(of contact: JID) async {
    let held = state.withLock { state in
      let mine = state.held.filter { $0.message.from.bare == contact }
      state.held.removeAll { $0.message.from.bare == contact }
      // What has a name is found by that when it is kept.
      state.report.passedOver -= mine.count(where: \.names.isEmpty)
      return mine
    }
    for one in held { _ = await take(one.message, isArchived: one.isArchived) }
  }

  private enum Standing {
    case contact, asking, stranger, blocked
  }

  private func standing(of address: String) throws -> Standing {
    let known = try rooms.accounts.friendRecord(account.id, address)
    if known?.subscription == .blocked { return .blocked }
    if known?.isContact == true { return .contact }
    if try rooms.messages.hasWritten(to: address, account: account.id) { return .contact }
    return known == nil ? .stranger : .asking
  }

  private func keep(_ message: XMPPMessage, of contact: JID, isMine: Bool, isArchived: Bool) throws -> Taking {
    let address = contact.description
    let standing = isMine ? .contact : try standing(of: address)
    let refusal = try self.refusal(standing, address)
    guard let text = Self.text(message) else { return refusal ?? .failed }
    var tag: [UInt8]?
    if let name = message.archiveID { tag = try PlainMessage.id(archived: name, contact: address, text: text) }
    let sentAt = message.stamp.flatMap { AccountStamp.milliseconds($0) } ?? rooms.core.surroundings.now()
    // The account's own server vouches for what its archive says, and this clock for what comes now; else anybody may
    // have put a time in.
    let isDated = isArchived || message.stamp == nil
    func plain(_ id: [UInt8], _ kinds: Set<PlainMark.Kind>) -> PlainMessage {
      PlainMessage(
        id: id, contact: address, isMine: isMine, text: text, sentAt: sentAt,
        mark: PlainMark(kinds: kinds, archived: tag))
    }
    // Of what comes by two ways at once one finds the other.
    return try keeping.withLock { (_) throws -> Taking in
      if let stanza = message.id {
        let id = isMine ? Self.bytes(stanza) : nil
        let hash = try PlainMessage.id(stanza: stanza, contact: address, text: text)
        let named = plain(id ?? hash, [])
        guard let known = try known(named) else {
          if let refusal { return refusal }
          return try keep(named, isArchived, isDated: isDated, standing)
        }
        if id != nil { return .kept }
        if try isRepeat(named, of: known) { return .kept }
        // A program that counts its names anew each time has said the same again.
      }
      let nameless: PlainMessage
      if let tag {
        nameless = plain(tag, [.archive])
      } else {
        let stanza = message.stamp ?? XMPPConnection.freshID()
        nameless = plain(
          try PlainMessage.id(stanza: stanza, contact: address, text: text), [message.stamp == nil ? .none : .stamp])
      }
      if try hasCome(nameless, isArchived: isArchived) { return .kept }
      if let refusal { return refusal }
      return try keep(nameless, isArchived, isDated: isDated, standing)
    }
  }

  /// What becomes of a text that isn't here, if it isn't to be kept. What was kept while its sender could write stays,
  /// whoever he is now.
  private func refusal(_ standing: Standing, _ address: String) throws -> Taking? {
    switch standing {
    case .contact: return nil
    case .asking:
      // Whoever has asked may say why, and what it says is told to nobody before it is accepted.
      let count = try rooms.messages.plainDays(account: account.id, contact: address).values.reduce(0, +)
      return count < Self.askingLimit ? nil : .unwanted
    case .stranger:
      // Strangers' texts aren't kept: anybody can write to an address.
      log.debug("\(account.logName): somebody who is no contact writes; it is dropped unless it is here")
      return .strange
    case .blocked: return .unwanted
    }
  }

  private func keep(_ message: PlainMessage, _ isArchived: Bool, isDated: Bool, _ standing: Standing) throws -> Taking {
    // What others say waits behind it: it isn't asked for again.
    if !message.isMine, try isFull(message, isDated: isDated) { return .unwanted }
    // This stays in the archive, and is asked for again with the next connection.
    guard message.isMine || hasRoom(for: message) else { return .failed }
    // What was said before this device knew the account is nobody's news.
    let isNews = standing == .contact && (!isArchived || account.archivedTo != nil)
    let number = try rooms.messages.keepPlain(message, account: account.id, isNews: isNews)
    if isArchived { rememberArchived(message.id) }
    guard number != nil, !message.isMine else { return .kept }
    happened { state in
      state.report.plainTaken += 1
      state.report.bytesTaken += message.text.count
      state.plainDays[message.contact]?[message.sentAt / Self.day, default: 0] += Messages.plainWeight(
        message.text.count)
    }
    return .kept
  }

  /// Whether a text leaves as much of the disk free as is to stay free. Says once a day that one doesn't.
  private func hasRoom(for message: PlainMessage) -> Bool {
    guard !rooms.core.hasDiskRoom(for: message.text.count) else { return true }
    // No contact is called so.
    if isFirstToday("") {
      log.warning(
        "\(account.logName): so little of the disk is free that texts stay at the server; see the setting keep-free")
    }
    return false
  }

  /// Whether what is said about this contact at most once a day hasn't been said today.
  private func isFirstToday(_ contact: String) -> Bool {
    let today = rooms.core.surroundings.now() / Self.day
    return state.withLock { $0.fullDays.updateValue(today, forKey: contact) } != today
  }

  /// Whether enough of a contact's messages of the same day are here. What was said in a longer absence comes all at
  /// once, and is of many days.
  private func isFull(_ message: PlainMessage, isDated: Bool) throws -> Bool {
    let (contact, day) = (message.contact, message.sentAt / Self.day)
    let isFull: Bool
    if isDated {
      let known = state.withLock { $0.plainDays[contact] }
      let days = try known ?? rooms.messages.plainDays(account: account.id, contact: contact)
      state.withLock { $0.plainDays[contact] = days }
      isFull = days[day, default: 0] >= Messages.plainDayLimit
    } else {
      isFull = try rooms.messages.isPlainFull(account: account.id, contact: contact)
    }
    guard isFull else { return false }
    if isFirstToday(contact) {
      log.warning(
        "\(account.logName): a contact has sent more than \(Messages.plainDayLimit) messages in a day; what is beyond is passed over"
      )
    }
    return true
  }

  private func known(_ message: PlainMessage) throws -> KnownPlain? {
    try rooms.messages.knownPlain(message.id, account: account.id, contact: message.contact, isMine: message.isMine)
  }

  /// Whether a message is the one that is known under its sender's name for it. Where the archive has names for both
  /// these decide, but for one that its sender's program sends again after a moment.
  private func isRepeat(_ message: PlainMessage, of known: KnownPlain) throws -> Bool {
    let isNamed = message.mark.archived != nil && known.mark.archived != nil
    let limit = isNamed ? Self.difference : Self.day
    let isNear = Messages.isNear(known.sentAt, message.sentAt, within: limit)
    guard isNear || isNamed && message.mark.archived == known.mark.archived else { return false }
    try add(message.mark, to: known, message)
    return true
  }

  /// Whether a message that its sender hasn't named is here, perhaps under another kind of name: it came to another
  /// connection, or to this one before it was archived. What is known under the same kind of name already is another
  /// message, even if it says the same.
  private func hasCome(_ message: PlainMessage, isArchived: Bool) throws -> Bool {
    if try known(message) != nil { return true }
    let (tag, kinds) = (message.mark.archived, message.mark.kinds)
    let found = try rooms.messages.plainMessages(like: message, account: account.id, within: Self.difference)
    if let tag, found.contains(where: { $0.mark.archived == PlainMark(archived: tag).archived }) { return true }
    let archived = state.withLock { $0.archived }
    let known = found.first { known in
      guard !known.mark.kinds.isEmpty, known.mark.kinds.isDisjoint(with: kinds) else { return false }
      guard tag == nil || known.mark.archived == nil else { return false }
      // What comes now, and hasn't waited, no other connection has had.
      return kinds != [.none] || archived.contains(known.id)
    }
    guard let known else { return false }
    try add(message.mark, to: known, message)
    if isArchived { rememberArchived(known.id) }
    return true
  }

  private func add(_ mark: PlainMark, to known: KnownPlain, _ message: PlainMessage) throws {
    try rooms.messages.notePlain(
      known, account: account.id, contact: message.contact, isMine: message.isMine, mark: mark)
  }

  private func rememberArchived(_ id: [UInt8]) {
    state.withLock { state in
      if state.archived.count < Self.archivedLimit { state.archived.insert(id) }
    }
  }

  private func isFriend(_ contact: JID) throws -> Bool {
    guard let known = try rooms.accounts.friendRecord(account.id, contact.description) else { return false }
    return known.subscription != .none && known.subscription != .blocked
  }

  /// What is kept of a message: a subject stands above the rest, and below it what had to be left out.
  private static func text(_ message: XMPPMessage) -> HeldSecret? {
    var parts = message.body.isEmpty ? [] : [message.body]
    if let subject = message.subject { parts.insert("Subject: \(subject)", at: 0) }
    if message.missing > 0 { parts.append("[\(message.missing) more bytes were too many, and are left out]") }
    let text = parts.joined(separator: "\n\n")
    do { return HeldSecret(try SecretBytes(copying: Array(text.utf8).span.bytes)) } catch { return nil }
  }
}
