package import Sodium
import WireCodec

/// A roster with its owner's signature.
package struct SignedRoster: Hashable, Sendable {
  package let roster: Roster
  /// As it was signed and is handed on: the roster, then 64 bytes of signature.
  package let bytes: [UInt8]

  /// Signs a roster with the owner's keys.
  package init(_ roster: Roster, by owner: MemberKeys) throws(GroupError) {
    try roster.check()
    guard roster.owner.card == owner.card else { throw .notOwner }
    let encoded = try wire { () throws(WireError) in try roster.encoded() }
    let digest = try Self.digest(encoded.span.bytes)
    bytes = encoded + (try owner.sign(digest))
    guard bytes.count <= Roster.byteLimit else { throw .invalid("the roster is too large") }
    self.roster = roster
  }

  /// Reads a roster of the group, or of any group if that is nil, and checks its signature.
  package init(_ bytes: [UInt8], group: GroupID?) throws(GroupError) {
    guard bytes.count <= Roster.byteLimit else {
      throw .malformed(.limitExceeded(field: "roster", limit: Roster.byteLimit))
    }
    guard bytes.count > Ed25519.signatureByteCount else { throw .malformed(.truncated(field: "roster")) }
    let body = Array(bytes.dropLast(Ed25519.signatureByteCount))
    let roster = try wire { () throws(WireError) in try Roster.decode(body, limit: Roster.byteLimit) }
    guard group == nil || group == roster.group else { throw .forged("a roster of another group") }
    let digest = try Self.digest(body.span.bytes)
    do throws(SodiumError) {
      try Ed25519.verify(
        Array(bytes.suffix(Ed25519.signatureByteCount)), of: digest, by: roster.owner.card.signingKey)
    } catch { throw error.forged("the roster's signature") }
    self.roster = roster
    self.bytes = bytes
  }

  /// What the next roster and confirm messages call this one.
  package func digest() throws(GroupError) -> Digest {
    try Self.digest(bytes.span.bytes.extracting(droppingLast: Ed25519.signatureByteCount))
  }

  private static func digest(_ body: RawSpan) throws(GroupError) -> Digest {
    do throws(SodiumError) {
      var hash = try DomainHash("vault/group-roster/v1")
      hash.append(body)
      return hash.digest()
    } catch { throw .sodium(error) }
  }
}
