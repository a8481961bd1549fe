import Sodium
import Synchronization
import VaultStore

extension Sharing {
  /// Between two looks at the outbox while something waits there.
  private static let pause = Duration.seconds(1)

  /// Retries with backoff until the task is cancelled: the daemon's part.
  package func runOutbox() async {
    let running = RunningDeliveries()
    await withDiscardingTaskGroup { group in
      group.addTask { [self] in await keepLog() }
      await runOutbox(&group, running)
      group.cancelAll()
    }
  }

  /// Commits lines of the audit log a moment late, so that many have one commit.
  private func keepLog() async {
    while true {
      let seen = database.auditPulse.count
      do {
        try database.flushAudit()
        try await database.auditPulse.wait(since: seen)
      } catch let error as StoreError { environment.log.error("the audit log can't be written: \(error)") } catch {
        return
      }
      do { try await environment.sleep(.seconds(1)) } catch { return }
    }
  }

  /// Whether secrets without an own policy need more than a proof to be released; true if the settings can't be read.
  private var asksByDefault: Bool {
    let values = try? core.settingsFile.load()
    let usual = SettingKey.releasePolicy.defaultValue
    return values.map { $0[SettingKey.releasePolicy.rawValue] ?? usual } != usual
  }

  private func runOutbox(_ group: inout DiscardingTaskGroup, _ running: RunningDeliveries) async {
    var cleanedAt: Int64 = 0
    var prunedAt = environment.now()
    var lookedAt = prunedAt
    var pauses = ReturningPeers()
    while !Task.isCancelled {
      let seen = core.pulse.count
      let now = environment.now()
      var pause: Duration?
      do {
        if now - cleanedAt > 3_600_000 {
          // Once an hour even if it fails: deliveries go on meanwhile.
          cleanedAt = now
          directory.note(takenUp: try database.clean(at: now).takenUp)
          completeIntroductions()
          // Detects a clock that is set back later. Where consent is never asked, no time matters.
          if try database.hasPolicies() || asksByDefault { try database.advanceConsentClock(to: now) }
        }
        if now - prunedAt > 60_000 {
          // Peers may cause thousands of lines.
          try database.pruneAuditLog(keeping: VaultDatabase.auditLineLimit)
          prunedAt = now
        }
        if now - lookedAt > 5000 {
          database.emptyIdleLog()
          lookedAt = now
        }
        try database.cancelOrphanedDeliveries()
        for peer in carrying.memory.takeReturned() where pauses.ends(for: peer, at: environment.monotonic()) {
          try database.makeDue(recipient: peer, at: now, unlessBy: now + 2 * OutboxRecord.lease)
        }
        for entry in try database.dueDeliveries(at: now, limit: contactConcurrency - running.count) {
          guard running.insert(entry.id) else { continue }
          // Each in its own task: a slow peer holds up nobody else.
          group.addTask { [self] in
            if entry.entry.kind == DeliveryKind.introduction {
              await deliverIntroduction(entry)
            } else {
              _ = await deliver(entry) { _ in }
            }
            running.remove(entry.id)
          }
        }
        if try database.hasWaitingDeliveries() { pause = Self.pause }
      } catch {
        environment.log.error("the outbox can't be read: \(error)")
      }
      do { try await core.wait(since: seen, atMost: pause) } catch { return }
    }
  }
}

/// Peers whose pauses were ended lately: one that calls again and again isn't dialled each time.
struct ReturningPeers {
  /// Milliseconds until the pauses for a peer end once more.
  static let pause = 30_000.0
  private static let limit = 4096
  private var endedAt: [Digest: Double] = [:]

  mutating func ends(for peer: Digest, at now: Double) -> Bool {
    if let last = endedAt[peer], now - last < Self.pause { return false }
    if endedAt.count >= Self.limit { endedAt = endedAt.filter { now - $0.value < Self.pause } }
    guard endedAt.count < Self.limit else { return false }
    endedAt[peer] = now
    return true
  }
}

private final class RunningDeliveries: Sendable {
  private let ids = Mutex<Set<Int64>>([])

  var count: Int { ids.withLock { $0.count } }

  /// False if it is in progress already.
  func insert(_ id: Int64) -> Bool { ids.withLock { $0.insert(id).inserted } }

  func remove(_ id: Int64) { ids.withLock { _ = $0.remove(id) } }
}
