package import ShamirKit
package import Sodium
package import WireCodec

/// Who shall hold a secret's shares from now on, and how many of them are needed. A person's yes counts for exactly
/// these bytes.
package struct Proposal: WireValue, Hashable, Sendable {
  package static let version: UInt8 = 1
  /// By how much its number may exceed its parent's.
  package static let numberLimit: UInt32 = 1000
  package static let nonceByteCount = 32
  package static let byteLimit = 200 + 255 * (1 + Joining.byteCount)

  package struct Row: Hashable, Sendable {
    /// Of the new share, and of its fragment.
    package let index: UInt8
    package let joining: Joining

    package init(index: UInt8, joining: Joining) { (self.index, self.joining) = (index, joining) }

    /// Whether it goes on under the index that its holder says it has.
    package var isKept: Bool { joining.index != 0 }
  }

  package let secret: SecretID
  /// The digest of the sharing that it changes.
  package let parent: Digest
  package let number: UInt32
  package let threshold: UInt8
  /// Ascending.
  package let rows: [Row]
  /// The card of who collects dealings.
  package let asker: Digest
  package let nonce: [UInt8]
  /// Milliseconds since 1970.
  package let expiresAt: Int64

  package init(
    secret: SecretID, parent: Digest, number: UInt32, threshold: UInt8, rows: [Row], asker: Digest, nonce: [UInt8],
    expiresAt: Int64
  ) {
    self.secret = secret
    self.parent = parent
    self.number = number
    self.threshold = threshold
    self.rows = rows
    self.asker = asker
    self.nonce = nonce
    self.expiresAt = expiresAt
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(Self.version)
    try secret.encode(into: &writer)
    try writer.bytes(parent.bytes)
    try writer.u32(number)
    try writer.u8(threshold)
    guard let count = UInt8(exactly: rows.count) else { throw .limitExceeded(field: "rows", limit: 255) }
    try writer.u8(count)
    for row in rows {
      try writer.u8(row.index)
      try row.joining.encode(into: &writer)
    }
    try writer.bytes(asker.bytes)
    try write(nonce, count: Self.nonceByteCount, "proposal nonce", into: &writer)
    guard let expires = UInt64(exactly: expiresAt) else { throw .invalidValue(field: "proposal expiry") }
    try writer.u64(expires)
  }

  package init(from reader: inout Reader) throws(WireError) {
    try reader.version(Self.version, "proposal version")
    secret = try SecretID(from: &reader)
    parent = try VaultProtocol.digest(from: &reader, "parent")
    number = try reader.u32("number")
    threshold = try reader.u8("threshold")
    rows = try values(Int(try reader.u8("rows")), from: &reader) { reader throws(WireError) in
      Row(index: try reader.u8("row"), joining: try Joining(from: &reader))
    }
    asker = try VaultProtocol.digest(from: &reader, "asker")
    nonce = try reader.bytes(Self.nonceByteCount, "proposal nonce")
    expiresAt = try time(from: &reader, "proposal expiry")
  }

  /// BLAKE2b-256("vault/proposal/v1", encoding).
  package func digest() throws(ProtocolError) -> Digest {
    do {
      var hash = try DomainHash("vault/proposal/v1")
      hash.append(try encoded())
      return hash.digest()
    } catch { throw ProtocolError(error, other: .foreignProposal("encoding")) }
  }

  /// Checks all that everybody can see: whether it changes this sharing, numbers, and that every row is kept by who has
  /// it or new. Returns the new scheme. Whether somebody new may come in is for each dealer to say.
  package func check(_ parent: Sharing, _ header: SecretHeader) throws(ProtocolError) -> ThresholdScheme {
    guard parent.secret == header.id, secret == header.id, self.parent == parent.digest else {
      throw .foreignProposal("parent")
    }
    guard number > parent.number, number - parent.number <= Self.numberLimit else { throw .foreignProposal("number") }
    let fragments = header.scheme.shareCount
    guard Int(threshold) >= header.dispersal.dataCount, Int(threshold) <= rows.count, rows.count <= fragments,
      let scheme = try? ThresholdScheme(threshold: Int(threshold), shareCount: fragments)
    else { throw .foreignProposal("threshold") }
    var last = 0
    var keys: Set<[UInt8]> = []
    for row in rows {
      guard Int(row.index) > last, Int(row.index) <= fragments else { throw .foreignProposal("index") }
      last = Int(row.index)
      let (joining, card) = (row.joining, row.joining.keys)
      guard joining.secret == secret else { throw .foreignProposal("joining") }
      for key in [card.signing, card.noise, card.box, joining.receivingKey] {
        guard keys.insert(key).inserted else { throw .foreignProposal("key") }
      }
      guard row.isKept else { continue }
      guard joining.index == row.index, parent.isHolder(card.digest, row.index, salt: joining.salt, header) else {
        throw .foreignProposal("row")
      }
    }
    return scheme
  }
}
