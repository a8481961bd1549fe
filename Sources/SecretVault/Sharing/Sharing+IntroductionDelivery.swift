import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// Introductions of holders go after their shares, in the same session, or later by themselves.
extension Sharing {
  /// Makes missing introductions, of one secret or of all: it was shared while introductions were off, or by an earlier version, or was
  /// restored from the files beside the database, which don't have them.
  func completeIntroductions(ofSecret only: SecretID? = nil) {
    guard introductions.usesIntroductions else { return }
    let shares: [OutboxRecord]
    do { shares = try database.sharesWithoutIntroduction() } catch {
      environment.log.error("which introductions are missing can't be read: \(error)")
      return
    }
    for (id, shares) in Dictionary(grouping: shares, by: \.entry.secretID) {
      guard let id, only == nil || only == id else { continue }
      do { try introduce(shares, of: id) } catch {
        environment.log.error(
          "the holders of a secret could not be introduced to one another: this device \(VaultCore.words(error))")
      }
    }
  }

  private func introduce(_ shares: [OutboxRecord], of id: SecretID) throws {
    guard let record = try database.secret(id), record.origin == .dealt else { return }
    let header = try directory.header(of: record)
    guard header.labels != nil else { return }
    let holders = try introductions.knownHolders(of: record)
    for share in shares {
      guard let peer = try database.peer(share.entry.recipient), let index = share.entry.index,
        let entry = try introductions.introduction(header, to: peer, index: index, holders, at: environment.now())
      else { continue }
      try database.addIntroduction(entry)
    }
  }

  /// Ids of secrets whose holders have their shares but haven't all taken their introductions.
  package func secretsWithWaitingIntroductions() throws -> Set<String> {
    guard introductions.usesIntroductions else { return [] }
    completeIntroductions()
    return Set(try database.waitingIntroductions().compactMap { $0.entry.secretID.map { $0.description } })
  }

  /// Of one secret or of all.
  func deliverIntroductions(ofSecret id: SecretID?) async {
    guard introductions.usesIntroductions, let waiting = try? database.waitingIntroductions() else { return }
    let wanted = waiting.filter { id == nil || $0.entry.secretID == id }
    _ = await limitedConcurrency(wanted, limit: contactConcurrency) { [self] entry in
      await deliverIntroduction(entry)
    }
  }

  /// One attempt in a session of its own.
  func deliverIntroduction(_ entry: OutboxRecord) async {
    let now = environment.now()
    do {
      guard introductions.usesIntroductions else {
        return try database.postponeDelivery(
          entry.id, until: now + Introductions.unwillingPause, route: nil, error: "introductions are off")
      }
      let due = max(now, entry.nextAttemptAt)
      guard let peer = try database.peer(entry.entry.recipient), let job = introductions.introductionAsker(entry),
        try database.claimDelivery(entry.id, at: due, retryAt: due + OutboxRecord.lease)
      else { return }
      do {
        try await links.ask(job, of: try directory.recipient(peer))
        introductions.settle(introduction: entry, nil, route: "session")
      } catch let failure as LinkFailure {
        introductions.settle(introduction: entry, failure, route: "session")
      }
    } catch {
      environment.log.error("an introduction could not be delivered: this device \(VaultCore.words(error))")
    }
  }
}

extension IntroductionAsker: Asker {
  var byteCount: UInt64 { UInt64(sealed.count) }

  func ask(_ id: UInt64, _ conversation: Conversation) async throws(LinkFailure) {
    try await conversation.require(.introductions)
    try await conversation.send(message(id))
    if let failure = try await Self.result(id, conversation) { throw failure }
  }

  static func result(_ id: UInt64, _ conversation: Conversation) async throws(LinkFailure) -> LinkFailure? {
    let result = try await conversation.receive(IntroductionResult.self, patience: 2)
    guard result.request == id else { throw .notAsked }
    return result.refusal.map { .refused($0) }
  }
}
