import Sodium

/// This device's keys of one group.
package final class MemberKeys: Sendable {
  package let card: MemberCard
  /// Ed25519.
  let seed: SecretBytes
  /// X25519.
  let boxSecret: SecretBytes
  private let expanded: SecretBytes

  package static func generate(node: NodeID, email: String, name: String) throws(GroupError) -> MemberKeys {
    let seed = try sodium(SecretBytes(random: Ed25519.seedByteCount))
    let box = try sodium(SecretBytes(random: X25519.keyByteCount))
    return try MemberKeys(node: node, seed: seed, boxSecret: box, email: email, name: name)
  }

  /// Takes 32 bytes of each.
  init(
    node: NodeID, seed: consuming SecretBytes, boxSecret: consuming SecretBytes, email: String, name: String
  ) throws(GroupError) {
    expanded = try sodium(Ed25519.expand(seed))
    let signingKey = expanded.withUnsafeBytes { Array($0[Ed25519.seedByteCount...]) }
    let boxKey = try sodium(X25519.publicKey(of: boxSecret))
    card = try MemberCard(node: node, signingKey: signingKey, boxKey: boxKey, email: email, name: name)
    self.seed = seed
    self.boxSecret = boxSecret
  }

  func sign(_ digest: Digest) throws(GroupError) -> [UInt8] {
    try sodium(Ed25519.sign(digest, expanded: expanded))
  }

  func open(_ sealed: RawSpan) throws(GroupError) -> SecretBytes {
    do throws(SodiumError) {
      return try X25519.open(sealed, publicKey: card.boxKey, secret: boxSecret)
    } catch .verificationFailed { throw .forged("a box that isn't sealed to this device") } catch {
      throw .sodium(error)
    }
  }
}
