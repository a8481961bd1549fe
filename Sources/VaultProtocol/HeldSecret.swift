public import Sodium

/// Secret bytes that several hold: freed, and wiped, when the last of them lets go.
public final class HeldSecret: Sendable {
  /// The bytes.
  public let bytes: SecretBytes

  /// Takes over the bytes.
  public init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

  /// How many bytes there are.
  public var count: Int { bytes.count }
}
