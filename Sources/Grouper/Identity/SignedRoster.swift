package import Sodium
import WireCodec

/// A roster with its owner's signature.
package struct SignedRoster: Hashable, Sendable {
  package let roster: Roster
  /// As it was signed and is handed on: the roster, then 64 bytes of signature.
  package let bytes: [UInt8]

  package init(_ roster: Roster, by owner: MemberKeys) throws(GroupError) {
    try roster.check()
    guard roster.owner.card == owner.card else { throw .notOwner }
    let encoded = try wire(roster.encoded())
    bytes = encoded + (try owner.sign(Self.digest(encoded)))
    guard bytes.count <= Roster.byteLimit else { throw .invalid("the roster is too large") }
    self.roster = roster
  }

  /// Reads a roster of the group, or of any group if that is nil, and checks its signature.
  package init(_ bytes: [UInt8], group: GroupID?) throws(GroupError) {
    let signed = try SignedBytes(bytes, limit: Roster.byteLimit, "roster")
    let roster = try wire(Roster.decode(signed.body, limit: Roster.byteLimit))
    guard group == nil || group == roster.group else { throw .forged("a roster of another group") }
    try signed.verify(Self.digest(signed.body), by: roster.owner.card.signingKey, "the roster's signature")
    self.roster = roster
    self.bytes = bytes
  }

  /// What the next roster and confirm messages call this one.
  package func digest() throws(GroupError) -> Digest {
    try Self.digest(Array(bytes.dropLast(Ed25519.signatureByteCount)))
  }

  private static func digest(_ body: [UInt8]) throws(GroupError) -> Digest {
    try publicHash("vault/group-roster/v1", [body])
  }
}
