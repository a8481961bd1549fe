package import Sodium

/// Five groups of five digits to compare by voice: about 83 bits.
///
/// BLAKE2b-256("vault/fingerprint/v1", card digest) gives 32 bytes; group i is bytes 6i to 6i + 5, read as a 48-bit
/// big-endian number, modulo 100000. The bias is below 100000 / 2^48, four parts in ten thousand million: nothing that
/// helps to find a second card with the same digits. The last two bytes are not used.
public struct Fingerprint: Hashable, Sendable, CustomStringConvertible {
  /// Five groups of five digits with a space between, such as `04711 00815 12345 67890 24680`.
  public let description: String

  package init(of cardDigest: Digest) throws(SodiumError) {
    var hash = try DomainHash("vault/fingerprint/v1")
    hash.append(cardDigest)
    let bytes = hash.digest().bytes
    let groups = (0..<5).map { group in
      let number = bytes[(6 * group)..<(6 * group + 6)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      let digits = String(number % 100_000)
      return String(repeating: "0", count: 5 - digits.count) + digits
    }
    description = groups.joined(separator: " ")
  }

  /// The 25 digits without spaces.
  public var digits: String { description.filter { $0 != " " } }
}
