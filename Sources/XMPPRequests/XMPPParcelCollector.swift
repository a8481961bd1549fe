/// Puts parcels together from their parts, whatever comes, in whatever order and how often.
///
/// It holds a bounded number of bytes and of parcels, for each sender and in all, and each for a bounded time. When a
/// part doesn't fit, the parcel that waits longest, of this sender or of all, makes room; its sender has no receipt
/// yet, and sends it again.
package struct XMPPParcelCollector: Sendable {
  package struct Limits: Sendable {
    /// Bytes of all senders, with ``partCost`` for each part.
    package var bytes: Int
    package var bytesOfSender: Int
    /// Parcels of one sender that aren't whole.
    package var parcelsOfSender: Int
    /// Parcels of all senders that aren't whole.
    package var parcels: Int
    /// Milliseconds that a parcel waits for its next part.
    package var patience: Double

    package init(
      bytes: Int = 64 << 20, bytesOfSender: Int = 24 << 20, parcelsOfSender: Int = 32, parcels: Int = 1024,
      patience: Double = 3_600_000
    ) {
      self.bytes = bytes
      self.bytesOfSender = bytesOfSender
      self.parcelsOfSender = parcelsOfSender
      self.parcels = parcels
      self.patience = patience
    }
  }

  package struct Parcel: Hashable, Sendable {
    /// The sender's name for it.
    package let id: String
    /// Who sent the part that made it whole.
    package let from: JID
    package let bytes: [UInt8]
    /// What a carrier said of it with the part that made it whole.
    package let carriage: XMPPCarriage?
  }

  /// Bytes that a part counts beside its own: what it takes to keep it, and more.
  package static let partCost = 512

  private struct Partial {
    let count: Int
    var parts: [Int: [UInt8]] = [:]
    /// With the cost of each part.
    var size = 0
    let order: UInt64
    var lastAt: Double
  }

  private struct Sender {
    var partials: [String: Partial] = [:]
    var size = 0
  }

  private let limits: Limits
  private var senders: [JID: Sender] = [:]
  private var counter: UInt64 = 0
  private var parcels = 0
  private var sweptAt: Double?

  /// Bytes that wait, with ``partCost`` for each part.
  package private(set) var size = 0

  package init(limits: Limits = Limits()) { self.limits = limits }

  /// Takes a part, at a time in milliseconds of a clock that never jumps. Returns the parcel if it is whole with it.
  package mutating func add(_ part: XMPPParcelPart, at now: Double = 0) -> Parcel? {
    guard part.count > 1 else {
      return Parcel(id: part.id, from: part.from, bytes: part.bytes, carriage: part.carriage)
    }
    sweep(at: now)
    let cost = part.bytes.count + Self.partCost
    // Nobody cuts a parcel into parts in which there is nothing.
    guard !part.bytes.isEmpty, cost <= limits.bytesOfSender, cost <= limits.bytes else { return nil }
    let sender = part.from.bare
    // Sent again in other pieces, for which the first ones are useless.
    if let old = senders[sender]?.partials[part.id], old.count != part.count { remove(part.id, of: sender) }
    makeRoom(for: cost, part.id, of: sender)
    counter &+= 1
    let old = senders[sender]?.partials[part.id]
    if old == nil { parcels += 1 }
    var partial = old ?? Partial(count: part.count, order: counter, lastAt: now)
    let change = cost - (partial.parts[part.number].map { $0.count + Self.partCost } ?? 0)
    partial.parts[part.number] = part.bytes
    partial.size += change
    partial.lastAt = now
    senders[sender, default: Sender()].partials[part.id] = partial
    senders[sender]?.size += change
    size += change
    guard partial.parts.count == partial.count else { return nil }
    remove(part.id, of: sender)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(partial.size)
    for number in 0..<partial.count { bytes += partial.parts[number] ?? [] }
    return Parcel(id: part.id, from: part.from, bytes: bytes, carriage: part.carriage)
  }

  private mutating func remove(_ id: String, of sender: JID) {
    guard let gone = senders[sender]?.partials.removeValue(forKey: id) else { return }
    senders[sender]?.size -= gone.size
    size -= gone.size
    parcels -= 1
    if senders[sender]?.partials.isEmpty == true { senders[sender] = nil }
  }

  private mutating func makeRoom(for cost: Int, _ id: String, of sender: JID) {
    while let own = senders[sender], let oldest = own.partials.min(by: { $0.value.order < $1.value.order }),
      own.size + cost > limits.bytesOfSender
        || (own.partials[id] == nil && own.partials.count >= limits.parcelsOfSender)
    {
      remove(oldest.key, of: sender)
    }
    while size + cost > limits.bytes || (senders[sender]?.partials[id] == nil && parcels >= limits.parcels) {
      var oldest: (order: UInt64, sender: JID, id: String)?
      for (sender, waiting) in senders {
        for (id, partial) in waiting.partials where oldest.map({ partial.order < $0.order }) ?? true {
          oldest = (partial.order, sender, id)
        }
      }
      guard let oldest else { return }
      remove(oldest.id, of: oldest.sender)
    }
  }

  /// Forgets what has waited for too long; looks for it now and then.
  private mutating func sweep(at now: Double) {
    if let sweptAt, now - sweptAt < limits.patience / 10 { return }
    sweptAt = now
    for (sender, waiting) in senders {
      for (id, partial) in waiting.partials where now - partial.lastAt > limits.patience { remove(id, of: sender) }
    }
  }
}
