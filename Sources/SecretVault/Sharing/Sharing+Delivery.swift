import PeerAuth
import ShamirKit
import Sodium
import Synchronization
import VaultProtocol
import VaultStore

extension Sharing {
  /// Milliseconds after which it is made to last longer.
  static let leaseRenewal: Int64 = 20 * 1000

  /// Tries each delivery once, many at a time, and notes what became of it.
  func deliver(_ entries: [OutboxRecord], events: @escaping @Sendable (ShareEvent) -> Void) async {
    let total = entries.reduce(UInt64(0)) { $0 + (fragmentSize($1) ?? 0) }
    let sent = ByteCounter()
    await withTaskGroup(of: Void.self) { group in
      var running = 0
      for entry in entries {
        if running == contactConcurrency {
          await group.next()
          running -= 1
        }
        running += 1
        group.addTask { [self] in
          var delivery = await deliver(entry, asking: { events(.asking(peer: $0, seconds: $1)) }) { count in
            events(.sending(done: sent.add(count), total: total))
          }
          if delivery == nil { delivery = await outcomeElsewhere(of: entry) }
          if let delivery { events(.delivery(delivery)) }
        }
      }
    }
  }

  private func fragmentSize(_ entry: OutboxRecord) -> UInt64? {
    guard let id = entry.entry.secretID, let index = entry.entry.index else { return nil }
    return (try? database.fragment(of: id, index: index)).flatMap { $0 }.map { UInt64(max(0, $0.byteCount)) }
  }

  /// One attempt. Nil if somebody else is at it.
  private func deliver(
    _ entry: OutboxRecord, asking: @escaping @Sendable (_ peer: String, _ seconds: UInt64) -> Void = { _, _ in },
    progress: @escaping @Sendable (Int) -> Void
  ) async -> Delivery? {
    let now = environment.now()
    let index = entry.entry.index ?? 0
    var name = "a peer"
    do {
      guard let peer = try database.peer(entry.entry.recipient),
        let id = entry.entry.secretID
      else { return nil }
      name = peer.name
      // Whoever has taken it since it was read has moved its time.
      let claimed = try database.claimDelivery(
        entry.id, at: max(now, entry.nextAttemptAt), retryAt: max(now, entry.nextAttemptAt) + OutboxRecord.lease)
      guard claimed else { return nil }
      let outcome: Result<Void, LinkFailure>
      do {
        let asker = try depositAsker(
          entry, id: id, index: index, asking: { asking(peer.name, $0) }, progress: progress)
        try await links.ask(asker, of: try directory.recipient(peer))
        outcome = .success(())
      } catch let failure as LinkFailure { outcome = .failure(failure) } catch {
        outcome = .failure(
          LinkFailure(.local, "can't be served: \(VaultError(error).reason)", hint: VaultError(error).hint))
      }
      return try settle(entry, peer, id, index, outcome)
    } catch {
      environment.log.error("a delivery could not be noted: \(VaultError(error).reason)")
      return Delivery(peer: name, index: index, state: .waiting, reason: VaultError(error).reason)
    }
  }

  /// What comes of a delivery that the daemon or another command is at: whoever shares wants to know. Nil if it is gone.
  private func outcomeElsewhere(of entry: OutboxRecord) async -> Delivery? {
    guard let peer = try? database.peer(entry.entry.recipient) else { return nil }
    let index = entry.entry.index ?? 0
    var before = entry
    while let now = try? database.delivery(entry.id) {
      let state: Delivery.State
      switch now.state {
      case .delivered: return Delivery(peer: peer.name, index: index, state: .delivered, reason: nil)
      case .refused: state = .refused
      case .cancelled: state = .cancelled
      case .waiting:
        // A taker's lease only grows, and its end is at most two leases ahead; a failed attempt notes why and when to try again.
        let hasFailed = now.nextAttemptAt < before.nextAttemptAt || now.lastError != before.lastError
        let left = now.nextAttemptAt - environment.now()
        if !hasFailed, (1...2 * OutboxRecord.lease).contains(left) {
          before = now
          do { try await environment.sleep(.milliseconds(200)) } catch { return nil }
          continue
        }
        guard hasFailed || left > 0 else {
          return Delivery(
            peer: peer.name, index: index, state: .waiting, reason: "another command was at it and has ended")
        }
        state = .unreachable
      }
      return Delivery(peer: peer.name, index: index, state: state, reason: now.lastError)
    }
    return nil
  }

  private func depositAsker(
    _ entry: OutboxRecord, id: [UInt8], index: Int, asking: @escaping @Sendable (UInt64) -> Void,
    progress: @escaping @Sendable (Int) -> Void
  ) throws -> DepositAsker {
    guard let record = try database.secret(id),
      let number = UInt8(exactly: index)
    else { throw VaultError(.damaged, "the secret of a waiting share is missing") }
    let header = try directory.header(of: record)
    let reader = try database.openFragment(of: id, index: index)
    let lease = Lease(of: entry.id, from: environment.now())
    var job = DepositAsker(
      header: header, index: number, sealedShare: entry.entry.payload,
      piece: { [self] stripe in
        try keep(lease)
        let plan = header.dispersal
        return try reader.read(at: Int64(clamping: plan.pieceOffset(stripe)), count: plan.pieceByteCount(stripe))
      },
      progress: progress)
    job.asking = { [self] seconds in
      if lease.isFirstWord() { asking(seconds) }
      try keep(lease)
    }
    job.introduction = try introductions.introductionAsker(beside: entry)
    return job
  }

  /// Makes a delivery's lease last while it gets on. Throws if there is nothing to deliver any more.
  private func keep(_ lease: Lease) throws {
    let now = environment.now()
    guard lease.isDue(at: now) else { return }
    let isWaiting: Bool
    do { isWaiting = try database.extendLease(lease.delivery, until: now + OutboxRecord.lease) } catch {
      // Worth no interruption: at worst somebody else tries the same, and is told that the holder is busy.
      environment.log.error("the lease of a delivery could not be extended: \(error)")
      return
    }
    guard isWaiting else { throw VaultError(.refused, "it was cancelled meanwhile") }
  }

  /// Notes what became of a delivery by the route of this name.
  func settle(
    _ entry: OutboxRecord, _ peer: PeerRecord, _ id: [UInt8], _ index: Int, _ outcome: Result<Void, LinkFailure>,
    route: String = "session"
  ) throws -> Delivery {
    let secret = try? database.secret(id)
    let header = try? secret.map { record in try self.directory.header(of: record) }
    switch outcome {
    case .success:
      try database.settleDelivered(entry.id, route: route)
      record(.delivered, peer: peer, secret: header)
      return Delivery(peer: peer.name, index: index, state: .delivered, reason: nil)
    case .failure(let failure):
      let isFinal = failure.refusal.map { !Self.passing.contains($0) } ?? false
      if isFinal {
        try database.settleRefused(entry.id, route: route, error: failure.reason)
      } else {
        let next = environment.now() + OutboxRecord.backoff(attempts: entry.attempts + 1)
        try database.postponeDelivery(entry.id, until: next, route: route, error: failure.reason)
      }
      record(.deliveryFailed, peer: peer, secret: header, detail: failure.reason)
      let isGone = (try? database.delivery(entry.id))?.state == .cancelled
      return Delivery(
        peer: peer.name, index: index,
        state: isGone ? .cancelled : isFinal || failure.kind == .unknownHere ? .refused : .unreachable,
        reason: failure.reason)
    }
  }

  /// Refusals that another attempt, or another way, may not meet.
  private static let passing: Set<RefusalReason> = [.busy, .diskFull, .internalFailure, .bluetoothLimit]

  /// Retries with backoff until the task is cancelled: the daemon's part.
  package func runOutbox() async {
    let running = RunningDeliveries()
    await withDiscardingTaskGroup { group in
      await runOutbox(&group, running)
      group.cancelAll()
    }
  }

  /// Whether secrets without a policy of their own are released by more than a proof; also if the settings can't be read.
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
      let now = environment.now()
      do {
        if now - cleanedAt > 3_600_000 {
          // Once an hour also where it fails: deliveries go on meanwhile.
          cleanedAt = now
          directory.note(takenUp: try database.clean(at: now).takenUp)
          completeIntroductions()
          // A clock that is set back later is found out by this. Where nothing is ever asked, no time matters.
          if try database.hasPolicies() || asksByDefault { try database.advanceConsentClock(to: now) }
        }
        try database.flushAudit()
        if now - prunedAt > 60_000 {
          // Peers may cause lines by the thousand.
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
          // Each by itself: a peer that takes its time holds up nobody else.
          group.addTask { [self] in
            if entry.entry.kind == DeliveryKind.introduction {
              await deliverIntroduction(entry)
            } else {
              _ = await deliver(entry) { _ in }
            }
            running.remove(entry.id)
          }
        }
      } catch {
        environment.log.error("the outbox can't be read: \(error)")
      }
      do { try await environment.sleep(.seconds(1)) } catch { return }
    }
  }

  /// How sharing stands now.
  func report(_ id: [UInt8], leftOut: [String]) throws -> ShareReport {
    guard let record = try database.secret(id) else {
      throw VaultError(.notFound, "secret \(hexadecimal(id)) is gone")
    }
    let deaf = try holdersThatListenNowhere(record)
    let hasAddress = try !core.ownCard().addresses.isEmpty
    let isOwnAddressUnknown = record.ownIndex != nil && !hasAddress
    return ShareReport(
      id: hexadecimal(record.id), description: record.description, threshold: record.threshold,
      shareCount: record.shareCount, keepsOwnShare: record.ownIndex != nil,
      deliveries: try deliveries(of: record, names: directory.peerNames()), leftOut: leftOut, sourceRemoved: false,
      sourceRemovalFailure: nil, listensNowhere: deaf, isOwnAddressUnknown: isOwnAddressUnknown,
      areHoldersIntroduced: try areIntroduced(record))
  }

  /// Whether the cards of all holders go with the shares of a secret that was dealt here, everybody who has a share has taken them, and by
  /// them all but one at most can be called on: addresses that only this device knows, and its radio, are of no use to the others.
  private func areIntroduced(_ record: SecretRecord) throws -> Bool {
    guard record.origin == .dealt, introductions.usesIntroductions, try directory.header(of: record).labels != nil
    else { return false }
    // One that takes none gives nothing to the others.
    guard try database.areHoldersTold(ofSecret: record.id) else {
      return false
    }
    let holders = try introductions.knownHolders(of: record)
    return holders.count == record.shareCount && holders.allSatisfy { $0.handedOn != nil }
      && holders.count { $0.card?.addresses.isEmpty != false } <= 1
  }

  /// Names of peers that got, or are to get, a share of a secret that was dealt here, and for whom this device knows no place to call.
  func holdersThatListenNowhere(_ record: SecretRecord) throws -> [String] {
    guard record.origin == .dealt else { return [] }
    let entries = try database.deliveries(ofSecret: record.id)
    var names: [String] = []
    for entry in entries where entry.state != .cancelled {
      guard let peer = try database.peer(entry.entry.recipient) else {
        continue
      }
      if try directory.listensNowhere(peer) { names.append(peer.name) }
    }
    return names
  }

}

/// Whose pauses were ended lately: a peer that calls again and again isn't dialled each time.
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

/// Deliveries that the daemon is at.
private final class RunningDeliveries: Sendable {
  private let ids = Mutex<Set<Int64>>([])

  var count: Int { ids.withLock { $0.count } }

  /// False if it is among them already.
  func insert(_ id: Int64) -> Bool { ids.withLock { $0.insert(id).inserted } }

  func remove(_ id: Int64) { ids.withLock { _ = $0.remove(id) } }
}

/// When the lease of a delivery in progress was last extended.
private final class Lease: Sendable {
  let delivery: Int64
  private let extendedAt: Mutex<Int64>
  private let hasAsked = Mutex(false)

  init(of delivery: Int64, from time: Int64) {
    self.delivery = delivery
    extendedAt = Mutex(time)
  }

  /// Whether the peer's user wasn't asked before in this delivery; counts as asked.
  func isFirstWord() -> Bool {
    hasAsked.withLock { hasAsked in
      defer { hasAsked = true }
      return !hasAsked
    }
  }

  /// Whether it is time to extend it; counts as done. A clock that was set back counts as time, too.
  func isDue(at now: Int64) -> Bool {
    extendedAt.withLock { last in
      guard !(0..<Sharing.leaseRenewal).contains(now - last) else { return false }
      last = now
      return true
    }
  }
}

/// Bytes sent over all deliveries.
final class ByteCounter: Sendable {
  private let total = Mutex<UInt64>(0)

  func add(_ count: Int) -> UInt64 {
    total.withLock {
      $0 += UInt64(count)
      return $0
    }
  }
}
