import Sodium

/// Arithmetic on secret polynomials: values at an index, and the value at zero from values at t indices.
enum Polynomial {
  /// Horner steps that fit in 512 bits. After k steps the accumulator is below ℓ·(255^(k+1) − 1)/254 < 2^(253 + 8k).
  private static let stepsPerReduction = 32

  /// Writes Σ c_j·x^j mod ℓ to `output`, for `count` scalars c_0, c_1, … of 32 bytes each at `coefficients`.
  ///
  /// The index is public, the coefficients are secret. A multiplication by a one-byte index costs eight words, and a
  /// reduction is due only every 32 steps, which makes this twenty times faster than general scalar multiplication.
  /// The time depends on `count` alone; the accumulator is wiped.
  static func evaluate(
    _ coefficients: UnsafePointer<UInt8>, count: Int, at index: UInt8, into output: UnsafeMutablePointer<UInt8>
  ) {
    let factor = UInt128(index)
    let source = UnsafeRawPointer(coefficients)
    RistrettoScalar.withWipedWords(8) { words in
      let wide = UnsafeMutableRawBufferPointer(words).octets
      var steps = 0
      for position in stride(from: count - 1, through: 0, by: -1) {
        if steps == stepsPerReduction {
          RistrettoScalar.reduce(wide, into: wide)
          for word in 4..<8 { words[word] = 0 }
          steps = 0
        }
        steps += 1
        var carry: UInt128 = 0
        for word in 0..<8 {
          let offset = position * RistrettoScalar.byteCount + word * 8
          let addend =
            word < 4 ? UInt64(littleEndian: source.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) : 0
          carry = carry &+ UInt128(UInt64(littleEndian: words[word])) &* factor &+ UInt128(addend)
          words[word] = UInt64(truncatingIfNeeded: carry).littleEndian
          carry = carry >> 64
        }
      }
      RistrettoScalar.reduce(wide, into: output)
    }
  }

  /// Lagrange's coefficients λ_i = Π_{j≠i} x_j / (x_j − x_i) for the value at zero, for distinct non-zero indices.
  ///
  /// Indices are public, so this takes its time from them. Factors are below 256 and are gathered seven at a time
  /// before a scalar multiplication; one inversion serves all (Montgomery's trick).
  static func lagrangeAtZero(_ indices: [UInt8]) throws(SodiumError) -> [PublicScalar] {
    let numerator = product(of: indices.map { UInt64($0) })
    var prefixes: [PublicScalar] = []
    var denominators: [PublicScalar] = []
    var running = PublicScalar(1)
    for own in indices {
      var factors = [UInt64(own)]
      var isNegative = false
      for other in indices where other != own {
        factors.append(UInt64(max(own, other) - min(own, other)))
        if other < own { isNegative.toggle() }
      }
      var denominator = product(of: factors)
      if isNegative { denominator.negate() }
      prefixes.append(running)
      denominators.append(denominator)
      running.multiply(by: denominator)
    }
    var inverse = try running.inverse()
    var coefficients: [PublicScalar] = []
    for position in indices.indices.reversed() {
      coefficients.append(inverse.multiplied(by: prefixes[position]).multiplied(by: numerator))
      inverse.multiply(by: denominators[position])
    }
    return coefficients.reversed()
  }

  private static func product(of factors: [UInt64]) -> PublicScalar {
    var result = PublicScalar(1)
    var gathered: UInt64 = 1
    for (position, factor) in factors.enumerated() {
      // Seven factors below 256 stay below 2^56.
      gathered = gathered &* factor
      if position % 7 == 6 {
        result.multiply(by: PublicScalar(gathered))
        gathered = 1
      }
    }
    result.multiply(by: PublicScalar(gathered))
    return result
  }
}
