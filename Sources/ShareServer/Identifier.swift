import Sodium

/// The name of a group, a user or a share: 16 bytes, written as 32 lower-case hexadecimal digits.
struct Identifier: Hashable, Sendable, CustomStringConvertible {
  let high: UInt64
  private let low: UInt64

  static let byteCount = 16
  static let textCount = 32

  init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

  static func fresh() throws(SodiumError) -> Identifier {
    // Sixteen were asked for.
    guard let identifier = Identifier(bytes: try Randomness.bytes(byteCount)) else { throw .unavailable }
    return identifier
  }

  init?(bytes: some Collection<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    low = bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Exactly 32 digits, no capitals.
  init?(text: some Collection<UInt8>) {
    guard text.count == Self.textCount, text.allSatisfy({ "0123456789abcdef".utf8.contains($0) }),
      let high = UInt64(String(decoding: text.prefix(16), as: UTF8.self), radix: 16),
      let low = UInt64(String(decoding: text.dropFirst(16), as: UTF8.self), radix: 16)
    else { return nil }
    (self.high, self.low) = (high, low)
  }

  init?(_ text: some StringProtocol) { self.init(text: Array(text.utf8)) }

  var bytes: [UInt8] {
    withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Array($0) }
  }

  var description: String { hexadecimal(bytes) }

  var short: String { String(description.prefix(8)) }
}
