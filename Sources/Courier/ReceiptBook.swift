/// The recipient's word that a parcel arrived: everybody who sees it drops the parcel.
///
/// Who takes a receipt must be able to check ``proof`` without knowing the recipient; otherwise any carrier could have
/// parcels dropped everywhere. What does that: the id of a parcel is a hash of a secret inside it, so that only who has
/// opened the parcel can show what the id is the hash of. And a code under a second secret inside it, which only the
/// sender can check, covers ``branch``, so that no carrier can claim to have delivered. Both checks are the caller's.
package struct Receipt: Hashable, Sendable {
  static let proofLimit = 96

  package let id: ParcelKey
  /// The branch whose copy arrived first, or ``ParcelHeader/noBranch`` if it came from the sender itself.
  package let branch: UInt8
  /// When the parcel expires, and so when the receipt is worth nothing any more.
  package let expiresAt: Int64
  package let proof: [UInt8]

  package init?(id: ParcelKey, branch: UInt8, expiresAt: Int64, proof: [UInt8]) {
    guard branch <= ParcelHeader.noBranch, expiresAt > 0, proof.count <= Self.proofLimit else { return nil }
    (self.id, self.branch, self.expiresAt, self.proof) = (id, branch, expiresAt, proof)
  }
}

/// The receipts that a device passes on, until their parcels have expired.
///
/// At most ``limit``. When it is full, whoever gave most loses the ones that expire first, as in ``Satchel``: receipts
/// of parcels that somebody makes up push out their own.
package struct ReceiptBook: Sendable {
  package static let limit = 4096
  /// Most that a device is told in a meeting of parcels that it doesn't carry.
  static let newestLimit = 32
  /// Of these, how many of this device's own come first.
  static let ownLimit = 24
  /// Of these, how many of one giver come before those of others.
  static let giverLimit = 8

  struct Entry: Hashable, Sendable {
    let receipt: Receipt
    let from: DeviceKey
  }

  struct Learning: Hashable, Sendable {
    let id: ParcelKey
    let from: DeviceKey
    let learnedAt: Int64
  }

  var entries: [ParcelKey: Entry] = [:]
  /// All in the order in which they were learned.
  var order: [Learning] = []
  var counts: [DeviceKey: Int] = [:]
  /// No receipt expires before this.
  var soonest = Int64.max
  /// This device: what it confirms itself is nobody's flood.
  var own: DeviceKey?

  package var count: Int { entries.count }

  package subscript(id: ParcelKey) -> Receipt? { entries[id]?.receipt }

  /// Keeps a receipt that `from` gave; returns whether it is new.
  mutating func learn(_ receipt: Receipt, from: DeviceKey, at now: Int64) -> Bool {
    let latest = now.addingReportingOverflow(ParcelHeader.longest)
    guard receipt.expiresAt > now, latest.overflow || receipt.expiresAt <= latest.partialValue else { return false }
    guard entries[receipt.id] == nil else { return false }
    if entries.count >= Self.limit { removeExpired(at: now) }
    if entries.count >= Self.limit {
      // This device's own have half the room to themselves.
      let others = counts.filter { $0.key != own || $0.value > Self.limit / 2 }
      guard let heaviest = others.max(by: { ($0.value, $0.key) < ($1.value, $1.key) }) else { return false }
      let isFair = from == own && counts[from, default: 0] <= Self.limit / 2
      guard isFair || heaviest.key == from || heaviest.value > counts[from, default: 0] else { return false }
      dropSome(of: heaviest.key, heaviest.value)
    }
    counts[from, default: 0] += 1
    entries[receipt.id] = Entry(receipt: receipt, from: from)
    order.append(Learning(id: receipt.id, from: from, learnedAt: now))
    soonest = min(soonest, receipt.expiresAt)
    if order.count > 2 * Self.limit { compact() }
    return true
  }

  mutating func removeExpired(at now: Int64) {
    guard soonest <= now else { return }
    for (id, entry) in entries where entry.receipt.expiresAt <= now { remove(id) }
    soonest = entries.values.reduce(Int64.max) { min($0, $1.receipt.expiresAt) }
    compact()
  }

  /// What to tell `device`, which carries `ids`: the receipts of those, then the newest that were learned since
  /// `since`, but from others: this device's own first, then some of each giver, so that nobody can drown out others.
  func toTell(_ device: DeviceKey, _ ids: [ParcelKey], since: Int64) -> [Receipt] {
    var told: [Receipt] = []
    var matching: Set<ParcelKey> = []
    // Of one parcel there may be several copies.
    for id in ids.prefix(Greeting.idLimit) where !matching.contains(id) {
      if let entry = entries[id] {
        told.append(entry.receipt)
        matching.insert(id)
      }
    }
    let room = min(Self.newestLimit, Greeting.idLimit - told.count)
    var mine: [Receipt] = []
    var others: [Receipt] = []
    var rest: [Receipt] = []
    var counts: [DeviceKey: Int] = [:]
    for learning in order.reversed() {
      guard learning.learnedAt >= since else { break }
      guard learning.from != device, let receipt = entries[learning.id]?.receipt, !matching.contains(receipt.id) else {
        continue
      }
      let isMine = learning.from == own
      if isMine, mine.count < Self.ownLimit {
        mine.append(receipt)
      } else if !isMine, counts[learning.from, default: 0] < Self.giverLimit, others.count < room {
        counts[learning.from, default: 0] += 1
        others.append(receipt)
      } else if rest.count < room {
        rest.append(receipt)
      }
    }
    return told + (mine + others + rest).prefix(max(0, room))
  }

  private mutating func remove(_ id: ParcelKey) {
    guard let entry = entries.removeValue(forKey: id) else { return }
    let left = counts[entry.from, default: 1] - 1
    counts[entry.from] = left > 0 ? left : nil
  }

  private mutating func dropSome(of giver: DeviceKey, _ count: Int) {
    let own = entries.values.filter { $0.from == giver }
      .sorted { ($0.receipt.expiresAt, $0.receipt.id) < ($1.receipt.expiresAt, $1.receipt.id) }
    for entry in own.prefix(max(1, count / 8)) { remove(entry.receipt.id) }
    compact()
  }

  private mutating func compact() { order.removeAll { entries[$0.id] == nil } }
}
