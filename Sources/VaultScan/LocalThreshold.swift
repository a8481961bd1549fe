extension GrayImage {
  /// Black where a pixel is at least a sixteenth darker than the mean of the square around it, white elsewhere: takes
  /// shadows and uneven light out. The square has a sixth of the short side, enough to hold a finder pattern of a
  /// symbol that fills the picture; at the edges only its part inside counts.
  func locallyThresholded() -> GrayImage {
    let radius = max(8, shortSide / 12)
    var result = [UInt8](repeating: 255, count: pixelCount)
    var columns = [Int](repeating: 0, count: width)  // Sum of each column over the rows of the square.
    var rows = 0
    for y in -radius..<height {
      if y + radius < height {
        let entering = (y + radius) * width
        for x in 0..<width { columns[x] += Int(pixels[entering + x]) }
        rows += 1
      }
      if y - radius > 0 {
        let leaving = (y - radius - 1) * width
        for x in 0..<width { columns[x] -= Int(pixels[leaving + x]) }
        rows -= 1
      }
      guard y >= 0 else { continue }

      var sum = 0
      var count = 0
      for x in -radius..<width {
        if x + radius < width {
          sum += columns[x + radius]
          count += rows
        }
        if x - radius > 0 {
          sum -= columns[x - radius - 1]
          count -= rows
        }
        guard x >= 0 else { continue }
        let position = y * width + x
        if Int(pixels[position]) * count * 16 <= sum * 15 { result[position] = 0 }
      }
    }
    return GrayImage(width: width, height: height, pixels: result)
  }
}
