import Glibc

/// Gray levels before they are rounded.
struct Plane {
  let width: Int
  let height: Int
  var values: [Double]

  init(width: Int, height: Int) {
    self.width = width
    self.height = height
    values = [Double](repeating: 0, count: width * height)
  }

  /// A normal blur with this spread in pixels.
  mutating func blur(_ spread: Double) {
    guard spread > 0 else { return }
    let radius = Int((3 * spread).rounded(.up))
    let weights = (-radius...radius).map { exp(-Double($0 * $0) / (2 * spread * spread)) }
    let steps = (-radius...radius).map { ($0, 0) }
    average(steps, weights)
    average(steps.map { ($0.1, $0.0) }, weights)
  }

  /// A straight movement of so many pixels, twice as far to the right as down.
  mutating func smear(_ length: Double) {
    guard length > 0 else { return }
    let count = max(1, Int(length.rounded(.up)))
    let steps = (0...count).map { step -> (Int, Int) in
      let along = length * (Double(step) / Double(count) - 0.5)
      return (Int((along * 0.894).rounded()), Int((along * 0.447).rounded()))
    }
    average(steps, [Double](repeating: 1, count: steps.count))
  }

  /// Each value replaced by the weighted mean of those at some steps from it; beyond the edge the edge goes on.
  private mutating func average(_ steps: [(Int, Int)], _ weights: [Double]) {
    let total = weights.reduce(0, +)
    let source = values
    for y in 0..<height {
      for x in 0..<width {
        var sum = 0.0
        for index in steps.indices {
          let column = min(max(x + steps[index].0, 0), width - 1)
          let row = min(max(y + steps[index].1, 0), height - 1)
          sum += weights[index] * source[row * width + column]
        }
        values[y * width + x] = sum / total
      }
    }
  }
}
