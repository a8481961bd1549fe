package import Sodium

/// Secret bytes that several hold: freed, and wiped, when the last of them lets go.
package final class HeldSecret: Sendable {
  package let bytes: SecretBytes

  package init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

  package var count: Int { bytes.count }
}
