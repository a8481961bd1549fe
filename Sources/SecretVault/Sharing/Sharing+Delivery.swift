import ShamirKit
import Synchronization
import VaultProtocol
import VaultStore

extension Sharing {
  /// Milliseconds after which a lease is extended.
  static let leaseRenewal: Int64 = 20 * 1000

  /// Tries each delivery once, many at a time.
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

  /// One attempt. Nil if another program is at it.
  func deliver(
    _ entry: OutboxRecord, asking: @escaping @Sendable (_ peer: String, _ seconds: UInt64) -> Void = { _, _ in },
    progress: @escaping @Sendable (Int) -> Void
  ) async -> Delivery? {
    let now = environment.now()
    let index = entry.entry.index ?? 0
    var name = "a peer"
    do {
      guard let peer = try database.peer(entry.entry.recipient), let id = entry.entry.secretID else { return nil }
      name = peer.name
      // Another program that has claimed it since has moved its time.
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

  /// What comes of a delivery that the daemon or another command is at. Nil if it is gone.
  private func outcomeElsewhere(of entry: OutboxRecord) async -> Delivery? {
    guard let peer = try? database.peer(entry.entry.recipient) else { return nil }
    let index = entry.entry.index ?? 0
    var before = entry
    var seen = core.pulse.count
    while let now = try? database.delivery(entry.id) {
      let state: Delivery.State
      switch now.state {
      case .delivered: return Delivery(peer: peer.name, index: index, state: .delivered, reason: nil)
      case .refused: state = .refused
      case .cancelled: state = .cancelled
      case .waiting:
        // A lease in use only grows, and ends at most two leases ahead; a failed attempt notes why and when to try again.
        let hasFailed = now.nextAttemptAt < before.nextAttemptAt || now.lastError != before.lastError
        let left = now.nextAttemptAt - environment.now()
        if !hasFailed, (1...2 * OutboxRecord.lease).contains(left) {
          before = now
          do { try await core.wait(since: seen, atMost: .milliseconds(left), isHurried: true) } catch { return nil }
          seen = core.pulse.count
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
    _ entry: OutboxRecord, id: SecretID, index: Int, asking: @escaping @Sendable (UInt64) -> Void,
    progress: @escaping @Sendable (Int) -> Void
  ) throws -> DepositAsker {
    guard let record = try database.secret(id), let number = UInt8(exactly: index) else {
      throw VaultError(.damaged, "the secret of a waiting share is missing")
    }
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

  /// Extends a lease while the delivery makes progress. Throws if it was cancelled.
  private func keep(_ lease: Lease) throws {
    let now = environment.now()
    guard lease.isDue(at: now) else { return }
    let isWaiting: Bool
    do { isWaiting = try database.extendLease(lease.delivery, until: now + OutboxRecord.lease) } catch {
      // No reason to stop: at worst another program tries the same, and hears that the holder is busy.
      environment.log.error("the lease of a delivery could not be extended: \(error)")
      return
    }
    guard isWaiting else { throw VaultError(.refused, "it was cancelled meanwhile") }
  }

  /// Notes the outcome of a delivery by this route.
  func settle(
    _ entry: OutboxRecord, _ peer: PeerRecord, _ id: SecretID, _ index: Int, _ outcome: Result<Void, LinkFailure>,
    route: String = "session"
  ) throws -> Delivery {
    let secret = try? database.secret(id)
    let header = try? secret.map { record in try directory.header(of: record) }
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

  /// Refusals that may pass.
  private static let passing: Set<RefusalReason> = [.busy, .diskFull, .internalFailure, .bluetoothLimit]
}

/// The lease of a delivery in progress.
private final class Lease: Sendable {
  let delivery: Int64
  private let extendedAt: Mutex<Int64>
  private let hasAsked = Mutex(false)

  init(of delivery: Int64, from time: Int64) {
    self.delivery = delivery
    extendedAt = Mutex(time)
  }

  /// Whether the peer's user wasn't asked before; counts as asked.
  func isFirstWord() -> Bool {
    hasAsked.withLock { hasAsked in
      defer { hasAsked = true }
      return !hasAsked
    }
  }

  /// Whether it is to be extended, or the clock was set back; counts as extended.
  func isDue(at now: Int64) -> Bool {
    extendedAt.withLock { last in
      guard !(0..<Sharing.leaseRenewal).contains(now - last) else { return false }
      last = now
      return true
    }
  }
}

final class ByteCounter: Sendable {
  private let total = Mutex<UInt64>(0)

  func add(_ count: Int) -> UInt64 {
    total.withLock {
      $0 += UInt64(count)
      return $0
    }
  }
}
