package import WireCodec

/// Whose numbers a sequence number is one of: a member's, from one making of his database to the next.
///
/// A member counts his messages, and a database that was put back from a copy would count some numbers twice, with two contents. So
/// whoever finds his database put back begins a new incarnation, and counts from 1 again.
package struct StreamID: WireValue, Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
  package static let byteCount = 24
  /// Most streams that a value names.
  package static let limit = 1024

  package let node: NodeID
  /// Random, not 0.
  package let incarnation: UInt64

  package init(node: NodeID, incarnation: UInt64) {
    self.node = node
    self.incarnation = incarnation
  }

  /// Takes 24 bytes, else nil.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount, let node = NodeID(bytes.prefix(16)) else { return nil }
    self.node = node
    incarnation = bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  package var bytes: [UInt8] { node.bytes + octets(incarnation) }

  /// The member's name, and a number in hexadecimal.
  package var description: String { "\(node)/\(String(incarnation, radix: 16))" }

  /// By member, then by number.
  package static func < (left: StreamID, right: StreamID) -> Bool {
    (left.node, left.incarnation) < (right.node, right.incarnation)
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try node.encode(into: &writer)
    try writer.u64(incarnation)
  }

  package init(from reader: inout Reader) throws(WireError) {
    node = try NodeID(from: &reader)
    incarnation = try reader.u64("incarnation")
    guard incarnation != 0 else { throw .invalidValue(field: "incarnation") }
  }
}
