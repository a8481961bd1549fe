import Sodium
import VaultProtocol
import VaultStore

/// How a dealer's word on the other holders reaches each: behind its share, in the same session, or later by itself.
extension Vault {
  /// Milliseconds to the next attempt with a holder that takes none, or no more.
  private static let unwillingPause: Int64 = 86_400_000

  /// What is said behind a share in the same session, if there is anything.
  func introductionJob(beside entry: OutboxRecord) throws -> IntroductionJob? {
    guard usesIntroductions, let id = entry.entry.secretID,
      let waiting = try database.waitingIntroduction(ofSecret: id, to: entry.entry.recipient)
    else { return nil }
    return introductionJob(waiting)
  }

  func introductionJob(_ entry: OutboxRecord) -> IntroductionJob? {
    guard let id = entry.entry.secretID, let index = entry.entry.index.flatMap({ UInt8(exactly: $0) }) else {
      return nil
    }
    return IntroductionJob(secret: id, index: index, sealed: entry.entry.payload) { [self] failure in
      settle(introduction: entry, failure, route: "session")
    }
  }

  /// Makes the introductions that are missing, of one secret or of all: it was shared while introductions were off, or by an earlier
  /// program, or was taken up from the files beside the database, which don't have them.
  func completeIntroductions(ofSecret only: [UInt8]? = nil) {
    guard usesIntroductions else { return }
    let shares: [OutboxRecord]
    do { shares = try database.sharesWithoutIntroduction() } catch {
      environment.log.error("which introductions are missing can't be read: \(error)")
      return
    }
    for (id, shares) in Dictionary(grouping: shares, by: \.entry.secretID) where only == nil || only == id {
      do { try introduce(shares, of: id ?? []) } catch {
        environment.log.error(
          "the holders of a secret could not be introduced to one another: this device \(Self.words(error))")
      }
    }
  }

  private func introduce(_ shares: [OutboxRecord], of id: [UInt8]) throws {
    guard let record = try database.secret(id), record.origin == .dealt else {
      return
    }
    let header = try header(of: record)
    guard header.labels != nil else { return }
    let holders = try knownHolders(of: record)
    for share in shares {
      guard let peer = try database.peer(share.entry.recipient),
        let index = share.entry.index,
        let entry = try introduction(header, to: peer, index: index, holders, at: environment.now())
      else { continue }
      try database.addIntroduction(entry)
    }
  }

  /// Ids of secrets that were shared here and whose holders haven't all taken who the others are, although they have their shares.
  package func secretsWithWaitingIntroductions() throws -> Set<String> {
    guard usesIntroductions else { return [] }
    completeIntroductions()
    return Set(
      try database.waitingIntroductions()
        .compactMap { $0.entry.secretID.map { hexadecimal($0) } })
  }

  /// Delivers introductions that wait although their shares are delivered, of one secret or of all.
  func deliverIntroductions(ofSecret id: [UInt8]?) async {
    guard usesIntroductions, let waiting = try? database.waitingIntroductions() else { return }
    let wanted = waiting.filter { id == nil || $0.entry.secretID == id }
    _ = await limitedConcurrency(wanted, limit: contactConcurrency) { [self] entry in
      await deliverIntroduction(entry)
    }
  }

  /// Introductions that may go by parcel: not to who has said that it takes none.
  func introductionsForParcels(at now: Int64) throws -> [OutboxRecord] {
    guard usesIntroductions else { return [] }
    return try database.waitingIntroductions()
      .filter { $0.nextAttemptAt - now < Self.unwillingPause / 2 }
  }

  /// One attempt in a session of its own.
  func deliverIntroduction(_ entry: OutboxRecord) async {
    let now = environment.now()
    do {
      guard usesIntroductions else {
        return try database.postponeDelivery(
          entry.id, until: now + Self.unwillingPause, route: nil, error: "introductions are off")
      }
      let due = max(now, entry.nextAttemptAt)
      guard let peer = try database.peer(entry.entry.recipient), let job = introductionJob(entry),
        try database.claimDelivery(entry.id, at: due, retryAt: due + Self.lease)
      else { return }
      switch await send(.introduction(job), to: try recipient(peer)) {
      case .success: settle(introduction: entry, nil, route: "session")
      case .failure(let failure): settle(introduction: entry, failure, route: "session")
      }
    } catch {
      environment.log.error("an introduction could not be delivered: this device \(Self.words(error))")
    }
  }

  /// Notes what became of an introduction. What a holder doesn't take today, it may take another day: with a newer program, or another setting.
  func settle(introduction entry: OutboxRecord, _ failure: LinkFailure?, route: String) {
    let now = environment.now()
    do {
      guard let failure else { return try database.settleDelivered(entry.id, route: route) }
      let passing: [RefusalReason?] = [.busy, .diskFull, .internalFailure, .bluetoothLimit]
      let passes = failure.kind != .refused || passing.contains(failure.refusal)
      let pause = passes ? Self.backoff(attempts: entry.attempts + 1) : Self.unwillingPause
      try database.postponeDelivery(entry.id, until: now + pause, route: route, error: failure.reason)
    } catch .notFound {
      // Gone with its secret.
    } catch {
      environment.log.error("what became of an introduction could not be noted: \(error)")
    }
  }
}
