package import SealedPayload
package import Sodium

/// A secret that was recovered into memory: its header, with kind, media type, file name and fields, and its body.
package struct RecoveredContent: ~Copyable, Sendable {
  /// Most bytes of a body, unless somebody asks for more.
  package static let usualLimit = 1 << 20

  package let header: PayloadHeader
  package let body: SecretBytes
  /// How recovering went; nil only while it goes on.
  package internal(set) var report: RecoveryReport?

  package var kind: PayloadKind { header.kind }
}
