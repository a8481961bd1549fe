package import PeerAuth
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
  package static let byteLimit = byteCount(255)

  private static func byteCount(_ rows: Int) -> Int {
    1 + SecretID.byteCount + Digest.byteCount + 4 + 1 + 1 + rows * (1 + Joining.byteCount) + 96 + nonceByteCount + 8
      + Ed25519.signatureByteCount
  }

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
  /// Who collects dealings, and has signed it.
  package let asker: CardKeys
  package let nonce: [UInt8]
  /// Milliseconds since 1970.
  package let expiresAt: Int64
  package let signature: [UInt8]

  package static func sign(
    parent: Epoch, number: UInt32, threshold: UInt8, rows: [Row], expiresAt: Int64, by asker: Identity
  ) throws(ProtocolError) -> Proposal {
    do {
      var proposal = Proposal(
        secret: parent.secret, parent: parent.digest, number: number, threshold: threshold,
        rows: rows.sorted { $0.index < $1.index }, asker: asker.keys, nonce: try Randomness.bytes(nonceByteCount),
        expiresAt: expiresAt, signature: [])
      proposal = proposal.signed(with: try asker.sign(proposal.digest()))
      return try decode(proposal.encoded(), limit: byteLimit)
    } catch { throw ProtocolError(error, other: .foreignProposal("encoding")) }
  }

  init(
    secret: SecretID, parent: Digest, number: UInt32, threshold: UInt8, rows: [Row], asker: CardKeys, nonce: [UInt8],
    expiresAt: Int64, signature: [UInt8]
  ) {
    self.secret = secret
    self.parent = parent
    self.number = number
    self.threshold = threshold
    self.rows = rows
    self.asker = asker
    self.nonce = nonce
    self.expiresAt = expiresAt
    self.signature = signature
  }

  func signed(with signature: [UInt8]) -> Proposal {
    Proposal(
      secret: secret, parent: parent, number: number, threshold: threshold, rows: rows, asker: asker, nonce: nonce,
      expiresAt: expiresAt, signature: signature)
  }

  package var encodedByteCount: Int { Self.byteCount(rows.count) }

  package func encode(into writer: inout Writer) throws(WireError) {
    try encodeUnsigned(into: &writer)
    try write(signature, count: Ed25519.signatureByteCount, "proposal signature", into: &writer)
  }

  private func encodeUnsigned(into writer: inout Writer) throws(WireError) {
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
    try asker.encode(into: &writer)
    try write(nonce, count: Self.nonceByteCount, "proposal nonce", into: &writer)
    guard (0...Parcel.timeLimit).contains(expiresAt) else { throw .invalidValue(field: "proposal expiry") }
    try writer.u64(UInt64(expiresAt))
  }

  /// Reads, and verifies the asker's signature and those of the rows.
  package init(from reader: inout Reader) throws(WireError) {
    try reader.version(Self.version, "proposal version")
    secret = try SecretID(from: &reader)
    parent = try VaultProtocol.digest(from: &reader, "parent")
    number = try reader.u32("number")
    threshold = try reader.u8("threshold")
    rows = try values(Int(try reader.u8("rows")), from: &reader) { reader throws(WireError) in
      Row(index: try reader.u8("row"), joining: try Joining(from: &reader))
    }
    asker = try CardKeys(from: &reader)
    nonce = try reader.bytes(Self.nonceByteCount, "proposal nonce")
    expiresAt = try time(from: &reader, "proposal expiry")
    signature = try reader.bytes(Ed25519.signatureByteCount, "proposal signature")
    guard let signed = try? digest(), (try? Ed25519.verify(signature, of: signed, by: asker.signing)) != nil else {
      throw .invalidValue(field: "proposal signature")
    }
  }

  /// BLAKE2b-256("vault/proposal/v1", the encoding without the signature).
  package func digest() throws(ProtocolError) -> Digest {
    do {
      var hash = try DomainHash("vault/proposal/v1")
      hash.append(
        try publicBytes(count: encodedByteCount - Ed25519.signatureByteCount) { writer throws(WireError) in
          try encodeUnsigned(into: &writer)
        })
      return hash.digest()
    } catch { throw ProtocolError(error, other: .foreignProposal("encoding")) }
  }

  /// Checks all that everybody can see: whether it changes this sharing, numbers, and that every row is kept by who has
  /// it or new. Returns the new scheme. Whether somebody new may come in is for each dealer to say.
  package func check(_ parent: Epoch) throws(ProtocolError) -> ThresholdScheme {
    let header = parent.header
    guard secret == header.id, self.parent == parent.digest else {
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
      guard joining.index == row.index, parent.isHolder(card.digest, row.index, salt: joining.salt) else {
        throw .foreignProposal("row")
      }
    }
    return scheme
  }
}
