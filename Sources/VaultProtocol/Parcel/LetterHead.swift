import Sodium
import WireCodec

/// What stands in a letter before its body: the frames of a request or an answer, or the content of a message. Its parts agree with each other;
/// whether they are true, and whose they are, ``ParcelLetter/openAny(_:with:sender:)`` finds out.
struct LetterHead: Hashable, Sendable {
  enum Kind: UInt8, Hashable, Sendable, CaseIterable {
    case request = 1
    case answer = 2
    case message = 3

    /// Most bytes of its body.
    var bodyLimit: Int { self == .message ? MessageContent.byteLimit : ParcelLetter.bodyLimit }
  }

  /// What is found in a plaintext.
  struct Reading {
    let head: LetterHead
    /// Where in the plaintext the body lies.
    let body: Range<Int>
    let signature: [UInt8]
  }

  /// Bytes of a plaintext around the body and without padding.
  static let overhead =
    2 + ParcelLetter.label.utf8CodeUnitCount + ParcelSeed.byteCount + 8 + 8 + 2 * Digest.byteCount + 1
    + ParcelID.byteCount + X25519.keyByteCount + 4 + Ed25519.signatureByteCount + 4
  /// Stands for "no request" and "no key".
  private static let noID = [UInt8](repeating: 0, count: ParcelID.byteCount)
  private static let noKey = [UInt8](repeating: 0, count: X25519.keyByteCount)

  let seed: ParcelSeed
  /// That of the seed.
  let id: ParcelID
  let createdAt: Int64
  let expiresAt: Int64
  let sender: Digest
  let recipient: Digest
  let kind: Kind
  let inReplyTo: ParcelID?
  let replyKey: [UInt8]?

  /// A head from its parts. Throws what its reader would throw.
  init(
    seed: ParcelSeed, createdAt: Int64, expiresAt: Int64, sender: Digest, recipient: Digest, kind: Kind,
    inReplyTo: ParcelID?, replyKey: [UInt8]?
  ) throws(WireError) {
    guard (0...Parcel.timeLimit).contains(createdAt) else { throw .invalidValue(field: "letter creation") }
    guard expiresAt > createdAt, expiresAt - createdAt <= Parcel.lifetimeLimit else {
      throw .invalidValue(field: "letter lifetime")
    }
    guard (kind == .answer) == (inReplyTo != nil) else { throw .invalidValue(field: "letter in reply to") }
    guard (kind == .request) == (replyKey != nil) else { throw .invalidValue(field: "letter reply key") }
    if let replyKey {
      do throws(SodiumError) { try X25519.validate(publicKey: replyKey) } catch {
        throw .invalidValue(field: "letter reply key")
      }
    }
    // One seed in 2^128 has an id that no parcel can have.
    do throws(SodiumError) { id = try seed.parcelID() } catch { throw .invalidValue(field: "letter seed") }
    self.seed = seed
    self.createdAt = createdAt
    self.expiresAt = expiresAt
    self.sender = sender
    self.recipient = recipient
    self.kind = kind
    self.inReplyTo = inReplyTo
    self.replyKey = replyKey
  }

  /// Bytes of the sealed box around a body: the smallest power of two that holds all of it.
  static func sealedByteCount(bodyByteCount: Int) -> Int {
    let least = overhead + bodyByteCount + X25519.sealOverhead
    var size = Parcel.sealedByteMinimum
    while size < least { size *= 2 }
    return size
  }

  private static func paddingByteCount(bodyByteCount count: Int) -> Int {
    sealedByteCount(bodyByteCount: count) - X25519.sealOverhead - overhead - count
  }

  /// What the sender signs.
  func signedDigest(_ body: RawSpan) throws(SodiumError) -> Digest {
    var hash = try DomainHash("vault/parcel-signature/v1")
    hash.append(id.bytes)
    hash.append(UInt64(createdAt))
    hash.append(UInt64(expiresAt))
    hash.append(sender)
    hash.append(recipient)
    hash.append(UInt64(kind.rawValue))
    hash.append(inReplyTo?.bytes ?? Self.noID)
    hash.append(replyKey ?? Self.noKey)
    hash.append(body)
    return hash.digest()
  }

  /// What possession proofs in the letter are bound to.
  static func binding(
    id: ParcelID, createdAt: Int64, expiresAt: Int64, sender: Digest, recipient: Digest, replyKey: [UInt8]?
  ) throws(SodiumError) -> Digest {
    var hash = try DomainHash("vault/parcel-binding/v1")
    hash.append(id.bytes)
    hash.append(UInt64(bitPattern: createdAt))
    hash.append(UInt64(bitPattern: expiresAt))
    hash.append(sender)
    hash.append(recipient)
    hash.append(replyKey ?? Self.noKey)
    return hash.digest()
  }

  /// What is sealed: head, body and signature, and zeros up to the next size.
  func plaintext(_ body: RawSpan, signature: [UInt8]) throws(ProtocolError) -> SecretBytes {
    guard body.byteCount <= kind.bodyLimit else {
      throw .malformed(.limitExceeded(field: "letter", limit: kind.bodyLimit))
    }
    let count = Self.sealedByteCount(bodyByteCount: body.byteCount) - X25519.sealOverhead
    return try secretBytes(count: count) { writer throws(WireError) in
      try encode(into: &writer)
      try writer.bytes32(body)
      try writer.bytes(signature)
      try writer.count32(Self.paddingByteCount(bodyByteCount: body.byteCount))
    }
  }

  private func encode(into writer: inout Writer) throws(WireError) {
    try writer.text16(ParcelLetter.label.description)
    try writer.bytes(seed.bytes)
    try writer.u64(UInt64(createdAt))
    try writer.u64(UInt64(expiresAt))
    try writer.bytes(sender.bytes)
    try writer.bytes(recipient.bytes)
    try writer.u8(kind.rawValue)
    try writer.bytes(inReplyTo?.bytes ?? Self.noID)
    try writer.bytes(replyKey ?? Self.noKey)
  }

  /// Reads a plaintext to its end. What is in the body isn't looked at.
  static func read(_ plaintext: RawSpan) throws(WireError) -> Reading {
    var reader = Reader(plaintext)
    let head = try LetterHead(from: &reader)
    let count = try reader.count32(limit: head.kind.bodyLimit, "letter")
    let start = plaintext.byteCount - reader.remaining
    _ = try reader.span(count, "letter")
    let signature = try reader.bytes(Ed25519.signatureByteCount, "letter signature")
    let padding = try reader.count32(limit: Parcel.sealedByteLimit, "letter padding")
    let zeros = try reader.span(padding, "letter padding")
    try reader.finish()
    guard padding == paddingByteCount(bodyByteCount: count), zeros.withUnsafeBytes({ $0.allSatisfy { $0 == 0 } })
    else { throw .invalidValue(field: "letter padding") }
    return Reading(head: head, body: start..<start + count, signature: signature)
  }

  private init(from reader: inout Reader) throws(WireError) {
    guard try reader.text16(limit: 64, "letter label") == ParcelLetter.label.description else {
      throw .invalidValue(field: "letter label")
    }
    guard let seed = ParcelSeed(try reader.bytes(ParcelSeed.byteCount, "letter seed")) else {
      throw .invalidValue(field: "letter seed")
    }
    let createdAt = try time(from: &reader, "letter creation")
    let expiresAt = try time(from: &reader, "letter expiry")
    let sender = try digest(from: &reader, "letter sender")
    let recipient = try digest(from: &reader, "letter recipient")
    let kind: Kind = try choice(from: &reader, "letter kind")
    let inReplyTo = try reader.bytes(ParcelID.byteCount, "letter in reply to")
    let replyKey = try reader.bytes(X25519.keyByteCount, "letter reply key")
    try self.init(
      seed: seed, createdAt: createdAt, expiresAt: expiresAt, sender: sender, recipient: recipient, kind: kind,
      inReplyTo: ParcelID(inReplyTo), replyKey: replyKey == Self.noKey ? nil : replyKey)
  }
}
