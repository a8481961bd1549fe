import Sodium
import WireCodec

/// A letter as it is signed and sealed, with its frames still in one piece. Its parts agree with each other; whether they are true, and whose they
/// are, ``ParcelLetter/open(_:with:sender:)`` finds out.
struct ParcelContent: Hashable, Sendable {
  /// Bytes of a plaintext around the frames and without padding.
  static let overhead =
    2 + ParcelLetter.label.utf8CodeUnitCount + ParcelID.byteCount + 8 + 8 + 2 * Digest.byteCount + 1
    + ParcelID.byteCount + X25519.keyByteCount + 4 + Ed25519.signatureByteCount + 4
  /// Stands for "no request" and "no key".
  private static let noID = [UInt8](repeating: 0, count: ParcelID.byteCount)
  private static let noKey = [UInt8](repeating: 0, count: X25519.keyByteCount)

  let id: ParcelID
  let createdAt: Int64
  let expiresAt: Int64
  let sender: Digest
  let recipient: Digest
  let kind: ParcelLetter.Kind
  let inReplyTo: ParcelID?
  let replyKey: [UInt8]?
  /// ``ParcelFrame/body(_:)``.
  let body: [UInt8]

  /// A content from its parts. Throws what its reader would throw.
  init(
    id: ParcelID, createdAt: Int64, expiresAt: Int64, sender: Digest, recipient: Digest, kind: ParcelLetter.Kind,
    inReplyTo: ParcelID?, replyKey: [UInt8]?, body: [UInt8]
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
    guard body.count <= ParcelLetter.bodyLimit else {
      throw .limitExceeded(field: "letter", limit: ParcelLetter.bodyLimit)
    }
    self.id = id
    self.createdAt = createdAt
    self.expiresAt = expiresAt
    self.sender = sender
    self.recipient = recipient
    self.kind = kind
    self.inReplyTo = inReplyTo
    self.replyKey = replyKey
    self.body = body
  }

  /// Bytes of the sealed box around a body: the smallest power of two that holds all of it.
  static func sealedByteCount(bodyByteCount: Int) -> Int {
    let least = overhead + bodyByteCount + X25519.sealOverhead
    var size = Parcel.sealedByteMinimum
    while size < least { size *= 2 }
    return size
  }

  private var paddingByteCount: Int {
    Self.sealedByteCount(bodyByteCount: body.count) - X25519.sealOverhead - Self.overhead - body.count
  }

  /// What the sender signs.
  func signedDigest() throws(SodiumError) -> Digest {
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

  /// What is sealed: the content, its signature, and zeros up to the next size.
  func plaintext(signature: [UInt8]) throws(ProtocolError) -> SecretBytes {
    let count = Self.sealedByteCount(bodyByteCount: body.count) - X25519.sealOverhead
    return try SecretBytes(count: count, allocation: { ProtocolError.sodium($0) }) {
      (output) throws(ProtocolError) in
      do throws(WireError) {
        try write(into: &output) { writer throws(WireError) in
          try encode(into: &writer)
          try writer.bytes(signature)
          try writer.count32(paddingByteCount)
          // The memory is zero behind what is written.
        }
      } catch {
        throw .malformed(error)
      }
    }
  }

  private func encode(into writer: inout Writer) throws(WireError) {
    try writer.text16(ParcelLetter.label.description)
    try id.encode(into: &writer)
    try writer.u64(UInt64(createdAt))
    try writer.u64(UInt64(expiresAt))
    try writer.bytes(sender.bytes)
    try writer.bytes(recipient.bytes)
    try writer.u8(kind.rawValue)
    try writer.bytes(inReplyTo?.bytes ?? Self.noID)
    try writer.bytes(replyKey ?? Self.noKey)
    try writer.bytes32(body)
  }

  /// Reads a plaintext to its end.
  static func read(_ plaintext: RawSpan) throws(WireError) -> (content: ParcelContent, signature: [UInt8]) {
    var reader = Reader(plaintext)
    let content = try ParcelContent(from: &reader)
    let signature = try reader.bytes(Ed25519.signatureByteCount, "letter signature")
    let padding = try reader.count32(limit: Parcel.sealedByteLimit, "letter padding")
    let zeros = try reader.span(padding, "letter padding")
    try reader.finish()
    guard padding == content.paddingByteCount, zeros.withUnsafeBytes({ $0.allSatisfy { $0 == 0 } }) else {
      throw .invalidValue(field: "letter padding")
    }
    return (content, signature)
  }

  private init(from reader: inout Reader) throws(WireError) {
    guard try reader.text16(limit: 64, "letter label") == ParcelLetter.label.description else {
      throw .invalidValue(field: "letter label")
    }
    let id = try ParcelID(from: &reader)
    let createdAt = try time(from: &reader, "letter creation")
    let expiresAt = try time(from: &reader, "letter expiry")
    let sender = try digest(from: &reader, "letter sender")
    let recipient = try digest(from: &reader, "letter recipient")
    guard let kind = ParcelLetter.Kind(rawValue: try reader.u8("letter kind")) else {
      throw .invalidValue(field: "letter kind")
    }
    let inReplyTo = try reader.bytes(ParcelID.byteCount, "letter in reply to")
    let replyKey = try reader.bytes(X25519.keyByteCount, "letter reply key")
    try self.init(
      id: id, createdAt: createdAt, expiresAt: expiresAt, sender: sender, recipient: recipient, kind: kind,
      inReplyTo: ParcelID(inReplyTo), replyKey: replyKey == Self.noKey ? nil : replyKey,
      body: try reader.bytes32(limit: ParcelLetter.bodyLimit, "letter"))
  }
}
