import Sodium
public import WireCodec

/// What a group knows of a member: the device, its two keys of this group, and how its user wants to be called.
///
/// The keys are made for one group, so that nobody sees by them that two groups have a member in common.
public struct MemberCard: WireValue, Hashable, Sendable {
  /// Longest e-mail address in bytes (RFC 5321).
  package static let emailByteLimit = 254
  package static let nameByteLimit = 64
  package static let byteLimit = 16 + 32 + 32 + 2 + emailByteLimit + 2 + nameByteLimit

  public let node: NodeID
  /// Ed25519.
  package let signingKey: [UInt8]
  /// X25519.
  package let boxKey: [UInt8]
  /// The user's e-mail address, or empty: his own words, checked by nobody.
  public let email: String
  /// The user's name: his own words.
  public let name: String

  /// Throws ``GroupError/invalid(_:)`` if a text is too long or has a NUL, or a key is none.
  package init(node: NodeID, signingKey: [UInt8], boxKey: [UInt8], email: String, name: String) throws(GroupError) {
    try Self.check(email, limit: Self.emailByteLimit, "the e-mail address")
    try Self.check(name, limit: Self.nameByteLimit, "the name")
    try sodium(Ed25519.validate(publicKey: signingKey))
    try sodium(X25519.validate(publicKey: boxKey))
    self.node = node
    self.signingKey = signingKey
    self.boxKey = boxKey
    self.email = email
    self.name = name
  }

  /// Throws ``GroupError/invalid(_:)`` unless a text of the user can be put into a message.
  static func check(_ text: String, limit: Int, _ what: String) throws(GroupError) {
    guard text.utf8.count <= limit else { throw .invalid("\(what) is longer than \(limit) bytes") }
    guard !text.utf8.contains(0) else { throw .invalid("\(what) contains a NUL character") }
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try node.encode(into: &writer)
    try writer.bytes(signingKey)
    try writer.bytes(boxKey)
    try writer.text16(email)
    try writer.text16(name)
  }

  /// Reads a card; refuses keys that are none.
  package init(from reader: inout Reader) throws(WireError) {
    node = try NodeID(from: &reader)
    signingKey = try reader.bytes(Ed25519.publicKeyByteCount, "signing key")
    boxKey = try reader.bytes(X25519.keyByteCount, "box key")
    do throws(SodiumError) { try Ed25519.validate(publicKey: signingKey) } catch {
      throw .invalidValue(field: "signing key")
    }
    do throws(SodiumError) { try X25519.validate(publicKey: boxKey) } catch { throw .invalidValue(field: "box key") }
    email = try reader.text16(limit: Self.emailByteLimit, "email")
    name = try reader.text16(limit: Self.nameByteLimit, "name")
  }
}
