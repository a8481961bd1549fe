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
