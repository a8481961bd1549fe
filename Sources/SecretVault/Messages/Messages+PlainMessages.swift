import Sodium
package import VaultProtocol
package import VaultStore

/// An unencrypted text to or from somebody without a vault.
package struct PlainMessage: Sendable {
  /// 16 bytes.
  package let id: [UInt8]
  /// The other side's address.
  package let contact: String
  package let isMine: Bool
  package let text: HeldSecret
  /// When it was sent, as far as is known, in milliseconds since 1970.
  package let sentAt: Int64
  package let mark: PlainMark

  package init(
    id: [UInt8], contact: String, isMine: Bool, text: HeldSecret, sentAt: Int64, mark: PlainMark = PlainMark()
  ) {
    self.id = id
    self.contact = contact
    self.isMine = isMine
    self.text = text
    self.sentAt = sentAt
    self.mark = mark
  }

  /// The same whenever it comes again. Others' programs don't always give each message an id of its own, so the text counts, too.
  package static func id(stanza: String, contact: String, text: HeldSecret) throws -> [UInt8] {
    try id("vault/plain-message/v1", stanza, contact, text)
  }

  /// The id of a message without an id of its sender's, which the server's archive calls `name`.
  package static func id(archived name: String, contact: String, text: HeldSecret) throws -> [UInt8] {
    try id("vault/plain-archived/v1", name, contact, text)
  }

  private static func id(
    _ label: StaticString, _ name: String, _ contact: String, _ text: HeldSecret
  ) throws -> [UInt8] {
    do { return try digest(label, name, contact, text.bytes) } catch {
      throw VaultError(.other, "a message can't be hashed: \(error)")
    }
  }

  private static func digest(
    _ label: StaticString, _ name: String, _ contact: String, _ text: borrowing SecretBytes
  ) throws(SodiumError) -> [UInt8] {
    var hash = try DomainHash(label)
    hash.append(name)
    hash.append(contact)
    hash.append(text.bytes)
    return Array(hash.digest().bytes.prefix(16))
  }
}

/// A plain message that waits to be sent.
package struct WaitingPlain: Sendable {
  /// 16 bytes.
  package let id: [UInt8]
  package let contact: String
  package let text: HeldSecret
}

extension Messages {
  /// Messages that are handed out at a time.
  private static let turn = 100
  /// Messages among which one that comes again is looked for.
  private static let recentLimit = 50
  /// Messages of a contact that are kept a day.
  package static let plainDayLimit = 1000
  private static let day: Int64 = 86_400_000

  /// Returns the number of a new message, nil for a known one. An own one waits to be sent unless `isSent`. Without `isNews` nothing is logged.
  @discardableResult
  package func keepPlain(
    _ message: PlainMessage, account: [UInt8], isSent: Bool = true, isNews: Bool = true
  ) throws -> Int64? {
    let now = environment.now()
    let record = MessageRecord(
      id: message.id, account: account, contact: message.contact, direction: message.isMine ? .sent : .received,
      kind: .text, isSealed: false, byteCount: Int64(message.text.count), partCount: 1,
      partsDone: message.isMine ? 0 : 1, sentAt: message.sentAt, storedAt: now, route: message.mark.route,
      state: message.isMine ? (isSent ? .underway : .waiting) : .new)
    let number = try database.addMessage(record, parts: [0: message.text], parcels: [])
    // Servers can deliver as often as they like.
    if number != nil, isNews, !message.isMine,
      core.allowance.next(try Self.line(account), at: environment.monotonic()).isWritten
    {
      self.record(.messageReceived, detail: "from an account without a vault")
    }
    return number
  }

  /// Stands for an account where lines of the audit log are counted.
  private static func line(_ account: [UInt8]) throws -> Digest {
    do {
      var hash = try DomainHash("vault/plain-line/v1")
      hash.append(account)
      return hash.digest()
    } catch { throw VaultError(.other, "an account can't be hashed: \(error)") }
  }

  /// Weights of the messages of a contact that are here, by the day since 1970 on which they were sent.
  package func plainDays(account: [UInt8], contact: String) throws -> [Int64: Int] {
    let records = try database.messages(MessageFilter(account: account, contact: contact, direction: .received))
    return records.reduce(into: [:]) { days, record in
      days[record.sentAt / Self.day, default: 0] += Self.plainWeight(Int(clamping: record.byteCount))
    }
  }

  /// A long message counts as several.
  package static func plainWeight(_ byteCount: Int) -> Int { max(1, byteCount >> 16) }

  /// Whether as much of a contact was stored within a day as is kept, whenever it was sent.
  package func isPlainFull(account: [UInt8], contact: String) throws -> Bool {
    try database.messages(
      MessageFilter(
        account: account, contact: contact, direction: .received, since: environment.now() - Self.day,
        limit: Self.plainDayLimit)
    ).reduce(0) { $0 + Self.plainWeight(Int(clamping: $1.byteCount)) } >= Self.plainDayLimit
  }

  /// Plain messages that wait to be sent, oldest first, some at a time. Damaged ones are marked as lost.
  package func plainWaiting(_ account: [UInt8]) throws -> [WaitingPlain] {
    var waiting: [WaitingPlain] = []
    let records = try database.messages(
      MessageFilter(account: account, direction: .sent, states: [.waiting], isOldestFirst: true, limit: Self.turn))
    for record in records {
      guard let contact = record.contact else { continue }
      guard let text = try soundText(record) else {
        // Others go all the same.
        try notePlain(record.id, account: account, contact: contact, .lost)
        continue
      }
      waiting.append(WaitingPlain(id: record.id, contact: contact, text: text))
    }
    return waiting
  }

  /// States only advance.
  package func notePlain(_ id: [UInt8], account: [UInt8], contact: String, _ state: MessageRecord.State) throws {
    let filter = MessageFilter(
      account: account, contact: contact, id: id, direction: .sent, states: [.waiting, .underway, .lost], limit: 1)
    while let before = try database.messages(filter).first {
      guard Self.rank(state) > Self.rank(before.state) else { return }
      var after = before
      after.state = state
      if state == .delivered {
        after.deliveredAt = environment.now()
        after.partsDone = 1
      }
      if try database.updateMessage(after, from: before) { return }
    }
  }

  private static func rank(_ state: MessageRecord.State) -> Int {
    switch state {
    case .waiting: 0
    case .underway: 1
    case .lost: 2
    case .delivered: 3
    default: 4
    }
  }

  /// Messages with the same text to or from the same contact, sent within `difference` of this one, oldest first. Damaged ones are left out.
  package func plainMessages(
    like message: PlainMessage, account: [UInt8], within difference: Int64
  ) throws -> [KnownPlain] {
    let filter = MessageFilter(
      account: account, contact: message.contact, direction: message.isMine ? .sent : .received,
      limit: Self.recentLimit)
    let count = Int64(message.text.count)
    var found: [KnownPlain] = []
    for record in try database.messages(filter)
    where record.byteCount == count && Self.isNear(record.sentAt, message.sentAt, within: difference) {
      if let text = try soundText(record), text.bytes.matches(message.text.bytes) { found.append(KnownPlain(record)) }
    }
    return found.reversed()
  }

  /// Whether two times are at most so many milliseconds apart. They come from others and may be any.
  package static func isNear(_ one: Int64, _ other: Int64, within difference: Int64) -> Bool {
    let (distance, isTooFar) = max(one, other).subtractingReportingOverflow(min(one, other))
    return !isTooFar && distance <= difference
  }

  package func knownPlain(_ id: [UInt8], account: [UInt8], contact: String, isMine: Bool) throws -> KnownPlain? {
    try plainRecord(id, account, contact, isMine).map(KnownPlain.init)
  }

  /// Adds to a message's mark.
  package func notePlain(
    _ known: KnownPlain, account: [UInt8], contact: String, isMine: Bool, mark: PlainMark
  ) throws {
    while let before = try plainRecord(known.id, account, contact, isMine) {
      var all = PlainMark(before)
      all.kinds.formUnion(mark.kinds)
      all.archived = all.archived ?? mark.archived
      var after = before
      after.route = all.route
      guard after != before else { return }
      if try database.updateMessage(after, from: before) { return }
    }
  }

  private func plainRecord(
    _ id: [UInt8], _ account: [UInt8], _ contact: String, _ isMine: Bool
  ) throws -> MessageRecord? {
    let filter = MessageFilter(
      account: account, contact: contact, id: id, direction: isMine ? .sent : .received, limit: 1)
    return try database.messages(filter).first
  }

  /// Nil if it is damaged.
  private func soundText(_ record: MessageRecord) throws -> HeldSecret? {
    do { return try database.messagePart(record.number, part: 0) } catch StoreError.damaged { return nil }
  }

  package func hasWritten(to contact: String, account: [UInt8]) throws -> Bool {
    try database.hasMessages(MessageFilter(account: account, contact: contact, direction: .sent))
  }
}
