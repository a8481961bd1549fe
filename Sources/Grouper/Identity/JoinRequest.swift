import Sodium
import WireCodec

/// What somebody who wants to join shows the owner, face to face or in a session of trust: his card for this group, signed with its
/// key. Nothing in it is secret.
public struct JoinRequest: Hashable, Sendable {
  package static let byteLimit = 1 + 2 + Roster.applicationByteLimit + MemberCard.byteLimit + Ed25519.signatureByteCount

  package let application: String
  public let card: MemberCard
  /// As it is handed over.
  public let bytes: [UInt8]

  package init(application: String, by keys: MemberKeys) throws(GroupError) {
    try MemberCard.check(application, limit: Roster.applicationByteLimit, "the application's name")
    let card = keys.card
    let body = try wire { () throws(WireError) in
      try publicBytes(count: 1 + 2 + application.utf8.count + card.encodedByteCount) { writer throws(WireError) in
        try writer.u8(1)
        try writer.text16(application)
        try card.encode(into: &writer)
      }
    }
    let digest = try sodium { () throws(SodiumError) in try Self.digest(body) }
    bytes = body + (try keys.sign(digest))
    self.application = application
    self.card = card
  }

  /// Reads a request, and checks that who made it has the card's key.
  public init(_ bytes: [UInt8]) throws(GroupError) {
    guard bytes.count <= Self.byteLimit else {
      throw .malformed(.limitExceeded(field: "join request", limit: Self.byteLimit))
    }
    guard bytes.count > Ed25519.signatureByteCount else { throw .malformed(.truncated(field: "join request")) }
    let body = Array(bytes.dropLast(Ed25519.signatureByteCount))
    let (application, card) = try wire { () throws(WireError) in try Self.read(body) }
    do throws(SodiumError) {
      try Ed25519.verify(
        Array(bytes.suffix(Ed25519.signatureByteCount)), of: Self.digest(body), by: card.signingKey)
    } catch { throw error.forged("the join request") }
    self.application = application
    self.card = card
    self.bytes = bytes
  }

  private static func read(_ body: [UInt8]) throws(WireError) -> (String, MemberCard) {
    var reader = Reader(body.span.bytes)
    let version = try reader.u8("join request version")
    guard version == 1 else { throw .unsupported(field: "join request version", value: UInt64(version)) }
    let application = try reader.text16(limit: Roster.applicationByteLimit, "application")
    let card = try MemberCard(from: &reader)
    try reader.finish()
    return (application, card)
  }

  private static func digest(_ body: [UInt8]) throws(SodiumError) -> Digest {
    var hash = try DomainHash("vault/group-join/v1")
    hash.append(body)
    return hash.digest()
  }
}
