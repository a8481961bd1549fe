import PeerAuth

/// What stands in an identity file for this plugin: which shared key is meant. There is no secret in it.
package struct QuorumIdentity: Hashable, Sendable {
  package static let idByteCount = 16
  private static let prefix = "age-plugin-quorum-"
  private static let textLimit = 128

  /// Of the secret that is the key.
  package let keyID: [UInt8]

  /// Throws unless it is an id of 16 bytes.
  package init(keyID: [UInt8]) throws(AgeError) {
    guard keyID.count == Self.idByteCount else { throw .malformed("the id of a key") }
    self.keyID = keyID
  }

  package init(_ text: String) throws(AgeError) {
    guard text.utf8.count <= Self.textLimit else { throw .malformed("an identity of this plugin") }
    let bytes: [UInt8]
    do { bytes = try Bech32.decode(prefix: Self.prefix, Array(text.utf8)) } catch {
      throw .malformed("an identity of this plugin")
    }
    try self.init(keyID: bytes)
  }

  package var text: String { Bech32.encode(prefix: Self.prefix, keyID).uppercased() }
}

/// Native recipients of age.
package enum AgeRecipient {
  /// The text of an X25519 public key.
  package static func text(of publicKey: [UInt8]) -> String { Bech32.encode(prefix: "age", publicKey) }
}
