/// Base64 (RFC 4648, section 4) of the scan helper's answers; strict, padding and all.
enum Base64 {
  /// The bytes, or nil if the text is no canonical base64.
  static func decode(_ text: Substring.UTF8View) -> [UInt8]? {
    let digits = Array(text)
    guard digits.count % 4 == 0 else { return nil }
    let padding = digits.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    guard padding <= 2 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 4 * 3)
    var collected: UInt32 = 0
    var bits = 0
    for digit in digits.dropLast(padding) {
      guard let value = value(of: digit) else { return nil }
      collected = (collected << 6 | UInt32(value)) & 0xFFFF
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: collected >> UInt32(bits)))
      }
    }
    // What is left over must be zero, or two texts would mean the same.
    guard collected & ((1 << UInt32(bits)) - 1) == 0, bits == padding * 2 else { return nil }
    return bytes
  }

  private static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
