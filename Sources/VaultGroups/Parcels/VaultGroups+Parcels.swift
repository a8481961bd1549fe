import Grouper
import SecretVault
import Sodium
import VaultStore

/// Deposits and requests for peers who are away, through the groups that they are in.
extension VaultGroups {
  /// How often one `sync` answers what it has brought: an answer may bring the next question.
  private static let answerLimit = 4

  /// A round over a group's servers, with what this device's classes add to it: a mailbox, parcels, answers.
  func exchange(
    _ open: VaultGroup, isFirst: Bool, isForced: Bool = false, isHurried: Bool = true
  ) async throws(GroupError) -> ReceiveReport {
    let context = open.context
    let serial = await open.grouper.roster?.serial
    for part in classes {
      await noting(context) { () throws(GroupError) in try await part.beforeRound(in: context) }
    }
    var report = try await open.grouper.round(isFirst: isFirst, isForced: isForced, isHurried: isHurried)
    if await open.grouper.roster?.serial != serial { await noteMembers(open) }
    var hasMore = false
    for part in classes {
      await noting(context) { () throws(GroupError) in
        if try await part.afterRound(in: context) { hasMore = true }
      }
    }
    guard hasMore, !Task.isCancelled else { return report }
    // Servers that have failed a moment ago aren't tried once more.
    let second = try await open.grouper.round(isFirst: false, isHurried: isHurried)
    report.changes += second.changes
    report.missing = second.missing
    return report
  }

  /// Lets all classes know that others are in the group now.
  func noteMembers(_ open: VaultGroup) async {
    let context = open.context
    for part in classes {
      await noting(context) { () throws(GroupError) in try await part.membersChanged(in: context) }
    }
  }

  /// What fails in a class keeps no group from being kept in step.
  private func noting(_ context: GroupContext, _ body: () async throws(GroupError) -> Void) async {
    do { try await body() } catch .noGroup {} catch {
      if !Task.isCancelled { core.surroundings.log.warning("group \(context.id): a parcel waits: \(error)") }
    }
  }

  /// A first round, and then answers what has come and sends the answers: for a device whose daemon doesn't run.
  func exchangeAnswering(_ open: VaultGroup) async throws -> ReceiveReport {
    var report = try await exchange(open, isFirst: true, isForced: true)
    for _ in 0..<Self.answerLimit {
      let hasAnswers: Bool
      do { hasAnswers = try await answering.answerParcels() } catch {
        core.surroundings.log.warning("parcels can't be answered: \(VaultError(error).reason)")
        return report
      }
      guard hasAnswers, !Task.isCancelled else { return report }
      // There may be room again for what was left.
      await catchUp(open)
      let next = try await exchange(open, isFirst: false)
      report.changes += next.changes
      report.missing = next.missing
    }
    return report
  }

  /// Lets all classes look again for what they couldn't take.
  func catchUp(_ open: VaultGroup) async {
    let context = open.context
    for part in classes {
      do { try await part.catchUp(in: context) } catch .noGroup { return } catch {
        core.surroundings.log.warning("group \(open.id): what has come before still can't be taken: \(error)")
      }
    }
  }

  // MARK: - For commands

  /// Makes parcels of what waits for peers who are in a group of this device, and hands them to its servers, for as
  /// long as a command waits for that. What is not done then is done by the daemon, or by `vault group sync`.
  package func handParcels(for what: String) async throws -> [GroupItemReport] {
    let groups = try await known()
    return try await exchange(groups, try post.foldersWithParcels(), for: what)
  }

  /// The same, and fetches the answers to requests: between two attempts of a recovery that waits.
  package func fetchParcels(for what: String) async throws -> [GroupItemReport] {
    let groups = try await known()
    let folders = try post.foldersWithParcels().union(post.foldersAwaitingAnswers(since: 0))
    return try await exchange(groups, folders, for: what)
  }

  /// The groups that this device is a member of; the vault knows then what they are called by their members.
  private func known() async throws -> [GroupFacts] {
    let groups = try await list().filter { $0.state == .member }
    for group in groups { know(group) }
    return groups
  }

  /// Tells the vault what a group is called by its members.
  func know(_ group: GroupFacts) {
    guard let id = group.group, let folder = try? GroupItems.bytes(of: group.id) else { return }
    post.knowGroup(id.bytes, folder: folder)
  }

  func know(_ name: String) { if let group = try? facts.read(name) { know(group) } }

  private func exchange(
    _ groups: [GroupFacts], _ folders: Set<[UInt8]>, for what: String
  ) async throws -> [GroupItemReport] {
    let ids = Set(folders.map { hexadecimal($0) })
    var done: [GroupItemReport] = []
    for group in groups where ids.contains(group.id) {
      do {
        done.append(try await use(group.id, for: what) { open in try await hand(open, of: group, isForced: true) })
      } catch  where !Task.isCancelled && VaultError(error).code != .interrupted {
        // Somebody else has this group, or it is damaged: the others have their turn all the same.
        core.surroundings.log.warning("group \(group.id): parcels wait: \(VaultError(error).reason)")
      }
    }
    return done
  }
}
