extension GrayImage {
  /// Each pixel replaced by the median of the 3 x 3 around it: takes out the specks of a noisy sensor and keeps edges.
  /// The outermost pixels stay as they are.
  func median() -> GrayImage {
    guard width >= 3, height >= 3 else { return self }
    var result = pixels
    // Of each column of three, sorted: the median of nine is the median of the largest low one, the median middle one
    // and the smallest high one.
    var low = [UInt8](repeating: 0, count: width)
    var middle = low
    var high = low
    for y in 1..<(height - 1) {
      let row = y * width
      for x in 0..<width {
        var a = pixels[row - width + x]
        var b = pixels[row + x]
        var c = pixels[row + width + x]
        if a > b { (a, b) = (b, a) }
        if b > c { (b, c) = (c, b) }
        if a > b { (a, b) = (b, a) }
        low[x] = a
        middle[x] = b
        high[x] = c
      }
      for x in 1..<(width - 1) {
        let floor = Self.larger(Self.larger(low[x - 1], low[x]), low[x + 1])
        let centre = Self.median(middle[x - 1], middle[x], middle[x + 1])
        let ceiling = Self.smaller(Self.smaller(high[x - 1], high[x]), high[x + 1])
        result[row + x] = Self.median(floor, centre, ceiling)
      }
    }
    return GrayImage(width: width, height: height, pixels: result)
  }

  // Not the generic functions of the library: those cost ten times as much in an unoptimised build.
  private static func larger(_ a: UInt8, _ b: UInt8) -> UInt8 { a > b ? a : b }
  private static func smaller(_ a: UInt8, _ b: UInt8) -> UInt8 { a < b ? a : b }
  private static func median(_ a: UInt8, _ b: UInt8, _ c: UInt8) -> UInt8 {
    a > b ? larger(b, smaller(a, c)) : larger(a, smaller(b, c))
  }
}
