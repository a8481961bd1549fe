import Glibc
import Grouper
import Logging
package import SecretVault
import Sodium
import Synchronization
package import VaultProtocol
import VaultStore

/// The daemon's part: answers letters and parcels, sends those that wait, and keeps all groups in step, each for a
/// moment at a time, so that commands can have it between.
package final class GroupRounds: GroupLetterTaker {
  private let groups: VaultGroups
  private let log: Logger

  private struct State {
    var plans: [String: Plan] = [:]
    /// Groups that a task is at.
    var rounds: Set<String> = []
    /// Letters that a task is at.
    var letters: Set<[UInt8]> = []
    /// Why parcels couldn't be told about last: once is enough.
    var parcelFault = ""
    /// Why groups couldn't be kept in step since their last round that went well: each reason once is enough.
    var faults: [String: Set<String>] = [:]
  }

  private struct Plan {
    var next: Double
    var isFirst = true
    var failures = 0
    /// How many messages were missing when a round ended last, and since how many rounds it has been as many.
    var missing: UInt64 = 0
    var inVain = 0
    /// What the facts' file was when a round ended last.
    var stamp: FileStamp?
    /// When a round ended last, and how many had parcels to post before and after them.
    var ended = -Double.infinity
    var hadParcels = 0
  }

  private let state = Mutex(State())

  /// Seconds between rounds: while something waits, while nothing does, and at most, while no server answers.
  private static let pauses = (busy: 5.0, idle: 30.0, longest: 300.0)
  /// Rounds in haste that may pass without any of what is missing coming in.
  private static let roundsInVain = 24
  /// Milliseconds after which the answer to a request isn't waited for in haste.
  private static let hasteLimit: Int64 = 600_000
  /// How long a round may take.
  static let roundLimit = Duration.seconds(20)
  /// Groups that have a round at the same time, and letters that are on their way: peers that say nothing hold up no
  /// group.
  private static let concurrency = (rounds: 4, letters: 8)

  package convenience init(_ vault: Vault) { self.init(VaultGroups(vault)) }

  init(_ groups: VaultGroups) {
    self.groups = groups
    log = groups.core.surroundings.log
  }

  package func take(_ letter: GroupLetter, from peer: GroupPeer) async -> GroupReply.Outcome {
    switch letter.purpose {
    case .invitation: await groups.takeInvitation(letter, from: peer)
    case .joining: await groups.takeJoining(letter, from: peer)
    }
  }

  /// Works until the task is cancelled.
  package func run() async {
    groups.letters.answerGroupLetters(by: self)
    let core = groups.core
    await withDiscardingTaskGroup { tasks in
      while !Task.isCancelled {
        let seen = core.pulse.count
        let hasLetters = beginLetters(&tasks)
        beginAnswering(&tasks)
        let hasGroups = beginRounds(&tasks)
        // What changes in a group isn't in the vault's store.
        let pause: Duration? = hasLetters || hasGroups ? .seconds(1) : nil
        do { try await core.wait(since: seen, atMost: pause) } catch { break }
      }
      tasks.cancelAll()
    }
  }

  /// Whether nobody is at this group: whoever asks is then.
  private func begin(group name: String) -> Bool {
    state.withLock { $0.rounds.count < Self.concurrency.rounds && $0.rounds.insert(name).inserted }
  }

  private func begin(letter id: [UInt8]) -> Bool {
    state.withLock { $0.letters.count < Self.concurrency.letters && $0.letters.insert(id).inserted }
  }

  private func end(group name: String) { state.withLock { _ = $0.rounds.remove(name) } }

  private func end(letter id: [UInt8]) { state.withLock { _ = $0.letters.remove(id) } }

  // MARK: - Letters

  /// Whether there are any.
  private func beginLetters(_ tasks: inout DiscardingTaskGroup) -> Bool {
    let now = groups.core.surroundings.now()
    let letters: [GroupLetterRecord]
    do { letters = try groups.letters.groupLetters() } catch {
      log.error("letters about groups can't be read: \(VaultError(error).reason)")
      return false
    }
    for letter in letters where letter.isDue(at: now) {
      switch (letter.kind, letter.state) {
      case (.sent, .waiting):
        guard begin(letter: letter.id) else { continue }
        tasks.addTask { [self] in
          defer { end(letter: letter.id) }
          await attempt("an invitation") { try await self.groups.deliver(letter.id) }
        }
      case (.received, .taken):
        guard begin(letter: letter.id) else { continue }
        tasks.addTask { [self] in
          defer { end(letter: letter.id) }
          await attempt("a request to join") { try await self.groups.ask(letter.id) }
        }
      default: continue
      }
    }
    return !letters.isEmpty
  }

  private func attempt(_ what: String, _ body: () async throws -> VaultError?) async {
    do {
      if let failure = try await body() { log.info("\(what) waits: \(failure.reason)") }
    } catch { log.warning("\(what) waits: \(VaultError(error).reason)") }
  }

  // MARK: - Parcels

  /// Answers what has come in parcels, and what waited for the user. Its answers have the groups' next rounds at once.
  private func beginAnswering(_ tasks: inout DiscardingTaskGroup) {
    tasks.addTask { [self] in
      do { _ = try await groups.answering.answerParcels() } catch { note(VaultError(error)) }
    }
  }

  /// Groups that have parcels to post, by the names of their folders.
  private func groupsWithParcels() -> Set<String> {
    do { return Set(try groups.post.foldersWithParcels().map { hexadecimal($0) }) } catch {
      note(VaultError(error))
      return []
    }
  }

  /// Whether something was asked through a group a moment ago, without an answer yet.
  private func isAwaitingAnswer(_ name: String) -> Bool {
    let since = groups.core.surroundings.now() - Self.hasteLimit
    let folders = try? groups.post.foldersAwaitingAnswers(since: since)
    return folders?.contains { hexadecimal($0) == name } ?? false
  }

  private func note(_ fault: VaultError) {
    let isNew = state.withLock { state in
      defer { state.parcelFault = fault.reason }
      return state.parcelFault != fault.reason
    }
    if isNew { log.warning("parcels wait: \(fault.reason)") }
  }

  // MARK: - Rounds

  /// Whether there are groups.
  private func beginRounds(_ tasks: inout DiscardingTaskGroup) -> Bool {
    let folders = groups.core.groupFolders
    guard let names = try? folders.names() else { return false }
    let now = groups.core.surroundings.monotonic()
    let new = state.withLock { state in
      state.plans = state.plans.filter { names.contains($0.key) }
      state.faults = state.faults.filter { names.contains($0.key) }
      return names.filter { state.plans[$0] == nil }
    }
    for name in new { groups.know(name) }
    let withParcels = groupsWithParcels()
    for name in names {
      let isDue = state.withLock { state in
        let plan = state.plans[name] ?? Plan(next: now)
        state.plans[name] = plan
        // A command may have left something to be sent.
        if plan.next <= now || FileStamp(folders.path(name) + "/facts") != plan.stamp { return true }
        // What stays to be posted through a round, the next rounds don't post in haste.
        return withParcels.contains(name) && plan.failures == 0 && plan.hadParcels < Self.roundsInVain
          && plan.ended + Double(plan.hadParcels) * Self.pauses.busy * 1000 <= now
      }
      guard isDue, begin(group: name) else { continue }
      tasks.addTask { [self] in
        defer { end(group: name) }
        await round(name)
      }
    }
    return !names.isEmpty
  }

  private enum Outcome {
    /// Nothing was to be done, or it took too long: servers that hang would have one such round after the other.
    case notYet
    case madeRoom
    case done(ReceiveReport, hasUnsent: Bool)
    case failed
  }

  func round(_ name: String) async {
    let isFirst = state.withLock { $0.plans[name]?.isFirst ?? true }
    let outcome = await outcome(of: name, isFirst: isFirst)
    if case .done = outcome { noteSuccess(of: name) }
    let surroundings = groups.core.surroundings
    let stamp = FileStamp(groups.core.groupFolders.path(name) + "/facts")
    let now = surroundings.monotonic()
    let hasParcels = groupsWithParcels().contains(name)
    let isAwaiting = isAwaitingAnswer(name)
    state.withLock { state in
      guard var plan = state.plans[name] else { return }
      plan.stamp = stamp
      plan.ended = now
      plan.hadParcels = hasParcels ? min(plan.hadParcels + 1, Self.roundsInVain) : 0
      var pause = Self.pauses.idle
      switch outcome {
      case .notYet: break
      case .madeRoom: pause = 1
      case .done(let report, let hasUnsent):
        plan.isFirst = false
        // What nobody answers isn't waited for in haste: it may be that somebody only says that there is more.
        plan.inVain = report.missing == plan.missing ? min(plan.inVain + 1, Self.roundsInVain) : 0
        plan.missing = report.missing
        let busy = hasUnsent || isAwaiting || (report.missing > 0 && plan.inVain < Self.roundsInVain)
        // Servers that have failed have times of their own at which they are tried.
        plan.failures = report.answered > 0 ? 0 : min(plan.failures + 1, 8)
        pause = busy && plan.failures == 0 ? Self.pauses.busy : Self.pauses.idle
      case .failed: plan.failures = min(plan.failures + 1, 8)
      }
      if plan.failures > 1 { pause = min(pause * Double(1 << (plan.failures - 1)), Self.pauses.longest) }
      plan.next = now + pause * 1000
      state.plans[name] = plan
    }
  }

  private func outcome(of name: String, isFirst: Bool) async -> Outcome {
    let folder = groups.core.groupFolders.path(name)
    let sleep = groups.core.surroundings.sleep
    do {
      guard let facts = try groups.facts.read(name), facts.state == .member else { return .notYet }
      groups.know(facts)
      guard let lock = try GroupLock.take(folder, for: "vault daemon") else { return .madeRoom }
      // All of it: what is taken when the group is opened may be much, too.
      let first = await withTaskGroup(of: Result<Outcome, VaultError>.self) { tasks in
        tasks.addTask { await self.work(name, lock, isFirst: isFirst) }
        tasks.addTask {
          for _ in 0..<Int(Self.roundLimit / .milliseconds(100)) {
            guard !GroupLock.isWanted(folder) else { return .success(.madeRoom) }
            do { try await sleep(.milliseconds(100)) } catch { break }
          }
          return .success(.notYet)
        }
        defer { tasks.cancelAll() }
        return await tasks.next()
      }
      return try first?.get() ?? .notYet
    } catch {
      if !Task.isCancelled, VaultError(error).code != .notFound, isNews(VaultError(error).reason, of: name) {
        log.warning("a group can't be kept in step: \(VaultError(error).reason)")
      }
      return .failed
    }
  }

  /// Most reasons of a group that are remembered.
  private static let faultLimit = 16

  /// Whether the log doesn't have this reason yet since the group's last round that went well.
  private func isNews(_ reason: String, of name: String) -> Bool {
    state.withLock { state in
      if state.faults[name, default: []].count >= Self.faultLimit { state.faults[name] = [] }
      return state.faults[name, default: []].insert(reason).inserted
    }
  }

  private func noteSuccess(of name: String) {
    guard state.withLock({ $0.faults.removeValue(forKey: name) }) != nil else { return }
    log.info("group \((try? groups.facts.read(name))?.name ?? name) is kept in step again")
  }

  /// Writes what happens in a group into the log, and what its database or disk lacks not in each round anew.
  private func note(_ name: String) -> @Sendable (GrouperEvent) -> Void {
    let write = groups.note(name)
    return { [self] event in
      if case .storeFailed(let reason) = event, !isNews(reason, of: name) { return }
      write(event)
    }
  }
}

extension GroupRounds {
  /// One round, from opening the group to closing it.
  private func work(_ name: String, _ lock: GroupLock, isFirst: Bool) async -> Result<Outcome, VaultError> {
    do {
      return .success(
        try await groups.use(name, lock, tell: note(name)) { open -> Outcome in
          let report = try await self.groups.exchange(open, isFirst: isFirst, isHurried: false)
          let status = try await open.grouper.status()
          // What waits for a server that is away waits for that server's own time.
          let isHeldUp = status.servers.contains { $0.lastError != nil }
          let waiting = status.outbox.unsent + (isHeldUp ? 0 : status.outbox.parcels + status.unfinishedTasks)
          return .done(report, hasUnsent: waiting > 0)
        })
    } catch { return .failure(VaultError(error)) }
  }
}

/// By what it is noticed that a file was replaced.
private struct FileStamp: Hashable {
  private let inode: UInt64
  private let seconds: Int
  private let nanoseconds: Int

  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    inode = UInt64(status.st_ino)
    seconds = status.st_mtim.tv_sec
    nanoseconds = status.st_mtim.tv_nsec
  }
}
