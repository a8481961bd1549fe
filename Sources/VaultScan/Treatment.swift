/// What is done to a picture before the scanner looks at it, from the cheap to the dear.
enum Treatment: Equatable {
  case plain
  case reduced(Int)
  /// The median filter, after reducing by a whole factor.
  case median(Int)
  /// Blur of some pixels taken back, after reducing by a whole factor.
  case restored(Int)
  /// The same at twice the size of what reducing left.
  case doubledRestored(Int)
  /// The local threshold at twice the size of what reducing left.
  case doubledThreshold(Int)
  /// The local threshold after the median filter, after reducing by a whole factor.
  case medianThreshold(Int)

  /// Pixels above which a picture counts as large: it is tried reduced first, and the filters work on the reduced one.
  static let largePixelCount = 4_000_000
  /// Pixels up to which a picture is small enough to take blur back at twice its size, the dearest treatment.
  static let smallPixelCount = 1_000_000
  static let reducedSide = 1600

  static func order(for picture: GrayImage) -> [Treatment] {
    guard picture.pixelCount > largePixelCount else {
      return [
        .plain, .median(1), .restored(1), .doubledThreshold(1), .medianThreshold(1), .medianThreshold(2),
        picture.pixelCount > smallPixelCount ? .restored(2) : .doubledRestored(1),
      ]
    }
    let factor = (picture.longSide + reducedSide - 1) / reducedSide
    let half = max(2, factor / 2)
    return [
      .reduced(factor), .plain, .median(factor), .restored(factor), .medianThreshold(half), .doubledThreshold(factor),
      .restored(half),
    ]
  }

  func apply(to picture: GrayImage) -> GrayImage {
    switch self {
    case .plain: picture
    case .reduced(let factor): picture.reduced(by: factor)
    case .median(let factor): picture.reduced(by: factor).median()
    case .restored(let factor): picture.reduced(by: factor).restored(radius: 3, rounds: 8)
    case .doubledRestored(let factor): picture.reduced(by: factor).doubled().restored(radius: 3, rounds: 4)
    case .doubledThreshold(let factor): picture.reduced(by: factor).doubled().locallyThresholded()
    case .medianThreshold(let factor): picture.reduced(by: factor).median().locallyThresholded()
    }
  }
}
