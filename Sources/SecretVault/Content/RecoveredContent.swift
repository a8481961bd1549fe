package import SealedPayload
package import Sodium

/// A secret that was recovered into memory: its header, which has its kind and its fields, and its body.
package struct RecoveredContent: ~Copyable, Sendable {
  /// Most bytes of a body, unless somebody asks for more.
  package static let usualLimit = 1 << 20

  /// Kind, media type, file name and fields.
  package let header: PayloadHeader
  package let body: SecretBytes
  /// How recovering went; nil only while it goes on.
  package internal(set) var report: RecoveryReport?

  init(header: consuming PayloadHeader, body: consuming SecretBytes) {
    self.header = header
    self.body = body
    report = nil
  }

  package var kind: PayloadKind { header.kind }
}
