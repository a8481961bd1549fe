import VaultProtocol
import VaultStore

extension Introductions {
  /// Milliseconds to the next attempt with a holder that takes none, or no more.
  static let unwillingPause: Int64 = 86_400_000

  /// What is said behind a share in the same session, if there is anything.
  func introductionAsker(beside entry: OutboxRecord) throws -> IntroductionAsker? {
    guard usesIntroductions, let id = entry.entry.secretID,
      let waiting = try database.waitingIntroduction(ofSecret: id, to: entry.entry.recipient)
    else { return nil }
    return introductionAsker(waiting)
  }

  func introductionAsker(_ entry: OutboxRecord) -> IntroductionAsker? {
    guard let id = entry.entry.secretID, let index = entry.entry.index.flatMap({ UInt8(exactly: $0) }) else {
      return nil
    }
    return IntroductionAsker(secret: id, index: index, sealed: entry.entry.payload) { [self] failure in
      settle(introduction: entry, failure, route: "session")
    }
  }

  /// Introductions that may go by parcel: not to who has said that it takes none.
  func introductionsForParcels(at now: Int64) throws -> [OutboxRecord] {
    guard usesIntroductions else { return [] }
    return try database.waitingIntroductions().filter { $0.nextAttemptAt - now < Self.unwillingPause / 2 }
  }

  /// Notes what became of an introduction. What a holder refuses today it may take another day, with a newer program or another setting.
  func settle(introduction entry: OutboxRecord, _ failure: LinkFailure?, route: String) {
    let now = environment.now()
    do {
      guard let failure else { return try database.settleDelivered(entry.id, route: route) }
      let passing: [RefusalReason?] = [.busy, .diskFull, .internalFailure, .bluetoothLimit]
      let passes = failure.kind != .refused || passing.contains(failure.refusal)
      let pause = passes ? OutboxRecord.backoff(attempts: entry.attempts + 1) : Self.unwillingPause
      try database.postponeDelivery(entry.id, until: now + pause, route: route, error: failure.reason)
    } catch .notFound {
      // Gone with its secret.
    } catch {
      environment.log.error("what became of an introduction could not be noted: \(error)")
    }
  }
}
