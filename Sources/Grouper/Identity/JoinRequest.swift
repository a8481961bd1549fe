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
    let body = try Self.body(application, card)
    bytes = body + (try keys.sign(Self.digest(body)))
    self.application = application
    self.card = card
  }

  /// Reads a request, and checks that who made it has the card's key.
  public init(_ bytes: [UInt8]) throws(GroupError) {
    let signed = try SignedBytes(bytes, limit: Self.byteLimit, "join request")
    let (application, card) = try wire(Self.read(signed.body))
    try signed.verify(Self.digest(signed.body), by: card.signingKey, "the join request")
    self.application = application
    self.card = card
    self.bytes = bytes
  }

  private static func body(_ application: String, _ card: MemberCard) throws(GroupError) -> [UInt8] {
    try wire(
      publicBytes(count: 1 + 2 + application.utf8.count + card.encodedByteCount) { writer throws(WireError) in
        try writer.u8(1)
        try writer.text16(application)
        try card.encode(into: &writer)
      })
  }

  private static func read(_ body: [UInt8]) throws(WireError) -> (String, MemberCard) {
    var reader = Reader(body.span.bytes)
    try reader.version(1, "join request version")
    let application = try reader.text16(limit: Roster.applicationByteLimit, "application")
    let card = try MemberCard(from: &reader)
    try reader.finish()
    return (application, card)
  }

  private static func digest(_ body: [UInt8]) throws(GroupError) -> Digest {
    try publicHash("vault/group-join/v1", [body])
  }
}
