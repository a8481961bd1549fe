/// Bech32m (BIP 350) without its length limit.
///
/// The checksum finds every single wrong character at any length; the guarantee for up to four holds for short texts only.
package enum Bech32m {
  private static let alphabet = Array("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)
  private static let constant: UInt32 = 0x2bc8_30a3
  private static let checksumLength = 6

  /// Lower-case text of `bytes` behind the lower-case ASCII `prefix`.
  package static func encode(prefix: String, _ bytes: [UInt8]) -> String { encode(prefix: prefix, bytes, constant) }

  /// The same with the constant that tells the two checksums apart.
  static func encode(prefix: String, _ bytes: [UInt8], _ constant: UInt32) -> String {
    encode(prefix: prefix, groups: fiveBitGroups(bytes), constant)
  }

  /// Lower-case text of groups of five bits.
  static func encode(prefix: String, groups: [UInt8], _ constant: UInt32 = constant) -> String {
    let prefix = Array(prefix.utf8)
    var values = groups
    let rest = checksum(prefix, values + [UInt8](repeating: 0, count: checksumLength)) ^ constant
    for place in 0..<checksumLength {
      values.append(UInt8(truncatingIfNeeded: rest >> UInt32(5 * (checksumLength - 1 - place))) & 31)
    }
    return String(decoding: prefix + [UInt8(ascii: "1")] + values.map { alphabet[Int($0)] }, as: UTF8.self)
  }

  /// The bytes behind `prefix`. The caller has limited the length of `text`.
  package static func decode(prefix: String, _ text: [UInt8]) throws(CardError) -> [UInt8] {
    try decode(prefix: prefix, text, constant)
  }

  static func decode(prefix: String, _ text: [UInt8], _ constant: UInt32) throws(CardError) -> [UInt8] {
    let upper = text.contains { 65...90 ~= $0 }
    let lower = text.contains { 97...122 ~= $0 }
    let folded = text.map { 65...90 ~= $0 ? $0 + 32 : $0 }
    let start = Array(prefix.utf8) + [UInt8(ascii: "1")]
    guard folded.starts(with: start), folded.count >= start.count + checksumLength else { throw .notACard }
    guard !(upper && lower) else { throw .mixedCase }
    var values: [UInt8] = []
    values.reserveCapacity(folded.count)
    for character in folded[start.count...] {
      guard let value = alphabet.firstIndex(of: character) else { throw .invalidCharacter }
      values.append(UInt8(truncatingIfNeeded: value))
    }
    guard checksum(Array(prefix.utf8), values) == constant else { throw .wrongChecksum }
    guard let bytes = eightBitGroups(values.dropLast(checksumLength)) else {
      throw .malformed(.invalidValue(field: "padding"))
    }
    return bytes
  }

  private static func checksum(_ prefix: [UInt8], _ values: [UInt8]) -> UInt32 {
    var state: UInt32 = 1
    for byte in prefix { step(&state, byte >> 5) }
    step(&state, 0)
    for byte in prefix { step(&state, byte & 31) }
    for value in values { step(&state, value) }
    return state
  }

  private static func step(_ state: inout UInt32, _ value: UInt8) {
    let top = state >> 25
    state = (state & 0x1ff_ffff) << 5 ^ UInt32(value)
    if top & 1 != 0 { state ^= 0x3b6a_57b2 }
    if top & 2 != 0 { state ^= 0x2650_8e6d }
    if top & 4 != 0 { state ^= 0x1ea1_19fa }
    if top & 8 != 0 { state ^= 0x3d42_33dd }
    if top & 16 != 0 { state ^= 0x2a14_62b3 }
  }

  private static func fiveBitGroups(_ bytes: [UInt8]) -> [UInt8] {
    var groups: [UInt8] = []
    groups.reserveCapacity((bytes.count * 8 + 4) / 5 + checksumLength)
    var buffer: UInt32 = 0
    var bits: UInt32 = 0
    for byte in bytes {
      buffer = (buffer << 8 | UInt32(byte)) & 0xfff
      bits += 8
      while bits >= 5 {
        bits -= 5
        groups.append(UInt8(truncatingIfNeeded: buffer >> bits) & 31)
      }
    }
    if bits > 0 { groups.append(UInt8(truncatingIfNeeded: buffer << (5 - bits)) & 31) }
    return groups
  }

  /// Nil when the last group is not needed or its unused bits are not zero.
  private static func eightBitGroups(_ groups: some Collection<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(groups.count * 5 / 8)
    var buffer: UInt32 = 0
    var bits: UInt32 = 0
    for group in groups {
      buffer = (buffer << 5 | UInt32(group)) & 0xfff
      bits += 5
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
      }
    }
    guard bits < 5, buffer & (1 << bits - 1) == 0 else { return nil }
    return bytes
  }
}
