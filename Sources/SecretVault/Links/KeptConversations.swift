import PeerAuth

/// Conversations that stay open for a moment after a question, for what was asked about: over a radio, a handshake takes as long as tens
/// of kilobytes.
actor KeptConversations {
  static let limit = contactConcurrency
  /// Of those over Bluetooth: each keeps a link busy, and adapters have few.
  static let nearbyLimit = 3
  /// Shorter than the peer waits for more.
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

  /// Keeps a conversation in which nothing is open, or ends it if there are too many.
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

  /// A kept conversation in which so many bytes may be moved. From now on it is the caller's.
  func take(_ recipient: Recipient, for byteCount: UInt64) async -> Conversation? {
    guard let entry = entries.removeValue(forKey: recipient.keys) else { return nil }
    entry.end.cancel()
    // Bluetooth's limit may have changed.
    guard !entry.conversation.isNearby || recipient.nearby.map({ byteCount <= $0.byteLimit }) ?? false else {
      await entry.conversation.close()
      return nil
    }
    return entry.conversation
  }

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
