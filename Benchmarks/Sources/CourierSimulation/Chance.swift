/// SplitMix64 (Steele, Lea and Flood, 2014): a small generator whose numbers a seed fixes on every machine.
struct Chance: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64, _ purpose: UInt64 = 0) {
    state = seed &* 0x9e37_79b9_7f4a_7c15 &+ purpose &* 0xd1b5_4a32_d192_ed03
  }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
    return mixed ^ mixed >> 31
  }

  /// At least 0 and less than 1.
  mutating func unit() -> Double { Double(next() >> 11) / Double(UInt64(1) << 53) }
  mutating func between(_ low: Double, _ high: Double) -> Double { low + (high - low) * unit() }
  mutating func below(_ count: Int) -> Int { Int(next() % UInt64(max(count, 1))) }
  /// About normal: the sum of four, so that nobody leaves home at an absurd time.
  mutating func around(_ mean: Double, _ deviation: Double) -> Double {
    mean + deviation * ((unit() + unit() + unit() + unit()) - 2) * 1.732
  }
}
