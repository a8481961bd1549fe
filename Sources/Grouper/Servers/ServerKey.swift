package import Sodium

/// A key that a server has drawn: it opens one group there, to its owner (master key) or to one member (access key).
///
/// The bytes stay in secret memory; whoever sends them writes their text form there too.
package final class ServerKey: Sendable {
  package static let byteCount = 32

  package enum Kind: UInt8, Sendable {
    case master = 1
    case access = 2
  }

  package let kind: Kind
  package let secret: SecretBytes

  /// Takes exactly 32 bytes.
  package init(_ secret: consuming SecretBytes, _ kind: Kind) throws(SodiumError) {
    guard secret.count == Self.byteCount else {
      throw .invalidLength(expected: Self.byteCount, actual: secret.count)
    }
    self.secret = secret
    self.kind = kind
  }
}

/// What a call to a server is made with: a group there and a key that opens it.
package struct GroupAccess: Sendable {
  package let group: ServerGroupID
  /// The master key for an owner's calls, an access key for a member's; ``GroupServer/info(_:)`` takes either.
  package let key: ServerKey

  package init(group: ServerGroupID, key: ServerKey) {
    self.group = group
    self.key = key
  }
}
