@testable import VaultScan

/// Pictures, and the scanner that looks at them.
enum PictureTargets {
  static let all = [
    FuzzTarget("picture", upTo: 20_000, allocating: 160, holding: 1200) { bytes in
      let picture = try GrayImage(file: bytes)
      require(picture.pixels.count == picture.width * picture.height, "a picture has its pixels")
      require(
        picture.pixelCount <= GrayImage.pixelLimit && picture.longSide <= GrayImage.sideLimit,
        "a picture keeps to limits")
      return true
    },
    FuzzTarget("picture-stripped", upTo: 20_000) { bytes in
      let plan = try StrippingPlan(file: bytes)
      require(plan.pieces.count <= StrippingPlan.pieceLimit, "a plan keeps to its limit")
      let left = plan.apply(to: bytes)
      require((try? StrippingPlan(file: left))?.apply(to: left) == left, "what is stripped is stripped")
      return true
    },
    // A camera's driver says what it likes about its frames.
    FuzzTarget("camera-frame", upTo: 20_000, allocating: 160, holding: 1200) { bytes in
      var tape = Tape(bytes)
      let format = PixelFormat.allCases[tape.number(below: PixelFormat.allCases.count)]
      let isLikely = tape.flag()
      let width = isLikely ? tape.number(below: 200) : Int(truncatingIfNeeded: tape.anyNumber())
      let height = isLikely ? tape.number(below: 200) : Int(truncatingIfNeeded: tape.anyNumber())
      let bytesPerLine =
        tape.flag() ? 0 : isLikely ? tape.number(below: 900) : Int(truncatingIfNeeded: tape.anyNumber())
      let picture = try tape.remainder().withUnsafeBytes { (frame) throws(ScanError) in
        try format.picture(frame, width: width, height: height, bytesPerLine: bytesPerLine)
      }
      require(picture.pixels.count == picture.width * picture.height, "a frame has its pixels")
      return true
    },
    FuzzTarget("picture-scanned", upTo: 20_000, allocating: 64, judges: false) { bytes in
      var tape = Tape(bytes)
      let width = 1 + tape.number(below: 300)
      let factor = 1 + tape.number(below: 40)
      let pixels = tape.remainder()
      let height = min(300, pixels.count / width)
      guard height > 0 else { return false }
      let picture = GrayImage(width: width, height: height, pixels: Array(pixels.prefix(width * height)))
      let treatments: [Treatment] = [
        .plain, .reduced(factor), .median(factor), .doubledThreshold(factor), .medianThreshold(factor),
      ]
      let reader = try SymbolReader()
      for treatment in treatments {
        let treated = treatment.apply(to: picture)
        require(treated.pixels.count == treated.pixelCount && treated.pixelCount > 0, "a treatment gives a picture")
        _ = try reader.read(treated)
      }
      return true
    },
  ]
}
