package import Sodium
public import WireCodec

/// Sixteen bytes that name something: random, or the beginning of a hash. The kind keeps a group's name from being taken
/// for a member's.
public struct Identifier<Kind>: WireValue, Hashable, Comparable, Sendable, CustomStringConvertible {
  package static var byteCount: Int { 16 }

  private let high: UInt64
  private let low: UInt64

  package var bytes: [UInt8] {
    withUnsafeBytes(of: high.bigEndian) { Array($0) } + withUnsafeBytes(of: low.bigEndian) { Array($0) }
  }

  /// Takes exactly 16 bytes, else nil.
  package init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    low = bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Takes exactly 32 lower-case hexadecimal digits, else nil.
  public init?(hexadecimal text: some StringProtocol) {
    guard let raw = Sodium.bytes(hexadecimal: text), Sodium.hexadecimal(raw) == text else { return nil }
    self.init(raw)
  }

  /// The first 16 bytes of a digest.
  package init(_ digest: Digest) {
    high = digest.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    low = digest.bytes[8..<16].reduce(0) { $0 << 8 | UInt64($1) }
  }

  package static func random() throws(SodiumError) -> Identifier {
    guard let value = Identifier(try Randomness.bytes(byteCount)) else {
      throw .invalidLength(expected: byteCount, actual: 0)
    }
    return value
  }

  /// 32 lower-case hexadecimal digits.
  public var description: String { hexadecimal(bytes) }

  public static func < (left: Identifier, right: Identifier) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(high)
    try writer.u64(low)
  }

  package init(from reader: inout Reader) throws(WireError) {
    high = try reader.u64("identifier")
    low = try reader.u64("identifier")
  }
}

public enum IdentifierKind {
  package enum Group {}
  /// A member's device.
  public enum Node {}
  package enum Message {}
  package enum Dealing {}
  /// A file that travels in chunks.
  package enum File {}
  package enum ServerGroup {}
  package enum ServerUser {}
  package enum ServerShare {}
}

/// A group, as its members know it. No server learns it.
package typealias GroupID = Identifier<IdentifierKind.Group>
/// A member's device (the papers' node identifier).
public typealias NodeID = Identifier<IdentifierKind.Node>
package typealias MessageID = Identifier<IdentifierKind.Message>
/// One message's cutting into shares: a message that is sent again is dealt anew.
package typealias DealingID = Identifier<IdentifierKind.Dealing>
/// A file that travels in chunks.
package typealias FileID = Identifier<IdentifierKind.File>
/// A group as one server knows it: drawn by that server.
package typealias ServerGroupID = Identifier<IdentifierKind.ServerGroup>
/// A member as one server knows him: drawn by that server.
package typealias ServerUserID = Identifier<IdentifierKind.ServerUser>
/// A share on one server: drawn by its sender.
package typealias ServerShareID = Identifier<IdentifierKind.ServerShare>

extension Identifier: Codable {
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let value = Identifier(hexadecimal: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not 32 hexadecimal digits")
    }
    self = value
  }
}
