import PeerAuth

/// Conversations that stay open for a moment behind a question, because what was asked about comes next: a handshake less, which over a radio
/// takes as long as tens of kilobytes.
actor KeptConversations {
  /// Most that are kept.
  static let limit = contactConcurrency
  /// Most of those over Bluetooth: each keeps a link busy, and adapters have few.
  static let nearbyLimit = 3
  /// How long one is kept: shorter than the peer waits for more.
  static let lifetime = Duration.seconds(20)

  private struct Entry {
    let number: Int
    let conversation: Conversation
    let end: Task<Void, Never>
  }

  private let sleep: @Sendable (Duration) async throws -> Void
  private var entries: [CardKeys: Entry] = [:]
  private var lastNumber = 0

  init(_ environment: VaultEnvironment) { sleep = environment.sleep }

  /// Keeps a conversation in which everything that was asked has been answered, or ends it if there are too many.
  func keep(_ conversation: Conversation) async {
    let nearby = entries.values.count { $0.conversation.isNearby }
    let keys = conversation.recipient.keys
    guard entries[keys] == nil, entries.count < Self.limit, !conversation.isNearby || nearby < Self.nearbyLimit else {
      return await conversation.close()
    }
    lastNumber += 1
    let number = lastNumber
    let sleep = sleep
    let end = Task { [weak self] in
      do { try await sleep(Self.lifetime) } catch { return }
      await self?.end(number, of: keys)
    }
    entries[keys] = Entry(number: number, conversation: conversation, end: end)
  }

  /// A conversation with this peer in which so many bytes may be moved, if one is kept. From now on it is the caller's.
  func take(_ recipient: Recipient, for byteCount: UInt64) async -> Conversation? {
    guard let entry = entries.removeValue(forKey: recipient.keys) else { return nil }
    entry.end.cancel()
    // What Bluetooth may be used for can have changed.
    let isAllowed =
      if entry.conversation.isNearby { recipient.nearby.map { byteCount <= $0.byteLimit } ?? false } else { true }
    guard isAllowed else {
      await entry.conversation.close()
      return nil
    }
    return entry.conversation
  }

  /// Ends those that were kept for nothing.
  func endAll() async {
    let all = entries.values
    entries = [:]
    await withTaskGroup(of: Void.self) { group in
      for entry in all {
        entry.end.cancel()
        group.addTask { await entry.conversation.close() }
      }
    }
  }

  private func end(_ number: Int, of keys: CardKeys) async {
    guard let entry = entries[keys], entry.number == number else { return }
    entries[keys] = nil
    await entry.conversation.close()
  }
}
