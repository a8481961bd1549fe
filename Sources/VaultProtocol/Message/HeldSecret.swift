package import Sodium

/// Secret bytes that several hold: freed, and wiped, when the last of them lets go.
package final class HeldSecret: Sendable {
  package let bytes: SecretBytes

  /// Takes over the bytes.
  package init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

  /// How many bytes there are.
  package var count: Int { bytes.count }
}
