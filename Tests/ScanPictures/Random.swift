/// A small generator (SplitMix64), so that a picture is the same on every run.
package struct Random {
  package var state: UInt64

  package init(state: UInt64) { self.state = state }

  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }

  /// Nearly normal, spread 1: the sum of the four 16-bit parts of a number, brought to mean 0.
  package mutating func normal() -> Double {
    let bits = next()
    let sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48)
    return (Double(sum) / 65536 - 2) * 1.732
  }
}
