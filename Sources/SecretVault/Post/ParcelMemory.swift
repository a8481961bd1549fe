import Sodium
import Synchronization
import VaultProtocol
import VaultStore

/// What one process remembers of parcels. Losing it does no harm.
final class ParcelMemory: Sendable {
  /// When a parcel that waits for the user is looked at again, and why it waits.
  struct Wait: Hashable, Sendable {
    let reason: Reason
    /// At most, in milliseconds.
    let time: Int64
    /// In milliseconds since 1970.
    let until: Int64
  }

  /// What the user may change while a parcel waits.
  struct Reason: Hashable, Sendable {
    let deposit: RequestRecord?
    let release: RequestRecord?
    let policy: ReleasePolicy?
    let asksAboutDeposits: Bool
  }

  /// To whom receipts are owed, and whether they may go by servers, as their parcels did.
  struct Owed: Hashable, Sendable {
    let peer: Digest
    let usesServers: Bool
  }

  fileprivate struct OwedParcel: Hashable {
    let id: ParcelID
    let usesServers: Bool
  }

  fileprivate struct Mailboxes {
    let tags: Set<[UInt8]>
    let readAt: Double
  }

  fileprivate struct State {
    var groups: [[UInt8]: [UInt8]] = [:]
    var mailboxes: [[UInt8]: Mailboxes] = [:]
    var waits: [ParcelID: Wait] = [:]
    var told: Set<ParcelID> = []
    var sweptAt = -Double.infinity
    var unfit: Set<Int64> = []
    var isAnswering = false
    /// Whether somebody wants it who came while this process was at it.
    var isWanted = false
    var owed: [Owed: [ParcelReceipt]] = [:]
    /// When receipts were last owed.
    var owedAt: [OwedParcel: Double] = [:]
    var patience = 0
  }

  /// Milliseconds after which mailboxes are read again: other programs note them, too.
  private static let mailboxTime = 15_000.0
  /// Milliseconds after which expired parcels are looked for again.
  private static let sweepTime = 600_000.0
  /// Most groups and parcels that are remembered.
  fileprivate static let limit = 4096

  private let state = Mutex(State())
  private let paying = Mutex(())

  // MARK: - Groups

  /// By their folders.
  var groups: [[UInt8]: [UInt8]] { state.withLock { $0.groups } }

  func note(group: [UInt8], in folder: [UInt8]) {
    state.withLock { state in
      guard state.groups.count < Self.limit || state.groups[folder] != nil else { return }
      state.groups[folder] = group
    }
  }

  func mailboxes(
    in folder: [UInt8], at now: Double, read: () throws(StoreError) -> Set<[UInt8]>
  ) throws(StoreError) -> Set<[UInt8]> {
    let known = state.withLock { $0.mailboxes[folder] }
    if let known, now - known.readAt < Self.mailboxTime { return known.tags }
    let tags = try read()
    state.withLock { $0.mailboxes[folder] = Mailboxes(tags: tags, readAt: now) }
    return tags
  }

  func forgetMailboxes(in folder: [UInt8]) { state.withLock { $0.mailboxes[folder] = nil } }

  func forgetGroup(in folder: [UInt8]) {
    state.withLock { state in
      state.groups[folder] = nil
      state.mailboxes[folder] = nil
    }
  }

  // MARK: - Waiting

  func wait(of id: ParcelID) -> Wait? { state.withLock { $0.waits[id] } }

  func set(_ wait: Wait?, of id: ParcelID) {
    state.withLock { state in
      if state.waits.count >= Self.limit { state.waits.removeAll() }
      state.waits[id] = wait
    }
  }

  /// Begins answering; false if this process is at it, which then looks once more.
  func beginAnswering() -> Bool {
    state.withLock { state in
      state.isWanted = true
      defer { state.isAnswering = true }
      return !state.isAnswering
    }
  }

  /// Whether somebody has wanted parcels to be looked at since it was asked last. If not, answering has ended.
  func looksAgain() -> Bool {
    state.withLock { state in
      defer { state.isWanted = false }
      state.isAnswering = state.isWanted
      return state.isWanted
    }
  }

  func endAnswering() { state.withLock { $0.isAnswering = false } }

  /// Whether this parcel wasn't reported yet; counts as reported.
  func isNews(_ id: ParcelID) -> Bool {
    state.withLock { state in
      if state.told.count >= Self.limit { state.told.removeAll() }
      return state.told.insert(id).inserted
    }
  }

  /// Whether expired parcels have to be looked for; counts as done.
  func isSweepDue(at now: Double) -> Bool {
    state.withLock { state in
      guard now - state.sweptAt >= Self.sweepTime else { return false }
      state.sweptAt = now
      return true
    }
  }

  /// Whether no parcel could be made of this delivery.
  func isUnfit(_ delivery: Int64) -> Bool { state.withLock { $0.unfit.contains(delivery) } }

  func noteUnfit(_ delivery: Int64) {
    state.withLock { state in
      if state.unfit.count >= Self.limit { state.unfit.removeAll() }
      state.unfit.insert(delivery)
    }
  }

  // MARK: - Receipts

  /// Does nothing if the same parcel came the same way shortly before.
  func owe(_ receipt: ParcelReceipt, to peer: Owed, at now: Double) {
    state.withLock { state in
      let parcel = OwedParcel(id: receipt.id, usesServers: peer.usesServers)
      if let last = state.owedAt[parcel], now - last < ParcelTimes.receiptRepetition { return }
      if state.owedAt.count >= Self.limit { state.owedAt.removeAll() }
      state.owedAt[parcel] = now
      guard state.owed.count < Self.limit || state.owed[peer] != nil, state.owed[peer, default: []].count < Self.limit
      else { return }
      state.owed[peer, default: []].append(receipt)
    }
  }

  var owed: [Owed: [ParcelReceipt]] { state.withLock { $0.owed } }

  /// Hands what is owed to each peer to `say`, at most as much as one parcel holds. It is owed until `say` returns true.
  func payOwed(_ say: (Owed, [ParcelReceipt]) -> Bool) {
    paying.withLock { _ in
      for (peer, all) in owed {
        let receipts = Array(all.prefix(MessageReceipts.countLimit))
        guard say(peer, receipts) else { continue }
        state.withLock { state in
          state.owed[peer]?.removeFirst(receipts.count)
          if state.owed[peer]?.isEmpty == true { state.owed[peer] = nil }
        }
      }
    }
  }

  // MARK: - Patience

  /// Whether somebody waits for shares: then they are asked for by parcel, too.
  var isPatient: Bool { state.withLock { $0.patience > 0 } }

  func beginPatience() { state.withLock { $0.patience += 1 } }

  func endPatience() { state.withLock { $0.patience -= 1 } }
}
