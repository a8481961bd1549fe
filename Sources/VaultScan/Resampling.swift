extension GrayImage {
  /// The picture at 1/`factor` of its size, each pixel the mean of a square: also takes noise out. What is left over at
  /// the right and lower edge is dropped.
  func reduced(by factor: Int) -> GrayImage {
    guard factor > 1, width >= factor, height >= factor else { return self }
    let (newWidth, newHeight) = (width / factor, height / factor)
    let area = factor * factor
    var result: [UInt8] = []
    result.reserveCapacity(newWidth * newHeight)
    var sums = [Int](repeating: 0, count: newWidth)
    for newY in 0..<newHeight {
      for x in 0..<newWidth { sums[x] = area / 2 }
      for y in (newY * factor)..<(newY * factor + factor) {
        var position = y * width
        for x in 0..<newWidth {
          var sum = 0
          for _ in 0..<factor {
            sum += Int(pixels[position])
            position += 1
          }
          sums[x] += sum
        }
      }
      for x in 0..<newWidth { result.append(UInt8(sums[x] / area)) }
    }
    return GrayImage(width: newWidth, height: newHeight, pixels: result)
  }

  /// The picture at twice its size, interpolated: gives the scanner more lines through modules of two or three pixels.
  func doubled() -> GrayImage {
    let newWidth = width * 2
    var result = [UInt8](repeating: 0, count: newWidth * height * 2)
    for y in 0..<height {
      let row = y * width
      // A new pixel lies a quarter of a pixel from the old one's centre: 3 parts of it and 1 of the neighbour's, each
      // way.
      for half in 0..<2 {
        let neighbour = half == 0 ? max(y - 1, 0) : min(y + 1, height - 1)
        var position = (2 * y + half) * newWidth
        var left = 3 * Int(pixels[row]) + Int(pixels[neighbour * width])
        var here = left
        for x in 0..<width {
          let next = x + 1 < width ? x + 1 : x
          let right = 3 * Int(pixels[row + next]) + Int(pixels[neighbour * width + next])
          result[position] = UInt8((3 * here + left + 8) / 16)
          result[position + 1] = UInt8((3 * here + right + 8) / 16)
          position += 2
          left = here
          here = right
        }
      }
    }
    return GrayImage(width: newWidth, height: height * 2, pixels: result)
  }
}
