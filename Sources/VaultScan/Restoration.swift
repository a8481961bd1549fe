extension GrayImage {
  /// Takes a blur back, of which `radius` is the guess: adds what the blur would take from the result so far, again and
  /// again (Van Cittert's way). What comes back first is the contrast between single modules; noise grows too.
  func restored(radius: Int, rounds: Int) -> GrayImage {
    guard shortSide > 2 * radius + 1 else { return self }
    var result = pixels.map { Float($0) }
    let seen = result
    for _ in 0..<rounds {
      let blurred = Self.blurred(result, width, height, radius)
      for position in result.indices {
        result[position] = Self.clamped(result[position] + seen[position] - blurred[position])
      }
    }
    return GrayImage(width: width, height: height, pixels: result.map { UInt8($0) })
  }

  private static func clamped(_ value: Float) -> Float { value < 0 ? 0 : value > 255 ? 255 : value }

  /// The mean of a square around each pixel, twice, which comes near a normal blur. The edge goes on beyond the edge.
  private static func blurred(_ values: [Float], _ width: Int, _ height: Int, _ radius: Int) -> [Float] {
    var result = values
    for _ in 0..<2 {
      averageRows(&result, width, height, radius)
      averageColumns(&result, width, height, radius)
    }
    return result
  }

  private static func averageRows(_ values: inout [Float], _ width: Int, _ height: Int, _ radius: Int) {
    let share = 1 / Float(2 * radius + 1)
    var line = [Float](repeating: 0, count: width + 2 * radius + 1)
    for start in stride(from: 0, to: width * height, by: width) {
      for place in line.indices { line[place] = values[start + min(max(place - radius, 0), width - 1)] }
      var sum: Float = 0
      for place in 0..<(2 * radius) { sum += line[place] }
      for x in 0..<width {
        sum += line[x + 2 * radius]
        values[start + x] = sum * share
        sum -= line[x]
      }
    }
  }

  private static func averageColumns(_ values: inout [Float], _ width: Int, _ height: Int, _ radius: Int) {
    let share = 1 / Float(2 * radius + 1)
    let source = values
    var sums = [Float](repeating: 0, count: width)
    for row in -radius..<radius {
      let start = max(row, 0) * width
      for x in 0..<width { sums[x] += source[start + x] }
    }
    for y in 0..<height {
      let entering = min(y + radius, height - 1) * width
      let leaving = max(y - radius, 0) * width
      let here = y * width
      for x in 0..<width {
        sums[x] += source[entering + x]
        values[here + x] = sums[x] * share
        sums[x] -= source[leaving + x]
      }
    }
  }
}
