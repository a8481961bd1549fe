/// A name of DNS: labels of 1 to 63 bytes, at most 255 bytes with their lengths (RFC 1035, section 3.1). ASCII letters are kept in
/// lower case, as names that differ in nothing else are the same (RFC 6762, section 16).
package struct DNSName: Hashable, Sendable {
  static let byteLimit = 255
  static let labelLimit = 63

  package let labels: [[UInt8]]

  /// Nil unless it keeps the limits. No label at all is the root.
  package init?(_ labels: [[UInt8]]) {
    var count = 1
    for label in labels {
      guard (1...Self.labelLimit).contains(label.count) else { return nil }
      count += 1 + label.count
    }
    guard count <= Self.byteLimit else { return nil }
    self.labels = labels.map { $0.map(Self.folded) }
  }

  /// From a text with dots between labels, which have none themselves.
  package init?(_ text: String) {
    self.init(text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map { Array($0) })
  }

  /// A name of one label below this one.
  func below(_ label: [UInt8]) -> DNSName? { DNSName([label] + labels) }

  /// The first label of a name that is one label below this one.
  func label(of name: DNSName) -> [UInt8]? {
    guard name.labels.count == labels.count + 1, name.labels.dropFirst().elementsEqual(labels) else { return nil }
    return name.labels[0]
  }

  private static func folded(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}
