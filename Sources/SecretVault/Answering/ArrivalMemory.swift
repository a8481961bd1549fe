import Sodium
import Synchronization
import VaultProtocol
import VaultStore

/// What this process has hashed of what arrives from peers, so that an attempt that is taken up again goes on where the last one ended. What has
/// to be read anew counts against the peer, for whom asking again costs nothing.
final class ArrivalMemory: Sendable {
  /// What arrives, from whom.
  struct Name: Hashable {
    let peer: Digest
    let id: [UInt8]
    /// A fragment's number; 0 for an item.
    let index: Int
    /// A secret's header digest, an item's header.
    let header: [UInt8]
  }

  /// The hashes of the pieces that are there.
  enum Hashed {
    case fragment(DepositReceiver, LeafList)
    case item(DigestBox)
  }

  /// An item's digest on its way from one attempt to the next.
  final class DigestBox: @unchecked Sendable {
    private var digest: ItemDigest?

    init(_ digest: consuming ItemDigest) { self.digest = consume digest }

    func take() -> ItemDigest? { digest.take() }
  }

  /// Attempts of one peer that are remembered, and of all.
  private static let limits = (ofPeer: 4, all: 64)
  /// Whole items of peers whose digests are remembered.
  private static let wholeLimit = 1024
  /// Bytes that a peer may have read anew in an hour. The first time may be more, as what can't be taken up is worth nothing.
  static let rereadLimit: UInt64 = 4 << 30
  private static let hour = 3_600_000.0

  private struct Entry {
    let hashed: Hashed
    let mark: FileMark
    let order: UInt64
  }

  private struct State {
    var entries: [Name: Entry] = [:]
    var order: UInt64 = 0
    var whole: [[UInt8]: (receivedAt: Int64, digest: Digest)] = [:]
    var reread: [Digest: (since: Double, byteCount: UInt64)] = [:]
  }

  private let state = Mutex(State())

  /// What was hashed of this, once, if its file is as it was left.
  func take(_ name: Name, _ mark: FileMark) -> Hashed? {
    state.withLock { state in
      guard let entry = state.entries.removeValue(forKey: name), entry.mark == mark else { return nil }
      return entry.hashed
    }
  }

  /// Remembers what was hashed of a file that is left like this.
  func keep(_ hashed: Hashed, _ name: Name, _ mark: FileMark) {
    state.withLock { state in
      state.entries[name] = nil
      let others = state.entries.filter { $0.key.peer == name.peer }
      let crowd = others.count >= Self.limits.ofPeer ? others : state.entries
      if others.count >= Self.limits.ofPeer || crowd.count >= Self.limits.all,
        let oldest = crowd.min(by: { $0.value.order < $1.value.order })
      {
        state.entries[oldest.key] = nil
      }
      state.order += 1
      state.entries[name] = Entry(hashed: hashed, mark: mark, order: state.order)
    }
  }

  /// The digest of an item that came at this time and is whole, if it is known.
  func digest(ofItem id: [UInt8], receivedAt: Int64) -> Digest? {
    state.withLock { state in state.whole[id].flatMap { $0.receivedAt == receivedAt ? $0.digest : nil } }
  }

  func note(_ digest: Digest, ofItem id: [UInt8], receivedAt: Int64) {
    state.withLock { state in
      if state.whole.count >= Self.wholeLimit, state.whole[id] == nil { state.whole.removeAll() }
      state.whole[id] = (receivedAt, digest)
    }
  }

  /// Bytes that were read anew for a peer in the hour that began last.
  func rereadByteCount(for peer: Digest) -> UInt64 { state.withLock { $0.reread[peer]?.byteCount ?? 0 } }

  /// Whether so many bytes may be read and hashed anew for this peer now; if so they count.
  func mayReread(_ byteCount: UInt64, for peer: Digest, at now: Double) -> Bool {
    state.withLock { state in
      var spent = state.reread[peer] ?? (since: now, byteCount: 0)
      if now - spent.since >= Self.hour { spent = (now, 0) }
      let (sum, overflow) = spent.byteCount.addingReportingOverflow(byteCount)
      guard spent.byteCount == 0 || !overflow && sum <= Self.rereadLimit else { return false }
      state.reread[peer] = (spent.since, overflow ? .max : sum)
      return true
    }
  }
}

/// Leaf hashes of an arriving fragment, up to a limit of memory.
struct LeafList {
  /// 8 MiB of hashes: a fragment of 16 GiB in pieces of 64 KiB.
  static let limit = (8 << 20) / Digest.byteCount
  private(set) var bytes: [UInt8] = []
  private(set) var isComplete = true

  /// Most bytes of it that are remembered between two attempts: a fragment of 2 GiB.
  private static let rememberedLimit = 1 << 20

  /// What is worth the memory while nothing arrives; without it the fragment is read again once, when it is whole.
  var remembered: LeafList {
    guard bytes.count > Self.rememberedLimit else { return self }
    var list = LeafList()
    list.isComplete = false
    return list
  }

  mutating func append(_ leaf: Digest) {
    guard isComplete else { return }
    guard bytes.count < Self.limit * Digest.byteCount else {
      isComplete = false
      bytes = []
      return
    }
    bytes += leaf.bytes
  }
}
