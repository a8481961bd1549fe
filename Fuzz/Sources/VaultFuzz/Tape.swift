/// Reads an input as a list of choices. It never ends: behind the last byte come zeros.
struct Tape {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  /// Whether there are bytes left.
  var hasMore: Bool { !rest.isEmpty }

  mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  mutating func flag() -> Bool { byte() & 1 == 1 }

  mutating func u16() -> UInt16 { UInt16(byte()) << 8 | UInt16(byte()) }

  mutating func u64() -> UInt64 { (0..<8).reduce(0) { number, _ in number << 8 | UInt64(byte()) } }

  /// A number below `limit`, which is positive.
  mutating func number(below limit: Int) -> Int { Int(u16()) % limit }

  /// A number whose first byte says how large it may be, so that short inputs reach all magnitudes.
  mutating func anyNumber() -> UInt64 {
    let bits = UInt64(byte() % 65)
    let number = u64()
    return bits == 64 ? number : number & ((1 << bits) - 1)
  }

  /// At most `limit` bytes behind a length of 16 bits; fewer where the input ends.
  mutating func bytes(upTo limit: Int = .max) -> [UInt8] {
    let count = min(Int(u16()), limit, rest.count)
    return taking(count)
  }

  /// Exactly `count` bytes, filled up with zeros.
  mutating func bytes(exactly count: Int) -> [UInt8] {
    let taken = taking(min(count, rest.count))
    return taken + [UInt8](repeating: 0, count: count - taken.count)
  }

  /// Everything that is left.
  mutating func remainder() -> [UInt8] { taking(rest.count) }

  mutating func text(upTo limit: Int = .max) -> String { String(decoding: bytes(upTo: limit), as: UTF8.self) }

  private mutating func taking(_ count: Int) -> [UInt8] {
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }
}
