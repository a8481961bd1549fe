/// A part of a parcel: sealed bytes in an element of their own, in a message without a text.
public struct XMPPParcelPart: Hashable, Sendable {
  /// Most bytes in one stanza: servers take 256 kB of XML, and Base64 makes four characters of three bytes.
  public static let sizeLimit = 180_000
  /// Most parts of a parcel.
  public static let countLimit = 128
  /// Longest id in bytes.
  public static let idLimit = 128

  /// The sender's name for the parcel.
  public let id: String
  /// Who sent it.
  public let from: JID
  /// From zero.
  public let number: Int
  /// How many there are.
  public let count: Int
  /// What it carries.
  public let bytes: [UInt8]
  /// When it was first kept by a server; nil if it came at once.
  public let stamp: String?
}

extension XMPPParcelPart {
  static func isID(_ id: String) -> Bool {
    !id.isEmpty && id.utf8.count <= idLimit && id.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  /// How many parts `size` bytes make.
  static func parts(_ size: Int) -> Int { max(1, (size + sizeLimit - 1) / sizeLimit) }
}

/// Puts parcels together from their parts, whatever comes, in whatever order and how often.
///
/// It holds a bounded number of bytes for each sender and in all. When a part doesn't fit, the parcel of that sender
/// that waits longest makes room; its sender has no receipt yet, and sends it again.
public struct XMPPParcelCollector: Sendable {
  /// Bytes that wait at most: in all, and of one sender.
  public struct Limits: Sendable {
    /// Bytes of all senders.
    public var bytes: Int
    /// Bytes of one sender.
    public var bytesOfSender: Int
    /// Parcels of one sender that aren't whole.
    public var parcelsOfSender: Int

    /// Limits to hold to.
    public init(bytes: Int = 64 << 20, bytesOfSender: Int = 24 << 20, parcelsOfSender: Int = 32) {
      self.bytes = bytes
      self.bytesOfSender = bytesOfSender
      self.parcelsOfSender = parcelsOfSender
    }
  }

  /// A whole parcel.
  public struct Parcel: Hashable, Sendable {
    /// The sender's name for it.
    public let id: String
    /// Who sent the part that made it whole.
    public let from: JID
    /// All of it.
    public let bytes: [UInt8]
  }

  private struct Key: Hashable {
    let sender: JID
    let id: String
  }

  private struct Partial {
    let count: Int
    var parts: [Int: [UInt8]] = [:]
    var size = 0
    let order: UInt64
  }

  private let limits: Limits
  private var partials: [Key: Partial] = [:]
  private var counter: UInt64 = 0

  /// An empty one.
  public init(limits: Limits = Limits()) { self.limits = limits }

  /// Bytes that wait.
  public var size: Int { partials.values.reduce(0) { $0 + $1.size } }

  /// Takes a part. Returns the parcel if it is whole with it.
  public mutating func add(_ part: XMPPParcelPart) -> Parcel? {
    guard part.count > 1 else { return Parcel(id: part.id, from: part.from, bytes: part.bytes) }
    let key = Key(sender: part.from.bare, id: part.id)
    // Sent again in other pieces, for which the first ones are useless.
    if let old = partials[key], old.count != part.count { partials[key] = nil }
    guard part.bytes.count <= limits.bytesOfSender, part.bytes.count <= limits.bytes else { return nil }
    makeRoom(for: part.bytes.count, of: key)
    counter &+= 1
    var partial = partials[key] ?? Partial(count: part.count, order: counter)
    partial.size += part.bytes.count - (partial.parts[part.number]?.count ?? 0)
    partial.parts[part.number] = part.bytes
    guard partial.parts.count == partial.count else {
      partials[key] = partial
      return nil
    }
    partials[key] = nil
    var bytes: [UInt8] = []
    bytes.reserveCapacity(partial.size)
    for number in 0..<partial.count { bytes += partial.parts[number] ?? [] }
    return Parcel(id: part.id, from: part.from, bytes: bytes)
  }

  /// Forgets what waits of a sender, or of all.
  public mutating func forget(_ sender: JID? = nil) {
    partials = sender.map { sender in partials.filter { $0.key.sender != sender.bare } } ?? [:]
  }

  private mutating func makeRoom(for count: Int, of key: Key) {
    while true {
      let own = partials.filter { $0.key.sender == key.sender }
      let isFull =
        own.values.reduce(0) { $0 + $1.size } + count > limits.bytesOfSender
        || (partials[key] == nil && own.count >= limits.parcelsOfSender)
      let candidates = isFull ? own : size + count > limits.bytes ? partials : [:]
      guard let oldest = candidates.min(by: { $0.value.order < $1.value.order }) else { return }
      partials[oldest.key] = nil
      if oldest.key == key { return }
    }
  }
}
