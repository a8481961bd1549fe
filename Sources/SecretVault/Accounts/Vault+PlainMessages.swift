import Sodium
public import VaultProtocol
public import VaultStore

/// A text that goes through servers as it is, to or from somebody without a vault.
public struct PlainMessage: Sendable {
  /// Its id, 16 bytes.
  public let id: [UInt8]
  /// The other side's address.
  public let contact: String
  /// Whether it was sent from this account.
  public let isMine: Bool
  /// What it says.
  public let text: HeldSecret
  /// When it was sent, as far as is known, in milliseconds since 1970.
  public let sentAt: Int64

  /// One from its parts.
  public init(id: [UInt8], contact: String, isMine: Bool, text: HeldSecret, sentAt: Int64) {
    self.id = id
    self.contact = contact
    self.isMine = isMine
    self.text = text
    self.sentAt = sentAt
  }

  /// The id of what came as `stanza` from `contact` saying `text`: the same whenever it comes again. Others' programs don't always give each
  /// message a name of its own, so what it says counts, too.
  public static func id(stanza: String, contact: String, text: HeldSecret) throws(VaultError) -> [UInt8] {
    do throws(SodiumError) { return try digest(stanza, contact, text.bytes) } catch {
      throw VaultError(.other, "a message can't be hashed: \(error)")
    }
  }

  private static func digest(
    _ stanza: String, _ contact: String, _ text: borrowing SecretBytes
  ) throws(SodiumError) -> [UInt8] {
    var hash = try DomainHash("vault/plain-message/v1")
    hash.append(stanza)
    hash.append(contact)
    hash.append(text.bytes)
    return Array(hash.digest().bytes.prefix(16))
  }
}

/// A plain message that waits to be sent.
public struct WaitingPlain: Sendable {
  /// Its id, 16 bytes.
  public let id: [UInt8]
  /// Whom it is for.
  public let contact: String
  /// What it says.
  public let text: HeldSecret
}

extension Vault {
  private static let route = "plain"
  /// Messages among which one is looked for whose fate is told.
  private static let pastLimit = 1000
  /// Messages of a contact that are kept of a day.
  private static let dayLimit = 1000
  private static let day: Int64 = 86_400_000

  /// Keeps a plain message of an account, and says whether it is new. What is mine waits to be sent, unless another device has sent it.
  @discardableResult
  public func keepPlain(
    _ message: PlainMessage, account: [UInt8], isSent: Bool = true
  ) throws(VaultError) -> Int64? {
    let now = environment.now()
    let record = MessageRecord(
      id: message.id, account: account, contact: message.contact, direction: message.isMine ? .sent : .received,
      kind: .text, isSealed: false, byteCount: Int64(message.text.count), partCount: 1,
      partsDone: message.isMine ? 0 : 1, sentAt: message.sentAt, storedAt: now, route: Self.route,
      state: message.isMine ? (isSent ? .underway : .waiting) : .new)
    let number = try stored { () throws(StoreError) in
      try database.addMessage(record, parts: [0: message.text], parcels: [])
    }
    // Servers can say as often as they like that something has come.
    if number != nil, !message.isMine, allowance.next(try Self.line(account), at: environment.monotonic()).isWritten {
      self.record(.messageReceived, detail: "from an account without a vault")
    }
    return number
  }

  /// For whom lines of the audit log are counted.
  private static func line(_ account: [UInt8]) throws(VaultError) -> Digest {
    do throws(SodiumError) {
      var hash = try DomainHash("vault/plain-line/v1")
      hash.append(account)
      return hash.digest()
    } catch { throw VaultError(.other, "an account can't be hashed: \(error)") }
  }

  /// Whether a contact has sent as much within a day as is kept.
  public func isPlainFull(account: [UInt8], contact: String) throws(VaultError) -> Bool {
    try stored { () throws(StoreError) in
      try database.messages(
        MessageFilter(
          account: account, contact: contact, direction: .received, since: environment.now() - Self.day,
          limit: Self.dayLimit)
      ).count >= Self.dayLimit
    }
  }

  /// Plain messages of an account that wait to be sent, the oldest first.
  public func plainWaiting(_ account: [UInt8]) throws(VaultError) -> [WaitingPlain] {
    var waiting: [WaitingPlain] = []
    let records = try stored { () throws(StoreError) in
      try database.messages(
        MessageFilter(account: account, direction: .sent, states: [.waiting], limit: 100))
    }
    for record in records.reversed() {
      guard let contact = record.contact,
        let text = try stored({ () throws(StoreError) in try database.messagePart(record.number, part: 0) })
      else { continue }
      waiting.append(WaitingPlain(id: record.id, contact: contact, text: text))
    }
    return waiting
  }

  /// Notes what became of a plain message that was sent.
  public func notePlain(
    _ id: [UInt8], account: [UInt8], contact: String, _ state: MessageRecord.State
  ) throws(VaultError) {
    try stored { () throws(StoreError) in
      let filter = MessageFilter(
        account: account, contact: contact, direction: .sent, states: [.waiting, .underway, .lost],
        limit: Self.pastLimit)
      while let before = try database.messages(filter).first(where: { $0.id == id }) {
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
  }

  /// What follows what.
  private static func rank(_ state: MessageRecord.State) -> Int {
    switch state {
    case .waiting: 0
    case .underway: 1
    case .lost: 2
    case .delivered: 3
    default: 4
    }
  }

  /// Texts that came lately from a contact, to know again what has no name of its own.
  public func recentPlainTexts(
    account: [UInt8], contact: String, limit: Int = 50
  ) throws(VaultError) -> [HeldSecret] {
    let records = try stored { () throws(StoreError) in
      try database.messages(MessageFilter(account: account, contact: contact, direction: .received, limit: limit))
    }
    var texts: [HeldSecret] = []
    for record in records {
      if let text = try stored({ () throws(StoreError) in try database.messagePart(record.number, part: 0) }) {
        texts.append(text)
      }
    }
    return texts
  }
}

extension Vault {
  /// Whether a plain message was sent from an account to this address.
  public func hasWritten(to contact: String, account: [UInt8]) throws(VaultError) -> Bool {
    try stored { () throws(StoreError) in
      try database.hasMessages(MessageFilter(account: account, contact: contact, direction: .sent))
    }
  }
}
