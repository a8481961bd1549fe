import GRDB
import ShamirKit
import Sodium

/// What a user has said no to, and what was released to whom lately: a backup that is put back must not forget it.
package struct ConsentMemory: Sendable {
  struct Release: Sendable {
    let peer: Digest
    let secretID: SecretID
    let time: Int64
  }

  let refusals: [RequestRecord]
  let releases: [Release]
  let removedCards: Set<Digest>
  let clock: Int64

  /// What is left of it where the database can't be read: whom the user has removed. Nil if that can't be read either.
  package static func besideDatabase(_ folders: VaultFolders, keys: VaultKeys) -> ConsentMemory? {
    guard let trust = try? CompanionFiles(folders, keys: keys).readTrust() else { return nil }
    return ConsentMemory(refusals: [], releases: [], removedCards: Set(trust.removedCards), clock: 0)
  }
}

extension VaultDatabase {
  /// What counts at `now` of all that was refused and released.
  package func consentMemory(at now: Int64) throws(StoreError) -> ConsentMemory {
    let refusals = try requests().filter { $0.kind == .release && $0.state == .refused && $0.endsAt > now }
    let releases = try read { db in try self.releases(where: "TRUE", [], db) }
    return ConsentMemory(
      refusals: refusals, releases: releases, removedCards: try removedCards(), clock: try consentClock())
  }

  /// Makes consent begin anew in a state of the vault that was put back: what was granted was granted at another time, and what waited has
  /// to be asked for again, as it may have been refused since. What is remembered of later goes in, as far as it is about peers and secrets
  /// that are there.
  func renewConsent(_ memory: ConsentMemory?, at now: Int64) throws(StoreError) {
    try write { db in
      try db.run("DELETE FROM requests WHERE kind = 'release' AND state IN ('approved', 'waiting')")
    }
    guard let memory else { return }
    for refusal in memory.refusals {
      guard try isKnown(refusal.peer, for: refusal.secretID), try secret(refusal.secretID) != nil else { continue }
      try changeRequest(.release, of: refusal.peer, secret: refusal.secretID, at: now) { row, _ in
        var kept = RequestRecord(
          kind: .release, peer: refusal.peer, secretID: refusal.secretID, headerDigest: refusal.headerDigest,
          askedAt: refusal.askedAt, startedAt: refusal.startedAt, endsAt: refusal.endsAt)
        kept.state = .refused
        row = kept
      }
    }
    for release in memory.releases where try isKnown(release.peer, for: release.secretID) {
      _ = try countRelease(
        of: release.secretID, to: release.peer, at: release.time, since: release.time - 1, limit: .max)
    }
    // Peers that are back are named to the user, and those who were only introduced aren't.
    for card in memory.removedCards where try peer(card) == nil { try removeIntroductions(of: card) }
    try advanceConsentClock(to: memory.clock)
  }

  private func isKnown(_ card: Digest, for secret: SecretID) throws(StoreError) -> Bool {
    if try peer(card) != nil { return true }
    return try introduction(of: card, secret: secret)?.state == .active
  }
}
