/// What is done to a picture before the scanner looks at it, from the cheap to the dear.
enum Treatment: Equatable {
  /// Nothing.
  case plain
  /// Reduced by a whole factor.
  case reduced(Int)
  /// The median filter, after reducing by a whole factor.
  case median(Int)
  /// The local threshold at twice the size of what reducing left.
  case doubledThreshold(Int)
  /// The local threshold after the median filter, after reducing by a whole factor.
  case medianThreshold(Int)

  /// Pixels above which a picture counts as large: it is tried reduced first, and the filters work on the reduced one.
  static let largePixelCount = 4_000_000
  /// Long side that large pictures are reduced to.
  static let reducedSide = 1600

  /// The order to try on `picture`.
  static func order(for picture: GrayImage) -> [Treatment] {
    guard picture.pixelCount > largePixelCount else {
      return [.plain, .median(1), .doubledThreshold(1), .medianThreshold(1), .medianThreshold(2)]
    }
    let factor = (picture.longSide + reducedSide - 1) / reducedSide
    let half = max(2, factor / 2)
    return [.reduced(factor), .plain, .median(factor), .medianThreshold(half), .doubledThreshold(factor)]
  }

  func apply(to picture: GrayImage) -> GrayImage {
    switch self {
    case .plain: picture
    case .reduced(let factor): picture.reduced(by: factor)
    case .median(let factor): picture.reduced(by: factor).median()
    case .doubledThreshold(let factor): picture.reduced(by: factor).doubled().locallyThresholded()
    case .medianThreshold(let factor): picture.reduced(by: factor).median().locallyThresholded()
    }
  }
}
