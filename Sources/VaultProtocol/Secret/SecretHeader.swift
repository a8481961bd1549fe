package import PeerAuth
package import ShamirKit
package import Sodium
package import WireCodec

/// The public description of a dealt secret, signed by its dealer and given to every holder with its share.
///
/// It fixes who may hold what: the commitments check every key share, the roots every piece of ciphertext, the rows
/// every holder. Its id follows from the dealer's key and a nonce, so nobody else can make a header for it.
package struct SecretHeader: Hashable, Sendable {
  /// Most bytes of an encoded header.
  package static let byteLimit = 65536
  package static let descriptionByteLimit = 1024
  package static let labelByteLimit = 128
  package static let version: UInt8 = 1
  /// Suite 1: ristretto255 Pedersen sharing, BLAKE2b-256, XSalsa20-Poly1305 STREAM, Cauchy Reed–Solomon over GF(2^8).
  package static let suite: UInt8 = 1
  package static let nonceByteCount = 16

  package let dealerKey: [UInt8]
  /// 16 bytes that make the id unique.
  package let nonce: [UInt8]
  /// What kind of thing is inside (PayloadKind's number).
  package let kind: UInt8
  /// Threshold and number of shares.
  package let scheme: ThresholdScheme
  /// Milliseconds since 1970, by the dealer's clock.
  package let createdAt: Int64
  /// Cutting of the ciphertext; its data count is the threshold.
  package let dispersal: DispersalPlan
  /// In clear; empty if none.
  package let description: String
  /// Names of the holders in order of index, or nil. The dealer's hints: they select nothing.
  package let labels: [String]?
  /// Commitments to the sharing polynomials.
  package let commitments: Commitments
  /// Merkle roots of the fragments, in order of index.
  package let roots: [Digest]
  /// Holder rows, in order of index.
  package let rows: [Digest]
  package let extensions: Extensions
  /// The dealer's signature over ``digest``.
  package let signature: [UInt8]

  /// First 16 bytes of BLAKE2b-256("vault/secret-id/v1", dealer key, nonce).
  package let id: SecretID
  /// BLAKE2b-256("vault/header/v1", encoding without the signature).
  package let digest: Digest

  /// The canonical encoding, signature included.
  package let bytes: [UInt8]

  /// What a dealer decides; the rest follows.
  package struct Content: Sendable {
    /// 16 fresh random bytes.
    package var nonce: [UInt8]
    /// What kind of thing is inside (PayloadKind's number).
    package var kind: UInt8
    /// Threshold and number of shares.
    package var scheme: ThresholdScheme
    /// Milliseconds since 1970; not negative.
    package var createdAt: Int64
    package var ciphertextByteCount: UInt64
    /// In clear; empty if none.
    package var description: String
    /// One per holder, or nil.
    package var labels: [String]?
    /// One point per coefficient.
    package var commitments: Commitments
    /// One per fragment.
    package var roots: [Digest]
    /// One per holder.
    package var rows: [Digest]
    /// What other parts of the program put beside. Only of odd types: holders that don't know an even one refuse the header.
    package var extensions: Extensions

    package init(
      nonce: [UInt8], kind: UInt8, scheme: ThresholdScheme, createdAt: Int64, ciphertextByteCount: UInt64,
      description: String, labels: [String]?, commitments: Commitments, roots: [Digest], rows: [Digest],
      extensions: Extensions = Extensions()
    ) {
      self.nonce = nonce
      self.kind = kind
      self.scheme = scheme
      self.createdAt = createdAt
      self.ciphertextByteCount = ciphertextByteCount
      self.description = description
      self.labels = labels
      self.commitments = commitments
      self.roots = roots
      self.rows = rows
      self.extensions = extensions
    }
  }

  /// The id that a dealer's nonce leads to.
  package static func id(dealerKey: [UInt8], nonce: [UInt8]) throws(ProtocolError) -> SecretID {
    do {
      var hash = try DomainHash("vault/secret-id/v1")
      hash.append(dealerKey)
      hash.append(nonce)
      return try SecretID(Array(hash.digest().bytes.prefix(16)))
    } catch let error as SodiumError { throw .sodium(error) } catch { throw .inconsistentHeader("id") }
  }

  /// Makes and signs a header. Throws if it would not be accepted by its own reader.
  package static func sign(_ content: Content, by dealer: Identity) throws(ProtocolError) -> SecretHeader {
    // With one root more and one row less the bytes would still parse, as something else.
    guard content.commitments.points.count == content.scheme.threshold else { throw .inconsistentHeader("commitments") }
    guard content.roots.count == content.scheme.shareCount else { throw .inconsistentHeader("roots") }
    guard content.rows.count == content.scheme.shareCount else { throw .inconsistentHeader("rows") }
    guard content.labels.map(\.count) ?? content.scheme.shareCount == content.scheme.shareCount else {
      throw .inconsistentHeader("labels")
    }
    let unsigned: [UInt8]
    do { unsigned = try encode(content, dealerKey: dealer.keys.signing) } catch { throw .malformed(error) }
    let digest = try digest(ofUnsigned: unsigned)
    let signature: [UInt8]
    do { signature = try dealer.sign(digest) } catch { throw .inconsistentHeader("signature") }
    return try SecretHeader(bytes: unsigned + signature)
  }

  /// Reads, checks and verifies an encoded header.
  package init(bytes: [UInt8]) throws(ProtocolError) {
    guard bytes.count <= Self.byteLimit else {
      throw .malformed(.limitExceeded(field: "header", limit: Self.byteLimit))
    }
    do throws(WireError) {
      var reader = Reader(bytes.span.bytes)
      let version = try reader.u8("header version")
      guard version == Self.version else { throw .unsupported(field: "header version", value: UInt64(version)) }
      let suite = try reader.u8("suite")
      guard suite == Self.suite else { throw .unsupported(field: "suite", value: UInt64(suite)) }
      dealerKey = try reader.bytes(Ed25519.publicKeyByteCount, "dealer key")
      nonce = try reader.bytes(Self.nonceByteCount, "nonce")
      kind = try reader.u8("kind")
      let threshold = try reader.u8("threshold")
      let shareCount = try reader.u8("share count")
      let dataCount = try reader.u8("data count")
      let created = try reader.u64("created")
      let ciphertextByteCount = try reader.u64("ciphertext length")
      guard let scheme = try? ThresholdScheme(threshold: Int(threshold), shareCount: Int(shareCount)) else {
        throw .invalidValue(field: "threshold")
      }
      guard dataCount == threshold else { throw .invalidValue(field: "data count") }
      guard let createdAt = Int64(exactly: created) else { throw .invalidValue(field: "created") }
      let plan = try? DispersalPlan(
        dataCount: Int(dataCount), fragmentCount: Int(shareCount), byteCount: ciphertextByteCount)
      guard let plan else { throw .invalidValue(field: "ciphertext length") }
      self.scheme = scheme
      self.createdAt = createdAt
      dispersal = plan
      description = try reader.text16(limit: Self.descriptionByteLimit, "description")
      if try reader.flag("labels") {
        labels = try values(scheme.shareCount, from: &reader) { reader throws(WireError) in
          try reader.text16(limit: Self.labelByteLimit, "label")
        }
      } else {
        labels = nil
      }
      commitments = try Commitments(from: &reader)
      guard commitments.points.count == scheme.threshold else { throw .invalidValue(field: "commitments") }
      roots = try values(scheme.shareCount, from: &reader) { reader throws(WireError) in
        try VaultProtocol.digest(from: &reader, "fragment root")
      }
      rows = try values(scheme.shareCount, from: &reader) { reader throws(WireError) in
        try VaultProtocol.digest(from: &reader, "holder row")
      }
      extensions = try Extensions(from: &reader)
      try extensions.require()
      signature = try reader.bytes(Ed25519.signatureByteCount, "signature")
      try reader.finish()
    } catch {
      throw .malformed(error)
    }
    self.bytes = bytes
    digest = try Self.digest(ofUnsigned: Array(bytes.dropLast(Ed25519.signatureByteCount)))
    id = try Self.id(dealerKey: dealerKey, nonce: nonce)
    do {
      try Ed25519.validate(publicKey: dealerKey)
      try Ed25519.verify(signature, of: digest, by: dealerKey)
    } catch {
      throw .forgedHeader
    }
  }

  /// Checks that `card` with `salt` is the holder of share `index`.
  package func verifyHolder(index: UInt8, card: Digest, salt: RawSpan) throws(ProtocolError) {
    guard index >= 1, Int(index) <= rows.count else { throw .rejected(.foreignShare(index: index)) }
    let row: Digest
    do { row = try HolderRow.digest(secret: id, index: index, card: card, salt: salt) } catch { throw .sodium(error) }
    guard row == rows[Int(index) - 1] else { throw .foreignShare("holder row") }
  }

  /// The root of fragment `index`, which must be one of this header's.
  package func root(of index: UInt8) throws(ProtocolError) -> Digest {
    guard index >= 1, Int(index) <= roots.count else { throw .rejected(.foreignShare(index: index)) }
    return roots[Int(index) - 1]
  }

  private static func digest(ofUnsigned bytes: [UInt8]) throws(ProtocolError) -> Digest {
    do {
      var hash = try DomainHash("vault/header/v1")
      hash.append(bytes)
      return hash.digest()
    } catch {
      throw .sodium(error)
    }
  }

  private static func encode(_ content: Content, dealerKey: [UInt8]) throws(WireError) -> [UInt8] {
    let labels = content.labels ?? []
    let labelBytes = labels.reduce(0) { $0 + 2 + $1.utf8.count }
    let extensions = content.extensions
    guard content.nonce.count == nonceByteCount else { throw .invalidValue(field: "nonce") }
    guard let created = UInt64(exactly: content.createdAt) else { throw .invalidValue(field: "created") }
    guard let threshold = UInt8(exactly: content.scheme.threshold),
      let shareCount = UInt8(exactly: content.scheme.shareCount)
    else { throw .invalidValue(field: "threshold") }
    let count =
      2 + dealerKey.count + nonceByteCount + 4 + 8 + 8 + 2 + content.description.utf8.count + 1 + labelBytes
      + content.commitments.encodedByteCount + 32 * (content.roots.count + content.rows.count)
      + extensions.encodedByteCount
    return try publicBytes(count: count) { writer throws(WireError) in
      try writer.u8(version)
      try writer.u8(suite)
      try writer.bytes(dealerKey)
      try writer.bytes(content.nonce)
      try writer.u8(content.kind)
      try writer.u8(threshold)
      try writer.u8(shareCount)
      try writer.u8(threshold)
      try writer.u64(created)
      try writer.u64(content.ciphertextByteCount)
      try writer.text16(content.description)
      try writer.flag(content.labels != nil)
      for label in labels { try writer.text16(label) }
      try content.commitments.encode(into: &writer)
      for root in content.roots { try writer.bytes(root.bytes) }
      for row in content.rows { try writer.bytes(row.bytes) }
      try extensions.encode(into: &writer)
    }
  }
}
