/// Milliseconds from one time to a later one; none, if the clock was set back.
func elapsed(from earlier: Int64, to later: Int64) -> Int64 {
  guard later > earlier else { return 0 }
  let (difference, overflow) = later.subtractingReportingOverflow(earlier)
  return overflow ? .max : difference
}

/// `base` to the power of `exponent`, for a base from 0 to 1 and an exponent of at least 0, without the C library: the
/// whole part by squaring, and the rest of the exponent on a straight line.
func power(_ base: Double, _ exponent: Double) -> Double {
  guard exponent < 1e6 else { return 0 }
  var whole = Int(exponent)
  var result = 1 - (1 - base) * (exponent - Double(whole))
  var square = base
  while whole > 0 {
    if whole & 1 == 1 { result *= square }
    square *= square
    whole >>= 1
  }
  return result
}

/// A number that looks like chance and is always the same for `value`: the last step of SplitMix64.
func mixed(_ value: UInt64) -> UInt64 {
  var mixed = value
  mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
  mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
  return mixed ^ mixed >> 31
}

extension Int {
  mutating func addSaturating(_ other: Int) {
    let (sum, overflow) = addingReportingOverflow(other)
    self = overflow ? .max : sum
  }
}
