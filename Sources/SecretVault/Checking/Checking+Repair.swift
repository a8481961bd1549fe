import ShamirKit

/// What a device has of a secret.
package enum OwnPart: String, Hashable, Sendable {
  case share, fragment
}

/// What has come of making this device's own part of a secret anew.
package struct Repair: Sendable {
  package enum State: Sendable {
    case done
    /// A share: others have to say yes, and to deal.
    case waits(ChangeStatus)
    case failed(VaultError)
  }

  package let part: OwnPart
  package let state: State
  /// Holders whose pieces couldn't be used; others took their place, if there were any.
  package var failures: [Changing.SourceFailure] = []
}

extension Checking {
  /// Makes anew what a drill has found damaged or missing of this device's own part, and drills the secret again: the fragment from pieces of k
  /// others, the share by having the others deal theirs once more.
  package func repair(
    _ report: CheckReport, pieces: Int, events: @escaping @Sendable (CheckEvent) -> Void
  ) async throws -> CheckReport {
    guard let part = report.repairable, let id = SecretID(named: report.secret.id) else { return report }
    let repair: Repair
    do { repair = try await self.repair(part, of: id) } catch {
      try Task.checkCancellation()
      repair = Repair(part: part, state: .failed(VaultError(error)))
    }
    var last = report
    if case .done = repair.state {
      last = try await drill([id], pieces: max(1, min(pieces, Self.pieceCountLimit)), events: events).first ?? report
    }
    last.repair = repair
    return last
  }

  private func repair(_ part: OwnPart, of id: SecretID) async throws -> Repair {
    switch part {
    case .fragment: return Repair(part: part, state: .done, failures: try await changing.repairFragment(id))
    case .share:
      let status = try await changing.renewShare(of: id)
      return Repair(part: part, state: try isOwnShareSound(id) ? .done : .waits(status))
    }
  }

  private func isOwnShareSound(_ id: SecretID) throws -> Bool {
    guard let record = try database.secret(id), let epoch = try recovering.circles.usableEpochs(of: record).first else {
      return false
    }
    return (try? recovering.ownShare(of: record, epoch)) != nil
  }
}
