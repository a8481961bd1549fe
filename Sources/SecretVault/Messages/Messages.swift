import Sodium
package import VaultProtocol
import VaultStore

/// Messages and files between peers, kept until their recipients have them.
package final class Messages: Room {
  package let core: VaultCore
  let directory: Directory
  let carrying: Carrying
  let post: Post

  init(_ core: VaultCore, _ directory: Directory, _ carrying: Carrying, _ post: Post) {
    self.core = core
    self.directory = directory
    self.carrying = carrying
    self.post = post
  }

  /// Stores a message for a peer and its parcels in one step. Nothing is sent yet.
  ///
  /// With `pigeonsOnly` it goes to no server. `lifetime` is in milliseconds.
  package func send(
    _ message: NewMessage, to reference: String, pigeonsOnly: Bool = false, lifetime: Int64? = nil
  ) throws -> MessageSummary {
    let peer = try directory.find(reference)
    let lifetime = lifetime ?? Post.parcelLifetime
    guard ParcelTimes.lifetimes.contains(lifetime) else {
      throw VaultError(.usage, "a message is tried to be sent for an hour to 30 days")
    }
    let waiting = try database.messages(
      MessageFilter(
        peer: peer.digest, direction: .sent, states: [.waiting, .underway], limit: ParcelTimes.waitingForPeer))
    guard waiting.count < ParcelTimes.waitingForPeer else {
      throw VaultError(
        .refused, "\(waiting.count) messages wait for \(peer.name) already",
        hint: "look at them with `vault message outbox`")
    }
    let draft = MessageDraft(
      room: self, peer: peer, keys: try directory.storedCard(peer).keys, id: try Self.freshMessageID(),
      ways: post.usualWays(pigeonsOnly: pigeonsOnly), lifetime: lifetime, address: try post.ownAddress(),
      now: environment.now())
    let number: Int64?
    switch message {
    case .text(let text): number = try draft.store(text)
    case .file(let file): number = try draft.store(file)
    }
    guard let number else { throw VaultError(.other, "the message could not be kept: its id is taken") }
    return try self.message(number)
  }

  private static func freshMessageID() throws -> [UInt8] {
    do { return try Randomness.bytes(MessageRecord.idByteCount) } catch {
      throw VaultError(.other, "no random bytes can be had: \(error)")
    }
  }

  // MARK: - Looking

  /// The latest messages with a peer, with a plain contact of the account in use, or with all: the last sent first, or, of received ones alone,
  /// the last that came first. `search` finds bytes in texts, captions and names, whatever the case of ASCII letters. `damaged` is told the
  /// numbers of messages that can't be searched.
  package func messages(
    with reference: String? = nil, unreadOnly: Bool = false, receivedOnly: Bool = false, search: HeldSecret? = nil,
    limit: Int = 100, damaged: (Int64) -> Void = { _ in }
  ) throws -> [MessageSummary] {
    var filter = try filter(reference)
    if unreadOnly { filter.states = [.new] }
    if receivedOnly { filter.direction = .received }
    filter.limit = search == nil ? max(0, limit) : ParcelTimes.searchLimit
    let found = try database.messages(filter)
    var records: [MessageRecord] = []
    for record in found where records.count < limit {
      if let search {
        do {
          guard try contains(search, record) else { continue }
        } catch  where VaultError(error).code == .damaged {
          damaged(record.number)
          continue
        }
      }
      records.append(record)
    }
    let summaries = try summaries(records)
    guard !unreadOnly, !receivedOnly else { return summaries }
    return summaries.sorted { ($1.time, $1.number) < ($0.time, $0.number) }
  }

  /// Milliseconds by which clocks may differ before a message counts as late.
  private static let lateness: Int64 = 60_000

  private func summaries(_ records: [MessageRecord]) throws -> [MessageSummary] {
    let (names, late) = (try directory.peerNames(), try late(records))
    return records.map { record in
      var message = summary(record, names)
      message.isLate = late.contains(record.number)
      return message
    }
  }

  /// Those that came after messages of their conversations that were sent later, among these or not.
  private func late(_ records: [MessageRecord]) throws -> Set<Int64> {
    var conversations: [MessageFilter: [Int64: Int64]] = [:]
    for record in records where record.direction == .received {
      let conversation = MessageFilter(peer: record.peer, account: record.account, contact: record.contact)
      conversations[conversation, default: [:]][record.number] = record.time
    }
    var late: Set<Int64> = []
    for (conversation, times) in conversations {
      guard let first = times.values.min() else { continue }
      var others = conversation
      // Only what was sent later matters.
      others.since = first.addingReportingOverflow(Self.lateness).partialValue
      var all = times
      for record in try database.messages(others) { all[record.number] = record.time }
      var latest = Int64.min
      for (number, time) in all.sorted(by: { $0.key < $1.key }) {
        if times[number] != nil, latest > time, latest - time > Self.lateness { late.insert(number) }
        latest = max(latest, time)
      }
    }
    return late
  }

  private func filter(_ reference: String?) throws -> MessageFilter {
    let account = try database.accounts().first { $0.isCurrent }
    guard let reference else {
      return MessageFilter(plain: account.map { .of(account: $0.id) } ?? .none)
    }
    if let account, reference.contains("@") {
      // Addresses are in lower case.
      let plain = MessageFilter(account: account.id, contact: reference.lowercased())
      if try database.hasMessages(plain) { return plain }
    }
    return MessageFilter(peer: try directory.find(reference).digest)
  }

  package func message(_ number: Int64) throws -> MessageSummary {
    let record = try messageRecord(number)
    var message = summary(record, try directory.peerNames())
    message.isLate = try late([record]).contains(number)
    return message
  }

  func messageRecord(_ number: Int64) throws -> MessageRecord {
    guard let record = try database.message(number: number), try isShown(record) else {
      throw VaultError(.notFound, "there is no message \(number)", hint: "list them with `vault message`")
    }
    return record
  }

  /// Plain messages of another account than that in use aren't shown.
  private func isShown(_ record: MessageRecord) throws -> Bool {
    guard let account = record.account else { return true }
    return try database.accounts().contains { $0.isCurrent && $0.id == account }
  }

  /// A message's text, or a file's caption; nil if there is none.
  package func messageText(_ number: Int64) throws -> HeldSecret? {
    try text(of: messageRecord(number))
  }

  private func text(of record: MessageRecord) throws -> HeldSecret? {
    try database.messagePart(record.number, part: record.kind == .text ? 0 : -1)
  }

  /// Hands out a received file part by part, once all of it is verified.
  package func messageFile(_ number: Int64, part: (HeldSecret) throws -> Void) throws {
    let record = try messageRecord(number)
    guard record.kind != .text else { throw VaultError(.usage, "message \(number) is a text") }
    guard record.direction == .received else {
      throw VaultError(.usage, "the file of message \(number) was sent from here, and isn't kept")
    }
    guard record.state != .partial else {
      throw VaultError(
        .notFound, "of the file \(record.partsDone) of \(record.partCount) parts have come", hint: "wait for the others"
      )
    }
    guard try post.digest(of: record) == record.digest else {
      throw VaultError(.damaged, "the file of message \(number) is damaged")
    }
    for index in 0..<record.partCount {
      guard let bytes = try database.messagePart(number, part: index) else {
        throw VaultError(.damaged, "a part of message \(number) is missing")
      }
      try part(bytes)
    }
  }

  // MARK: - Changing

  /// The user has seen these messages. Their senders are told so, unless the setting `read-receipts` is off.
  package func markRead(_ numbers: [Int64]) throws {
    let now = max(1, environment.now())
    var read: [ParcelMemory.Owed: [MessageRecord]] = [:]
    let servers = Way.allCases.filter(\.usesServers).map(\.name)
    for number in numbers {
      guard let record = try database.message(number: number), record.state == .new else { continue }
      if record.isSealed, let peer = record.peer {
        let owed = ParcelMemory.Owed(peer: peer, usesServers: servers.contains(record.route))
        read[owed, default: []].append(record)
      } else {
        try seen(record, at: now)
      }
    }
    let tells = core.verifiedSetting(.readReceipts) == SettingKey.on
    for (owed, records) in read {
      var rest = records[...]
      while !rest.isEmpty {
        let some = rest.prefix(MessageReceipts.countLimit)
        rest = rest.dropFirst(MessageReceipts.countLimit)
        // First the receipt, then the note: rather twice than never.
        if tells {
          try post.makeReceiptParcel(
            delivered: [], read: some.map(\.id), to: owed.peer, ways: post.usualWays(pigeonsOnly: !owed.usesServers))
        }
        for record in some { try seen(record, at: now) }
      }
    }
  }

  private func seen(_ record: MessageRecord, at now: Int64) throws {
    try post.changeMessage({ () throws(StoreError) in try database.message(number: record.number) }) { message in
      guard message.state == .new else { return }
      message.state = .seen
      message.readAt = now
    }
  }

  /// A message that waits is not sent any more. Returns what it was just before; nil if it was gone already.
  @discardableResult
  package func deleteMessage(_ number: Int64) throws -> MessageSummary? {
    let record = try messageRecord(number)
    var last: MessageRecord?
    let isGone = try database.removeMessage(record.number) { last = $0 }
    return isGone ? summary(last ?? record, try directory.peerNames()) : nil
  }

  // MARK: - Summaries

  func summary(_ record: MessageRecord, _ names: [Digest: String]) -> MessageSummary {
    // Messages stay when a peer is removed, and so does what it was called.
    func name(_ digest: Digest) -> String {
      names[digest] ?? (try? database.formerName(ofPeer: digest)) ?? String(digest.description.prefix(12))
    }
    func time(_ time: Int64) -> Int64? { time > 0 ? time : nil }
    let isOpen = record.state == .waiting || record.state == .underway || record.state == .partial
    return MessageSummary(
      number: record.number, id: hexadecimal(record.id), peer: record.peer.map(name), contact: record.contact,
      isMine: record.direction == .sent, kind: MessageKind(rawValue: record.kind.rawValue) ?? .file,
      state: record.state.rawValue, name: record.name, mediaType: record.mediaType, byteCount: record.byteCount,
      parts: record.partCount, partsDone: record.partsDone, sentAt: record.sentAt, storedAt: record.storedAt,
      deliveredAt: time(record.deliveredAt), readAt: time(record.readAt), route: record.publicRoute,
      hops: record.hops > 0 ? Int(record.hops) : nil, carriers: record.carriers.map(name),
      isSealed: record.isSealed, expiresAt: isOpen ? time(record.expiresAt) : nil)
  }

  // MARK: - Searching

  private func contains(_ word: HeldSecret, _ record: MessageRecord) throws -> Bool {
    for text in [record.name, record.mediaType].compactMap({ $0 }) {
      let bytes = Array(text.utf8)
      if word.bytes.withUnsafeBytes({ word in bytes.withUnsafeBytes { Self.contains($0, word) } }) { return true }
    }
    guard let text = try text(of: record) else { return false }
    return word.bytes.withUnsafeBytes { word in text.bytes.withUnsafeBytes { Self.contains($0, word) } }
  }

  /// Ignores the case of ASCII letters.
  static func contains(_ text: UnsafeRawBufferPointer, _ word: UnsafeRawBufferPointer) -> Bool {
    func folded(_ byte: UInt8) -> UInt8 { (0x41...0x5a).contains(byte) ? byte | 0x20 : byte }
    guard word.count > 0 else { return true }
    guard text.count >= word.count else { return false }
    for start in 0...(text.count - word.count) {
      var length = 0
      while length < word.count, folded(text[start + length]) == folded(word[length]) { length += 1 }
      if length == word.count { return true }
    }
    return false
  }
}

extension MessageRecord {
  /// When it was sent, by its sender's clock, but not after it came.
  fileprivate var time: Int64 { direction == .sent ? sentAt : min(sentAt, storedAt) }
}
