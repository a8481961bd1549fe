/// Why bytes from a peer, a file or a code were refused. Never carries the bytes themselves.
public enum WireError: Error, Hashable, Sendable {
  /// The input ends inside `field`.
  case truncated(field: String)
  /// Bytes follow where the value should end.
  case trailingBytes(count: Int)
  /// A length or count in `field` is over its limit; nothing was allocated for it.
  case limitExceeded(field: String, limit: Int)
  /// `field` holds a value that has no meaning, or not in its one canonical form.
  case invalidValue(field: String)
  /// A version, suite or must-understand extension that this program doesn't know.
  case unsupported(field: String, value: UInt64)
  /// The writer's memory is too small: a wrong size computation in this program, never a peer's fault.
  case capacityExceeded
}
